// What an attempt logged, folded beneath it in the story of its run.

import type { AttemptLog, KeptLine } from '../../model/run/log/attempt-log.js';
import type { Phase } from '../../model/run/run-life.js';
import { plainBlock, plainLine } from '../layout/plain-text.js';
import { numberText, spanText } from '../layout/text.js';

/** The newest logs are shown as far as they fit in this many characters. */
const MAX_SHOWN = 200_000;

const lengthOf = ({ lines }: AttemptLog) =>
  lines.reduce((sum, { text, fields }) => sum + text.length + (fields === null ? 0 : 100), 0);

/** Logs by the phases in which they were written; those of none, and how many are too long to show. */
export interface PlacedLogs {
  readonly of: (phase: Phase) => readonly AttemptLog[];
  readonly others: readonly AttemptLog[];
  readonly leftOut: number;
}

export function placeLogs(logs: readonly AttemptLog[], phases: readonly Phase[]): PlacedLogs {
  let room = MAX_SHOWN;
  const shown = logs
    .filter(({ lines }) => lines.length > 0)
    .toReversed()
    .filter(log => (room -= lengthOf(log)) > 0)
    .toReversed();
  const attempts = phases.filter(({ kind }) => kind === 'attempt');
  const placed = new Map<Phase, AttemptLog[]>();
  const others: AttemptLog[] = [];
  for (const log of shown) {
    const own = attempts.filter(({ attempt }) => attempt === log.attempt);
    const at = log.lines[0]?.at.getTime() ?? 0;
    // A released attempt and the one after it have the same number.
    const phase = own.length < 2 ? own[0] : (own.findLast(({ from }) => from <= at) ?? own[0]);
    if (phase === undefined) others.push(log);
    else placed.set(phase, [...(placed.get(phase) ?? []), log]);
  }
  return {
    of: phase => placed.get(phase) ?? [],
    others,
    leftOut: logs.filter(({ lines }) => lines.length > 0).length - shown.length,
  };
}

export function AttemptLogView({
  log,
  from,
  isOpen = false,
}: {
  readonly log: AttemptLog;
  /** The beginning of the attempt, in epoch milliseconds; null: not known. */
  readonly from: number | null;
  readonly isOpen?: boolean;
}) {
  const { lines, cutLines, cutBytes, cutAfter } = log;
  const begin = from ?? lines[0]?.at.getTime() ?? 0;
  const cut =
    cutBytes === 0 && cutLines === 0 ? null : (
      <li class="log-cut">
        {cutLines === 0 ? '' : `${numberText(cutLines)} ${cutLines === 1 ? 'line' : 'lines'}, `}
        {numberText(cutBytes)} bytes were not kept
      </li>
    );
  return (
    <details class="log" open={isOpen}>
      <summary>
        log, {numberText(lines.length)} {lines.length === 1 ? 'line' : 'lines'}
      </summary>
      <ol>
        {lines.slice(0, cutAfter).map(line => (
          <Line line={line} begin={begin} />
        ))}
        {cut}
        {lines.slice(cutAfter).map(line => (
          <Line line={line} begin={begin} />
        ))}
      </ol>
    </details>
  );
}

function Line({
  line: { at, level, text, fields },
  begin,
}: {
  readonly line: KeptLine;
  readonly begin: number;
}) {
  const ms = at.getTime() - begin;
  return (
    <li class={`log-${level}`}>
      <span class="faint">{ms < 0 ? '' : `+${spanText(ms)}`}</span>
      <span>
        {level === 'info' ? null : <b>{level}</b>} {plainBlock(text)}
        {fields === null ? null : <code>{plainLine(JSON.stringify(fields), 2000)}</code>}
      </span>
    </li>
  );
}
