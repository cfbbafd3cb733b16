// A job over two weeks: how much ended and how, how long it took, and whether it is slower than it was.
import type { FinishedStatus } from '../run/states.js';
import { percentile } from './buckets.js';

/** Runs of a job that ended in a part of the time with one state. */
export interface JobPart {
  /** Epoch milliseconds: the beginning of the part. */
  readonly at: number;
  readonly status: FinishedStatus;
  readonly count: number;
  /** By bucket; null: none was measured. */
  readonly durations: readonly number[] | null;
  readonly waits: readonly number[] | null;
}

/** What a job's runs did in a week. Times in milliseconds, from buckets; null where there was none. */
export interface JobWeek extends Readonly<Record<FinishedStatus, number>> {
  /** Runs whose time was measured. */
  readonly measured: number;
  readonly p50Ms: number | null;
  readonly p95Ms: number | null;
  /** Of the wait before the last attempt. */
  readonly waitP95Ms: number | null;
  /** Dead ones among those that succeeded or are dead, from 0 to 1; null: there is none of either. */
  readonly deadShare: number | null;
  /** Runs that ended in each part, skipped ones aside. */
  readonly ended: readonly number[];
}

/** The parts of [from, to), which is divided into `parts` of the same length. */
export function weekOf(
  rows: readonly JobPart[],
  { from, to, parts }: { readonly from: number; readonly to: number; readonly parts: number },
): JobWeek {
  const counts = { succeeded: 0, dead: 0, cancelled: 0, skipped: 0 };
  const ended = Array.from({ length: parts }, () => 0);
  const durations: number[] = [];
  const waits: number[] = [];
  for (const { at, status, count, ...row } of rows) {
    if (at < from || at >= to) continue;
    counts[status] += count;
    if (status !== 'skipped') {
      const part = Math.floor(((at - from) / (to - from)) * parts);
      ended[part] = (ended[part] ?? 0) + count;
    }
    addTo(durations, row.durations);
    addTo(waits, row.waits);
  }
  const decided = counts.succeeded + counts.dead;
  return {
    ...counts,
    measured: durations.reduce((sum, each) => sum + each, 0),
    p50Ms: msAt(durations, 0.5),
    p95Ms: msAt(durations, 0.95),
    waitP95Ms: msAt(waits, 0.95),
    deadShare: decided === 0 ? null : counts.dead / decided,
    ended,
  };
}

function addTo(sums: number[], counts: readonly number[] | null): void {
  for (const [index, count] of (counts ?? []).entries()) sums[index] = (sums[index] ?? 0) + count;
}

function msAt(counts: readonly number[], share: number): number | null {
  const seconds = percentile(counts, share);
  return seconds === null ? null : seconds * 1000;
}

/** So many runs must have been measured in both weeks. */
const ENOUGH = 20;
/** Buckets are coarse: less than this may be none. */
const MUCH = 1.5;
const WORTH_MS = 50;

/** Which percentile is much higher than in the week before, and how many times; null: none. */
export function slowerThan(
  now: JobWeek,
  before: JobWeek,
): { readonly name: 'p50' | 'p95'; readonly times: number } | null {
  if (now.measured < ENOUGH || before.measured < ENOUGH) return null;
  for (const name of ['p50', 'p95'] as const) {
    const [at, was] = [now[`${name}Ms`], before[`${name}Ms`]];
    if (at === null || was === null || was === 0 || at - was < WORTH_MS) continue;
    if (at / was >= MUCH) return { name, times: at / was };
  }
  return null;
}
