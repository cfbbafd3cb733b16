// Cuts what is to be proved into units, of which each has one version and at most 20,000 occurrences.
import type { CompiledSchedule } from '../schedule/compile.js';
import type { LedgerSpan } from './match.js';
import type { EvaluatedColumns, Segment, Timeline } from './versions.js';

/** Instants in epoch seconds. */
export interface Unit extends LedgerSpan {
  /** Null: before the first version that is kept. */
  readonly segment: Segment | null;
  readonly schedule: CompiledSchedule | null;
  /** Its occurrences, ascending. */
  readonly expected: readonly number[];
}

const MAX_EXPECTED = 20_000;

/** The first whole second after an instant in epoch milliseconds. */
export const secondAfter = (ms: number): number => Math.floor(ms / 1000) + 1;

/** The units of a definition, ascending, without gaps. */
export function* unitsOf(
  { segments }: Timeline,
  evaluate: (version: EvaluatedColumns) => CompiledSchedule | null,
  { low, high }: LedgerSpan,
): Generator<Unit> {
  const [first] = segments;
  const begins = first ? secondAfter(first.from) : high;
  if (low < begins) yield { segment: null, schedule: null, low, high: Math.min(begins, high), expected: [] };
  for (const segment of segments) {
    const from = Math.max(low, secondAfter(segment.from));
    const to = Math.min(high, secondAfter(segment.to));
    if (from < to) yield* cut(segment, evaluate(segment.version), { low: from, high: to });
  }
}

function* cut(
  segment: Segment,
  schedule: CompiledSchedule | null,
  { low, high }: LedgerSpan,
): Generator<Unit> {
  // One that has vanished has no occurrences: only what was due before, and had not been made.
  const { stop, written_ms: written } = segment.version;
  const end = stop === 'vanished' ? Math.min(high, secondAfter(written)) : high;
  let from = low;
  let expected: number[] = [];
  for (
    let at = schedule?.next(low * 1000 - 1) ?? null;
    at !== null && at < end * 1000;
    at = schedule?.next(at) ?? null
  ) {
    const second = at / 1000;
    if (expected.length === MAX_EXPECTED) {
      yield { segment, schedule, low: from, high: second, expected };
      from = second;
      expected = [];
    }
    expected.push(second);
  }
  yield { segment, schedule, low: from, high, expected };
}

/** What is left of a unit from a second on. */
export function restOf(unit: Unit, from: number): Unit {
  const begin = unit.expected.findIndex(at => at >= from);
  return { ...unit, low: from, expected: begin < 0 ? [] : unit.expected.slice(begin) };
}
