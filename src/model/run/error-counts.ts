// Errors counted by job and group, and over time.
import { type ErrorGroup, groupOf } from './error-group.js';

/** Equal errors of a job within one part of the span, as they were read. Instants in epoch milliseconds. */
export interface CountedError {
  readonly job: string;
  readonly name: string | null;
  readonly code: string | null;
  readonly message: string | null;
  /** Which part of the span, from 0. */
  readonly part: number;
  readonly count: number;
  readonly firstAt: number;
  readonly lastAt: number;
  readonly lastId: string;
}

/** Errors of a job that are the same but for what differs from run to run. */
export interface ErrorCount {
  readonly job: string;
  readonly group: ErrorGroup;
  readonly count: number;
  readonly firstAt: number;
  readonly lastAt: number;
  /** The run that had it last, and its message. */
  readonly lastId: string;
  readonly sample: string;
  /** How many in each part of the span. */
  readonly parts: readonly number[];
}

/** The most frequent first. @param parts of the span */
export function countErrors(rows: readonly CountedError[], parts: number): ErrorCount[] {
  const counts = new Map<
    string,
    { -readonly [Key in keyof ErrorCount]: ErrorCount[Key] } & { parts: number[] }
  >();
  for (const { job, part, count, firstAt, lastAt, lastId, ...error } of rows) {
    const group = groupOf(error);
    const key = JSON.stringify([job, group.name, group.code, group.message]);
    const sample = error.message ?? '';
    let found = counts.get(key);
    if (found === undefined) {
      found = {
        job,
        group,
        count: 0,
        firstAt,
        lastAt,
        lastId,
        sample,
        parts: Array.from({ length: parts }, () => 0),
      };
      counts.set(key, found);
    }
    found.count += count;
    found.firstAt = Math.min(found.firstAt, firstAt);
    if (lastAt > found.lastAt) Object.assign(found, { lastAt, lastId, sample });
    const place = Math.min(Math.max(part, 0), parts - 1);
    found.parts[place] = (found.parts[place] ?? 0) + count;
  }
  return [...counts.values()].sort((a, b) => b.count - a.count || b.lastAt - a.lastAt);
}
