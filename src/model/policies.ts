// Room: model. What is done with occurrences that have come due: the decision behind materialization.
// In: a definition's policies, its cursor, and now. Out: the runs to make, the skips to record, the new cursor.

import type { CompiledSchedule } from './schedule/compile.js';
import { jitterMs } from './schedule/jitter.js';
import type { SkipReason } from './states.js';

export const OVERLAP_POLICIES = ['skip', 'allow_all'] as const;
export type OverlapPolicy = (typeof OVERLAP_POLICIES)[number];
export const CATCHUP_POLICIES = ['latest', 'all', 'none'] as const;
export type CatchupPolicy = (typeof CATCHUP_POLICIES)[number];

/** An occurrence this young was not missed: cron's minute, and one more for a slow start. */
export const ON_TIME_MS = 120_000;
/** Most runs that one plan makes; what is left comes with the next plan. Bounds memory. */
export const MOST_RUNS_PER_PLAN = 1000;
/** Occurrences are counted no further than this; an outage of more is told as "at least". */
export const MOST_COUNTED = 100_000;

/** What planning needs to know of a definition. Times in epoch milliseconds. */
export interface Planned {
  readonly name: string;
  readonly cursor: number;
  readonly overlap: OverlapPolicy;
  readonly catchup: CatchupPolicy;
  readonly catchupWindowMs: number | null;
  readonly startDeadlineMs: number | null;
  readonly jitterMs: number;
  readonly remaining: number | null;
  /** Whether an earlier run of the definition is still live. */
  readonly hasLiveRun: boolean;
}

export interface PlannedRun {
  readonly scheduledFor: number;
  readonly runAt: number;
  readonly startBy: number | null;
  /** The occurrence before this one; null when there is none. */
  readonly intervalStart: number | null;
  readonly occurrenceCount: number;
}

/** A span of occurrences that give no run, told in one row. */
export interface PlannedSkip {
  readonly first: number;
  readonly last: number;
  readonly occurrenceCount: number;
  readonly reason: SkipReason;
}

export interface Plan {
  readonly runs: readonly PlannedRun[];
  readonly skips: readonly PlannedSkip[];
  /** The last occurrence considered; never before the cursor that came in. */
  readonly cursor: number;
  readonly nextAt: number | null;
  readonly remaining: number | null;
}

/**
 * Decides what becomes of the occurrences in (cursor, now].
 *
 * Computed from the cursor, never from now alone, so that repeating it, or two processes doing it, gives the
 * same runs. Under `latest` the last occurrence gives one run that stands for all of them. Under `all` each
 * gives a run, those older than the window excepted. Under `none` only one that is not late gives a run. What
 * gives no run is recorded as one skip for the whole span.
 *
 * When the clock was set back nothing is due and nothing changes.
 */
export function planOccurrences(schedule: CompiledSchedule, definition: Planned, now: number): Plan {
  // The database's clock has microseconds; occurrences are whole seconds, and `now + 1` below means the next one.
  const due = dueOccurrences(schedule, definition, Math.floor(now));
  if (due === null) {
    return {
      runs: [],
      skips: [],
      cursor: definition.cursor,
      nextAt: definition.remaining === 0 ? null : schedule.next(definition.cursor),
      remaining: definition.remaining,
    };
  }
  const left = definition.remaining;
  const chosen = left === null ? due.chosen : due.chosen.slice(0, Math.max(left, 0));
  const overlapped = definition.overlap === 'skip' && definition.hasLiveRun && chosen.length > 0;
  const runs = overlapped ? [] : chosen.map(each => plannedRun(schedule, definition, each.at, each.count));
  const skips: PlannedSkip[] = due.missed ? [due.missed] : [];
  if (overlapped) skips.push(overlapSkip(chosen.map(each => each.at)));
  const remaining = left === null ? null : left - runs.length;
  const nextAt = remaining === 0 ? null : schedule.next(due.cursor);
  return { runs, skips, cursor: due.cursor, nextAt, remaining };
}

interface Due {
  readonly chosen: readonly { readonly at: number; readonly count: number }[];
  readonly missed: PlannedSkip | null;
  readonly cursor: number;
}

function dueOccurrences(schedule: CompiledSchedule, definition: Planned, now: number): Due | null {
  const first = schedule.next(definition.cursor);
  if (first === null || first > now) return null;
  return definition.catchup === 'all'
    ? chooseAll(schedule, first, now, definition.catchupWindowMs)
    : chooseLatest(schedule, first, now, latestLimit(definition));
}

/** How old the latest occurrence may be and still give a run. */
function latestLimit({ catchup, catchupWindowMs }: Planned): number {
  if (catchup === 'none') return ON_TIME_MS;
  return catchupWindowMs ?? Number.POSITIVE_INFINITY;
}

function chooseLatest(schedule: CompiledSchedule, first: number, now: number, oldest: number): Due {
  const latest = Math.max(schedule.previous(now + 1) ?? first, first);
  const earlier = latest === first ? 0 : countOccurrences(schedule, first, latest);
  if (now - latest > oldest) {
    const missed: PlannedSkip = { first, last: latest, occurrenceCount: earlier + 1, reason: 'catchup' };
    return { chosen: [], missed, cursor: latest };
  }
  const missed: PlannedSkip | null =
    earlier === 0
      ? null
      : { first, last: schedule.previous(latest) ?? first, occurrenceCount: earlier, reason: 'catchup' };
  return { chosen: [{ at: latest, count: earlier + 1 }], missed, cursor: latest };
}

function chooseAll(schedule: CompiledSchedule, first: number, now: number, window: number | null): Due {
  const oldest = window === null ? Number.NEGATIVE_INFINITY : now - window;
  let missed: PlannedSkip | null = null;
  let at: number | null = first;
  if (first < oldest) {
    const kept = schedule.next(oldest - 1);
    const last = schedule.previous(Math.min(kept ?? now + 1, now + 1)) ?? first;
    missed = { first, last, occurrenceCount: countOccurrences(schedule, first, last) + 1, reason: 'catchup' };
    at = kept;
  }
  const chosen: { at: number; count: number }[] = [];
  let cursor = missed?.last ?? first;
  while (at !== null && at <= now && chosen.length < MOST_RUNS_PER_PLAN) {
    chosen.push({ at, count: 1 });
    cursor = at;
    at = schedule.next(at);
  }
  return { chosen, missed, cursor };
}

/** How many occurrences lie in [first, end), counted up to MOST_COUNTED. */
function countOccurrences(schedule: CompiledSchedule, first: number, end: number): number {
  let count = 0;
  for (let at: number | null = first; at !== null && at < end && count < MOST_COUNTED; at = schedule.next(at))
    count++;
  return count;
}

function plannedRun(schedule: CompiledSchedule, definition: Planned, at: number, count: number): PlannedRun {
  const next = schedule.next(at);
  const gap = next === null ? Number.POSITIVE_INFINITY : next - at;
  const runAt = at + jitterMs(definition.name, definition.jitterMs, gap);
  return {
    scheduledFor: at,
    runAt,
    startBy: definition.startDeadlineMs === null ? null : runAt + definition.startDeadlineMs,
    intervalStart: schedule.previous(at),
    occurrenceCount: count,
  };
}

function overlapSkip(occurrences: readonly number[]): PlannedSkip {
  const first = occurrences[0] ?? 0;
  return { first, last: occurrences.at(-1) ?? first, occurrenceCount: occurrences.length, reason: 'overlap' };
}
