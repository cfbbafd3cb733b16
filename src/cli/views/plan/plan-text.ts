// A plan in a terminal.
import type { SchedulePlan } from '../../../answers/plan/plan.js';
import { formatSpan } from '../../../model/duration.js';
import type { PlannedChange, PlannedOccurrence } from '../../../model/plan/plan.js';
import type { Shell } from '../../shell.js';
import { cleanLine, paint } from '../../terminal.js';
import { countText } from '../load-chart.js';
import { drawTable } from '../table.js';
import { sayEffects } from './effects.js';
import { drawBusiest, drawHours, localText } from './load-text.js';

const MAX_CHANGES = 30;
const MAX_LEFT_OUT = 5;

export async function sayPlan(shell: Shell, plan: SchedulePlan): Promise<void> {
  const { from, to, timezone, changes, before, after } = plan;
  shell.say(
    `${paint('bold', headText(plan))}, from ${localText(from, timezone)} to ${localText(to, timezone)} (${timezone})`,
  );
  if (changes.length > 0) shell.say(`\n${await drawChanges(changes)}`);
  if (changes.length > MAX_CHANGES)
    shell.say(paint('dim', `and ${changes.length - MAX_CHANGES} more (--json has all)`));
  const earlier =
    before.starts === after.starts && before.definitions === after.definitions
      ? ''
      : ` (${countText(before.starts)} of ${countText(before.definitions)} before)`;
  shell.say(
    `\n${paint('bold', counted(after.starts, 'run'))} of ${counted(after.definitions, 'definition')} would start${earlier}`,
  );
  if (after.starts > 0) {
    shell.say(drawHours(after, timezone, 24));
    shell.say(`\n${await drawBusiest(after, timezone)}\n`);
  }
  sayEffects(shell, after, before);
  sayRemarks(shell, plan);
  if (plan.check !== null) for (const line of checkLines(plan.check)) shell.say(line);
}

/** `7 occurrences appear, 1 vanishes, 14 move`. */
export function headText({ appear, vanish, move, changes }: SchedulePlan): string {
  if (changes.length === 0) return 'no schedule changes';
  const parts = [
    [appear, 'appears', 'appear'],
    [vanish, 'vanishes', 'vanish'],
    [move, 'moves', 'move'],
  ] as const;
  const said = parts.filter(([count]) => count > 0);
  if (said.length === 0) return `${counted(changes.length, 'schedule')} changed, and no occurrence`;
  return said
    .map(([count, one, many], index) => {
      const what = index > 0 ? '' : count === 1 ? ' occurrence' : ' occurrences';
      return `${countText(count)}${what} ${count === 1 ? one : many}`;
    })
    .join(', ');
}

async function drawChanges(changes: readonly PlannedChange[]): Promise<string> {
  const columns = [
    { title: 'definition', flexible: true },
    { title: 'change', flexible: true },
    ...['appear', 'vanish', 'move'].map(title => ({ title, align: 'right' as const })),
    { title: 'first', flexible: true },
  ];
  const rows = changes.slice(0, MAX_CHANGES).map(change => {
    const { definition, appear, vanish, move } = change;
    const count = (value: number) => (value === 0 ? '' : countText(value));
    return [definition, changeText(change), count(appear), count(vanish), count(move), firstText(change)];
  });
  return await drawTable(columns, rows);
}

/** `edited: cron`. */
export function changeText({ change, options, renamedFrom, reason }: PlannedChange): string {
  const parts = [
    renamedFrom === null ? change : `renamed from ${renamedFrom}`,
    ...(options.length > 0
      ? [options.filter(option => option !== 'name' && option !== 'job').join(', ')]
      : []),
  ].filter(part => part !== '');
  return `${parts.join(': ')}${reason === null ? '' : ` (${reason})`}`;
}

/** `+ 2026-03-02 02:00`, `− …`, or `2026-03-02 02:00 → 03:00`: the first of what changes, in its own zone. */
export function firstText({ examples, timezone }: PlannedChange): string {
  const [first] = examples;
  return first === undefined ? '' : occurrenceText(first, timezone);
}

function occurrenceText({ kind, at, to }: PlannedOccurrence, timezone: string): string {
  const time = localText(at, timezone);
  if (kind !== 'move' || to === null) return `${kind === 'appear' ? '+' : '−'} ${time}`;
  const other = localText(to, timezone);
  const isSameDay = other.slice(0, 10) === time.slice(0, 10);
  return `${time} → ${isSameDay ? other.slice(11) : other}`;
}

function sayRemarks(shell: Shell, { leftOut, workers, withoutDurations, after }: SchedulePlan): void {
  const remarks = [
    workers === null
      ? 'no worker is alive: as many runs execute at once as are due'
      : `the workers that are alive execute ${countText(workers)} at once`,
    ...(withoutDurations > 0 && after.definitions > 0 ? [withoutDurationsText(withoutDurations)] : []),
    ...leftOut
      .slice(0, MAX_LEFT_OUT)
      .map(({ name, reason }) => `left out: ${cleanLine(name)} (${cleanLine(reason)})`),
    ...(leftOut.length > MAX_LEFT_OUT ? [`and ${leftOut.length - MAX_LEFT_OUT} more are left out`] : []),
  ];
  for (const remark of remarks) shell.say(paint('dim', remark));
}

/** How good the simulation was in the past days. */
function checkLines({
  from,
  to,
  definitions,
  leftOut,
  predicted,
  real,
}: NonNullable<SchedulePlan['check']>): string[] {
  const span = `from ${localText(from, 'UTC')} to ${localText(to, 'UTC')} (UTC)`;
  const others = othersText(leftOut);
  const row = (what: string, one: string, other: string) =>
    `  ${what.padEnd(28)}  ${one.padStart(10)}  ${other.padStart(10)}`;
  return [
    `\n${paint('bold', 'predicted and real')}, ${span}, of ${counted(definitions, 'definition')}${others}`,
    ...(definitions === 0
      ? []
      : [
          row('', 'predicted', 'real'),
          row('runs that started', countText(predicted.starts), countText(real.starts)),
          row('late, by 10s or more', countText(predicted.late.runs), countText(real.late.runs)),
          row('p95 wait of the late ones', lateText(predicted.late), lateText(real.late)),
          row('skipped for overlap', countText(predicted.overlapSkips), countText(real.overlapSkips)),
        ]),
  ];
}

export const withoutDurationsText = (count: number): string =>
  `of ${counted(count, 'definition')} no run ended in the last 4 weeks: ${count === 1 ? 'its' : 'their'} runs take no time here`;

/** What a check could not compare. */
export const othersText = (leftOut: number): string =>
  leftOut === 0 ? '' : `; ${countText(leftOut)} changed since, or had no runs before`;

export const lateText = ({ runs, p95Ms }: { readonly runs: number; readonly p95Ms: number }): string =>
  runs === 0 ? '' : formatSpan(p95Ms);

export const counted = (count: number, what: string): string =>
  `${countText(count)} ${count === 1 ? what : `${what}s`}`;
