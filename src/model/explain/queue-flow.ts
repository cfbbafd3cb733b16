// A queue that is behind: what came and what ended, how long it was, and when it will be empty.
//
// What has come is not on record. But where runs start in the order in which they are due, all that became
// due since the oldest waiting run is waiting still: so the waiting runs themselves say how many came, and
// when.
import { formatSpan } from '../duration.js';
import type { QueueVerdict } from './queue-state.js';

const MINUTE_MS = 60_000;
const HOUR_MS = 3_600_000;
const MAX_SPAN_MS = 6 * HOUR_MS;
/** Rates are of this time; with less than the minimum they say nothing. */
const RECENT_MS = HOUR_MS;
const MIN_SPAN_MS = 5 * MINUTE_MS;
const PARTS = 24;

/** How many, by part of the span: `at` is the beginning of the part, in epoch milliseconds. */
export interface PartCount {
  readonly at: number;
  readonly count: number;
}

export interface FlowSpan {
  readonly from: number;
  readonly to: number;
  readonly partMs: number;
}

/**
 * The time that is looked at: since the oldest waiting run became due, six hours at most; null: too short.
 */
export function flowSpan(oldestAt: Date | null, now: Date): FlowSpan | null {
  if (oldestAt === null) return null;
  const age = now.getTime() - oldestAt.getTime();
  if (age < MIN_SPAN_MS) return null;
  const partMs = Math.ceil(Math.min(age, MAX_SPAN_MS) / PARTS / MINUTE_MS) * MINUTE_MS;
  const to = Math.ceil(now.getTime() / MINUTE_MS) * MINUTE_MS;
  const parts = Math.max(Math.floor(Math.min(age, MAX_SPAN_MS) / partMs), 1);
  return { from: to - parts * partMs, to, partMs };
}

export interface QueueFlow {
  readonly span: FlowSpan;
  /** Of this time, up to now, the rates are. */
  readonly recentMs: number;
  readonly inPerMinute: number;
  readonly outPerMinute: number;
  /** How many waited at the end of each part. */
  readonly depths: readonly number[];
  /** When it will be empty at these rates; null: never. */
  readonly emptyInMs: number | null;
}

/**
 * @param waiting due runs that wait, by when they became due; those from before the span too
 * @param ended runs that ended within the span
 */
export function queueFlow(
  span: FlowSpan,
  waiting: readonly PartCount[],
  ended: readonly PartCount[],
): QueueFlow {
  const { from, to, partMs } = span;
  const recentMs = Math.min(RECENT_MS, to - from);
  const sum = (parts: readonly PartCount[], matches: (at: number) => boolean) =>
    parts.reduce((total, { at, count }) => total + (matches(at) ? count : 0), 0);
  const ends = Array.from(
    { length: Math.round((to - from) / partMs) },
    (_, part) => from + (part + 1) * partMs,
  );
  const depths = ends.map(end => sum(waiting, at => at < end) + sum(ended, at => at >= end));
  const isRecent = (at: number) => at >= to - recentMs;
  const inPerMinute = (sum(waiting, isRecent) / recentMs) * MINUTE_MS;
  const outPerMinute = (sum(ended, isRecent) / recentMs) * MINUTE_MS;
  const shrinks = outPerMinute - inPerMinute;
  const left = depths.at(-1) ?? 0;
  return {
    span,
    recentMs,
    inPerMinute,
    outPerMinute,
    depths,
    emptyInMs: shrinks <= 0 ? null : (left / shrinks) * MINUTE_MS,
  };
}

/** `12 a minute`, `0.4 a minute`, `3 an hour`. */
export function perText(perMinute: number): string {
  if (perMinute === 0) return 'none';
  if (perMinute < 0.1) return `${Math.max(Math.round(perMinute * 60), 1)} an hour`;
  if (perMinute >= 600) return `${Math.round(perMinute / 60)} a second`;
  return `${perMinute < 10 ? Number(perMinute.toFixed(1)) : Math.round(perMinute)} a minute`;
}

/**
 * `in the last 1h, 12 a minute ended and 15 a minute came; it grows by 3 a minute`
 * @param moves whether its runs start now: else the rates say nothing of what is to come
 */
export function flowWords(
  { recentMs, inPerMinute, outPerMinute, emptyInMs }: QueueFlow,
  moves = true,
): string {
  const rates = `in the last ${formatSpan(recentMs)}, ${perText(outPerMinute)} ended and ${perText(inPerMinute)} came`;
  if (!moves) return `${rates}; nothing starts now, so that it does not get shorter`;
  if (emptyInMs !== null) return `${rates}; at these rates it is empty in ${formatSpan(emptyInMs)}`;
  if (outPerMinute === 0) return `${rates}; so it does not get shorter`;
  const grows = inPerMinute - outPerMinute;
  return grows < 0.01
    ? `${rates}; it stays as long as it is`
    : `${rates}; it grows by ${perText(grows)}, and never catches up at these rates`;
}

/** Whether runs of a queue in this state start by themselves. */
export const isMoving = ({ state }: Pick<QueueVerdict, 'state'>): boolean =>
  !['paused', 'shut', 'closed', 'unserved'].includes(state);

export const FLOW_ASSUMPTION =
  'Reckoned as if runs go on to come and to end like this, and start in the order in which they are due.';
