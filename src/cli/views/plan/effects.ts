// What a simulation says of runs that are skipped, or start late.
import { formatSpan } from '../../../model/duration.js';
import type { PlannedLoad } from '../../../model/plan/plan.js';
import type { LateRuns } from '../../../model/plan/tally.js';
import type { Shell } from '../../shell.js';
import { cleanLine, paint } from '../../terminal.js';
import { countText } from '../load-chart.js';

type Effects = Pick<PlannedLoad, 'skips' | 'late' | 'lateFor' | 'unstarted'> &
  Partial<Pick<PlannedLoad, 'overlaps'>>;

/** Nothing where there is nothing to say. @param before what it was; undefined: that is not known */
export function sayEffects(shell: Shell, effects: Effects, before?: Effects): void {
  for (const line of effectLines(effects, before)) shell.say(line);
}

function effectLines(
  { skips, late, lateFor, unstarted, overlaps = [] }: Effects,
  before?: Effects,
): string[] {
  const was = (count: number, now: number) =>
    before === undefined || count === now ? '' : ` (${countText(count)} before)`;
  const lines: string[] = [];
  const add = (count: number, earlier: number | undefined, words: string) => {
    if (count > 0 || (earlier ?? 0) > 0) lines.push(`  ${countText(count).padStart(7)}  ${words}`);
  };
  const most = overlaps.map(({ definition, skips: each }) => `${cleanLine(definition)} ${countText(each)}`);
  add(
    skips.overlap,
    before?.skips.overlap,
    `skipped: an earlier run is live${was(before?.skips.overlap ?? 0, skips.overlap)}${most.length > 0 ? `: ${most.join(', ')}` : ''}`,
  );
  add(
    skips.deadline,
    before?.skips.deadline,
    `skipped: not started by the start deadline${was(before?.skips.deadline ?? 0, skips.deadline)}`,
  );
  add(
    skips.chain,
    before?.skips.chain,
    `skipped: what it runs after did not end as it asks${was(before?.skips.chain ?? 0, skips.chain)}`,
  );
  add(
    late.runs,
    before?.late.runs,
    `start late, by 10s or more: p95 ${formatSpan(late.p95Ms)}, at most ${formatSpan(late.maxMs)}${was(before?.late.runs ?? 0, late.runs)}`,
  );
  for (const each of lateFor)
    lines.push(
      paint(
        'dim',
        `           ${countText(each.runs)} for ${causeText(each)}, p95 ${formatSpan(each.p95Ms)}`,
      ),
    );
  add(unstarted, before?.unstarted, `due, and have not started in the end`);
  return lines;
}

/** `a slot of queue mail`. */
export function causeText({ cause }: Pick<LateRuns, 'cause'>): string {
  if (cause === 'turn') return 'the run before, of the same definition';
  if (cause === 'workers') return 'a free worker';
  const [kind = '', ...name] = cause.split(':');
  return `${kind === 'job' ? 'a slot of job' : 'queue'} ${cleanLine(name.join(':'))}`;
}
