// Merges what a schedule expects with what the tables hold.
import { type ConsideredDefinition, fateWithoutRow, type Stop, stopOf } from '../explain/without-row.js';
import type { Exception } from '../planning/exceptions.js';
import type { Occurrence, OccurrenceState } from './occurrence.js';

/** A run of an occurrence, or a skipped row. Instants in epoch milliseconds. */
export interface OccurrenceRow {
  /** Null for one of many that were read as a group. */
  readonly id: string | null;
  readonly at: number;
  readonly state: OccurrenceState;
  readonly reason: string | null;
  /** A skipped row that stands for all occurrences from here to `at`; null: for its own only. */
  readonly spanFrom: number | null;
  readonly standsFor: number;
  readonly attempts: number;
  readonly startedAt: number | null;
  readonly finishedAt: number | null;
}

export interface MergeInput {
  readonly definition: ConsideredDefinition;
  /** The schedule's occurrences in the span, ascending. */
  readonly expected: readonly number[];
  /** The rows in the span, and those after it whose spans may reach into it; in any order. */
  readonly rows: readonly OccurrenceRow[];
  /** Occurrences whose key is kept, among those without a row. */
  readonly keys?: ReadonlySet<number>;
  /** Those of the definition that matter here, past ones too. */
  readonly exceptions?: readonly Exception[];
  /** Bounds: [from, to). Rows outside them give no occurrence of their own. */
  readonly from: number;
  readonly to: number;
}

/** From this age on, what is due is late: cron's minute, and one more for a slow start. */
const LATE_MS = 120_000;

/** What became of each occurrence in [from, to), ascending; without those before the definition was made. */
export function mergeOccurrences(input: MergeInput): Occurrence[] {
  const { definition, expected, rows, keys, from, to, exceptions = [] } = input;
  const excepted = new Map(exceptions.map(each => [each.at, each]));
  const own = new Map<number, OccurrenceRow>();
  for (const row of rows) {
    const known = own.get(row.at);
    // A backfill may have made a run of an occurrence that was skipped before.
    if (known === undefined || known.state === 'skipped' || row.state !== 'skipped') own.set(row.at, row);
  }
  const spans = rows
    .filter((row): row is OccurrenceRow & { spanFrom: number } => row.spanFrom !== null)
    .sort((a, b) => a.spanFrom - b.spanFrom);
  const found: Occurrence[] = [];
  let open: (OccurrenceRow & { spanFrom: number })[] = [];
  let nextSpan = 0;
  for (const at of expected) {
    for (let span = spans[nextSpan]; span && span.spanFrom <= at; span = spans[++nextSpan]) open.push(span);
    if (open.length > 0) open = open.filter(span => span.at >= at);
    const exception = excepted.get(at);
    // A span passes over what has an exception.
    const row = own.get(at) ?? (exception === undefined ? open[0] : undefined);
    own.delete(at);
    const occurrence = row
      ? ofRow(row, at, true)
      : withoutRow(definition, at, keys?.has(at) === true, exception);
    if (occurrence) found.push(exception === undefined ? occurrence : { ...occurrence, exception });
  }
  const others = [...own.values()].filter(row => row.at >= from && row.at < to);
  if (others.length === 0) return found;
  return [...found, ...others.map(row => ofRow(row, row.at, false))].sort((a, b) => a.at - b.at);
}

/** Of occurrences that were merged without keys, those that no row covers: only of these the keys matter. */
export function uncovered(merged: readonly Occurrence[]): number[] {
  return merged.filter(({ state }) => state === 'lost' || state === 'edited').map(({ at }) => at);
}

function ofRow(row: OccurrenceRow, at: number, isExpected: boolean): Occurrence {
  const { id: runId, state, reason, standsFor, attempts, startedAt, finishedAt } = row;
  return { at, state, reason, runId, isExpected, standsFor, attempts, startedAt, finishedAt };
}

const STOP_WORDS: Readonly<Record<Stop, string>> = {
  broken: 'the schedule is broken',
  vanished: 'the schedule was removed',
  paused: 'the schedule is paused',
  'used-up': 'it has made all the runs it was to make',
};

function withoutRow(
  definition: ConsideredDefinition,
  at: number,
  hasKey: boolean,
  exception: Exception | undefined,
): Occurrence | null {
  const isOpen = exception !== undefined && !hasKey && exception.dueAt > definition.cursor.getTime();
  // What was moved is due at its new time, whatever its own is.
  const dueAt = isOpen ? exception.dueAt : at;
  const fate = fateWithoutRow(definition, dueAt, hasKey);
  const stop = stopOf(definition);
  const bare = { at, runId: null, isExpected: true, standsFor: 1, attempts: 0, startedAt: null };
  const say = (state: OccurrenceState, reason: string | null = null): Occurrence => ({
    ...bare,
    finishedAt: null,
    state,
    reason,
  });
  switch (fate) {
    case 'before-definition':
      return null;
    case 'no-record':
      return say('lost');
    case 'due':
      return say(definition.now.getTime() - dueAt > LATE_MS ? 'late' : 'due');
    case 'upcoming':
      if (!isOpen) return say('upcoming');
      return say(exception.kind === 'skip' ? 'excepted' : 'moved');
    case 'pruned':
    case 'edited':
      return say(fate);
    default:
      return say('held', stop === null ? null : STOP_WORDS[stop]);
  }
}
