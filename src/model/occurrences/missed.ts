// Which spans a backfill of missed occurrences has, and how many it would find in them.
import type { CompiledSchedule } from '../schedule/compile.js';

/** Half-open, in epoch milliseconds. */
export interface Span {
  readonly from: number;
  readonly to: number;
}

const SECOND_MS = 1000;

/**
 * The spans from the first to the last instant, both included, without the excepted ones: what an operator
 * has skipped or moved was not missed.
 * @param excepted ascending; all in epoch milliseconds
 */
export function spansBetween(first: number, last: number, excepted: readonly number[]): readonly Span[] {
  const starts = [first, ...excepted.map(at => at + SECOND_MS)];
  const ends = [...excepted, last + SECOND_MS];
  return starts
    .map((from, index) => ({ from, to: ends[index] ?? last + SECOND_MS }))
    .filter(({ from, to }) => from < to);
}

/** Spans between which the schedule has no occurrence become one. @param spans ascending */
export function joinSpans(schedule: CompiledSchedule, spans: readonly Span[]): readonly Span[] {
  const joined: Span[] = [];
  for (const span of spans) {
    const before = joined.at(-1);
    const next = before === undefined ? null : schedule.next(before.to - 1);
    if (before === undefined || (next !== null && next < span.from)) joined.push(span);
    else joined[joined.length - 1] = { from: before.from, to: Math.max(before.to, span.to) };
  }
  return joined;
}

/** How many occurrences the spans have, counted up to `most`. */
export function countIn(schedule: CompiledSchedule, spans: readonly Span[], most: number): number {
  let count = 0;
  for (const { from, to } of spans)
    for (let at = schedule.next(from - 1); at !== null && at < to && count < most; at = schedule.next(at))
      count++;
  return count;
}
