// Errors counted by job and group, and over time.
import { createNormalizer, type ErrorGroup, groupOf } from './error-group.js';
import { type ErrorParts, messageWithCause } from './root-cause.js';

/** The last error of a run. `at` in epoch milliseconds. */
export interface LastError extends ErrorParts {
  readonly id: string;
  readonly job: string;
  readonly code: string | null;
  /** Of the attempt that failed; null: not on record. */
  readonly deploy: string | null;
  readonly at: number;
}

/** Errors of a job that are the same but for what differs from run to run. */
export interface ErrorCount {
  readonly job: string;
  readonly group: ErrorGroup;
  readonly count: number;
  /** In epoch milliseconds. */
  readonly firstAt: number;
  /** The deploy of the first of them. */
  readonly firstDeploy: string | null;
  readonly lastAt: number;
  /** The run that had it last, and its message with the innermost cause. */
  readonly lastId: string;
  readonly sample: string;
  /** How many in each part of the span. */
  readonly parts: readonly number[];
}

/** In epoch milliseconds; divided into parts of the same length. */
export interface CountedSpan {
  readonly from: number;
  readonly to: number;
  readonly parts: number;
}

/** The most frequent first. */
export function countErrors(errors: readonly LastError[], { from, to, parts }: CountedSpan): ErrorCount[] {
  type Mutable = { -readonly [Key in keyof ErrorCount]: ErrorCount[Key] } & { readonly parts: number[] };
  const counts = new Map<string, Mutable>();
  const normalize = createNormalizer();
  for (const { id, job, at, deploy, ...error } of errors) {
    const group = groupOf(error, normalize);
    const key = JSON.stringify([job, group.name, group.code, group.message]);
    const sample = messageWithCause(error);
    const found = counts.get(key) ?? {
      job,
      group,
      count: 0,
      firstAt: at,
      firstDeploy: deploy,
      lastAt: at,
      lastId: id,
      sample,
      parts: Array.from({ length: parts }, () => 0),
    };
    if (found.count === 0) counts.set(key, found);
    found.count++;
    if (at < found.firstAt) Object.assign(found, { firstAt: at, firstDeploy: deploy });
    if (at > found.lastAt) Object.assign(found, { lastAt: at, lastId: id, sample });
    const part = Math.min(Math.max(Math.floor(((at - from) / (to - from)) * parts), 0), parts - 1);
    found.parts[part] = (found.parts[part] ?? 0) + 1;
  }
  return [...counts.values()].sort((a, b) => b.count - a.count || b.lastAt - a.lastAt);
}
