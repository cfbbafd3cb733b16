// Decides which due occurrences become runs: the decision behind materialization.

import type { SkipReason } from '../run/states.js';
import type { CompiledSchedule } from '../schedule/compile.js';
import { jitterMs } from '../schedule/jitter.js';
import type { DefinitionColumns } from './definition-columns.js';
import { byStart, type Exception, movedIn, nextDue, skippedIn, withoutExcepted } from './exceptions.js';
import { type OverlapPlan, planOverlap } from './plan-overlap.js';
import { startIn, type Window, windowOf } from './window.js';

/** A younger occurrence was not missed: cron's minute, and one more for a slow start. */
const ON_TIME_MS = 120_000;
/** The most runs of one plan, to bound memory; the rest comes with the next plan, which is made at once. */
export const MAX_RUNS_PER_PLAN = 1000;
/** Occurrences are counted up to this; of more, people read "at least". */
export const MAX_COUNTED = 100_000;

/** `at least 100000 occurrences` where the count ends before they do. */
export function occurrencesText(count: number): string {
  const number = count < MAX_COUNTED ? `${count}` : `at least ${MAX_COUNTED}`;
  return `${number} ${count === 1 ? 'occurrence' : 'occurrences'}`;
}

/** What planning needs of a definition. */
export interface PlannedDefinition
  extends Pick<
    DefinitionColumns,
    | 'name'
    | 'timezone'
    | 'active_window'
    | 'outside_window'
    | 'overlap'
    | 'catchup'
    | 'catchup_window_ms'
    | 'start_deadline_ms'
    | 'jitter_ms'
    | 'remaining_count'
  > {
  readonly cursor_ms: number;
}

/** The runs of a definition that wait, run, or are between two attempts. */
export interface LiveRuns {
  readonly count: number;
  /** When the first of them was made, in epoch milliseconds; -Infinity where nobody has asked. */
  readonly since: number;
}

export interface PlannedRun {
  readonly scheduledFor: number;
  readonly runAt: number;
  readonly startBy: number | null;
  /** The occurrence before this one; null when there is none. */
  readonly intervalStart: number | null;
  readonly occurrenceCount: number;
  /** It runs only while no other serial run of the definition does. */
  readonly isSerial: boolean;
}

/** A span of occurrences without runs, recorded in one row. */
export interface PlannedSkip {
  readonly first: number;
  readonly last: number;
  readonly occurrenceCount: number;
  readonly reason: SkipReason;
}

export interface Plan {
  readonly runs: readonly PlannedRun[];
  readonly skips: readonly PlannedSkip[];
  /** How the definition's live runs make way for the new one. */
  readonly displaces: OverlapPlan<unknown>['displaces'];
  /** The last occurrence considered; never before the old cursor. */
  readonly cursor: number;
  readonly nextAt: number | null;
  readonly remaining: number | null;
}

/**
 * Decides what becomes of the occurrences in (cursor, now].
 *
 * Computed from the cursor, never from now alone, so that repeating it, or two processes doing it, gives the
 * same runs. `latest`: the last occurrence gives one run that stands for all. `all`: each gives a run, except
 * those older than the window. `none`: only one that is not late gives a run. The others are recorded as one
 * skip for the whole span. If the clock was set back, nothing is due and nothing changes. An occurrence with
 * an exception is not among them: a moved one comes at its new time, and stands for itself.
 * @param exceptions those that matter after the cursor
 */
export function planOccurrences(
  schedule: CompiledSchedule,
  definition: PlannedDefinition,
  live: LiveRuns,
  now: number,
  exceptions: readonly Exception[] = [],
): Plan {
  const { remaining_count: left } = definition;
  const window = windowOf(definition);
  // Floored, because the database's clock has microseconds, occurrences are whole seconds, and `now + 1`
  // below means the next one.
  const regular = withoutExcepted(schedule, exceptions);
  const due = withExceptions(
    schedule,
    definition,
    exceptions,
    dueOccurrences(regular, definition, Math.floor(now)),
    now,
  );
  if (due === null) {
    return {
      runs: [],
      skips: [],
      displaces: null,
      cursor: definition.cursor_ms,
      nextAt: left === 0 ? null : nextDue(schedule, exceptions, definition.cursor_ms),
      remaining: left,
    };
  }
  const { inside, outside } = byWindow(due.chosen, window, definition);
  const wanted = left === 0 ? [] : inside;
  const { kept, dropped, isSerial, displaces } = planOverlap(
    definition.overlap,
    live.count,
    wanted,
    // A run that was made later was not live then: both are of one catch-up, in plans of 1,000.
    ({ startsAt }) => startsAt <= live.since,
  );
  // Last: what the overlap policy drops is on record, and only what comes after the last run has no record.
  const runs = (left === null ? kept : kept.slice(0, left)).map(each =>
    plannedRun(schedule, definition, window, each, isSerial),
  );
  const skips = [...due.missed, ...spansOf(outside, 'window'), ...spansOf(dropped, 'overlap')];
  const remaining = left === null ? null : left - runs.length;
  const nextAt = remaining === 0 ? null : nextDue(schedule, exceptions, due.cursor);
  return { runs, skips, displaces, cursor: due.cursor, nextAt, remaining };
}

/** An occurrence that gets a run, and how many it stands for. */
interface Chosen {
  readonly at: number;
  /** From when on it may run, before jitter: when it occurs, or where it was moved to. */
  readonly startsAt: number;
  readonly count: number;
}

function byWindow(
  chosen: readonly Chosen[],
  window: Window | null,
  { outside_window: outside }: PlannedDefinition,
): { inside: readonly Chosen[]; outside: readonly Chosen[] } {
  if (window === null || outside === 'defer') return { inside: chosen, outside: [] };
  return {
    inside: chosen.filter(each => window.isOpen(each.startsAt)),
    outside: chosen.filter(each => !window.isOpen(each.startsAt)),
  };
}

interface Due {
  readonly chosen: readonly Chosen[];
  readonly missed: readonly PlannedSkip[];
  readonly cursor: number;
}

/** Adds the exceptions that are to be decided, up to `now`, or to where `due` was cut. */
function withExceptions(
  schedule: CompiledSchedule,
  definition: PlannedDefinition,
  exceptions: readonly Exception[],
  due: Due | null,
  now: number,
): Due | null {
  const { cursor_ms: after } = definition;
  if (!exceptions.some(({ dueAt }) => dueAt > after && dueAt <= now)) return due;
  const following = due === null ? null : withoutExcepted(schedule, exceptions).next(due.cursor);
  const to = due !== null && following !== null && following <= now ? due.cursor : now;
  const moved = movedIn(schedule, exceptions, { after, to }).map(each => ({ ...each, count: 1 }));
  const isLate = ({ startsAt }: Chosen) => now - startsAt > latestLimit(definition);
  const skipped = skippedIn(schedule, exceptions, { after, to });
  const decided = exceptions.map(({ dueAt }) => dueAt).filter(dueAt => dueAt <= to);
  return {
    chosen: [...(due?.chosen ?? []), ...moved.filter(each => !isLate(each))].sort(byStart),
    missed: [
      ...(due?.missed ?? []),
      ...skipped.map(at => single(at, 'excepted')),
      ...moved.filter(isLate).map(({ at }) => single(at, 'catchup')),
    ],
    cursor: Math.max(due?.cursor ?? after, ...decided),
  };
}

function dueOccurrences(schedule: CompiledSchedule, definition: PlannedDefinition, now: number): Due | null {
  const first = schedule.next(definition.cursor_ms);
  if (first === null || first > now) return null;
  return definition.catchup === 'all'
    ? chooseAll(schedule, first, now, definition.catchup_window_ms)
    : chooseLatest(schedule, first, now, latestLimit(definition));
}

/** The greatest age at which the latest occurrence, or a moved one, still gives a run. */
function latestLimit({ catchup, catchup_window_ms: window }: PlannedDefinition): number {
  if (catchup === 'none') return ON_TIME_MS;
  return window ?? Number.POSITIVE_INFINITY;
}

function chooseLatest(schedule: CompiledSchedule, first: number, now: number, oldest: number): Due {
  const latest = Math.max(schedule.previous(now + 1) ?? first, first);
  const earlier = latest === first ? 0 : countOccurrences(schedule, first, latest);
  if (now - latest > oldest) {
    const missed: PlannedSkip = { first, last: latest, occurrenceCount: earlier + 1, reason: 'catchup' };
    return { chosen: [], missed: [missed], cursor: latest };
  }
  const last = schedule.previous(latest) ?? first;
  const missed: PlannedSkip[] =
    earlier === 0 ? [] : [{ first, last, occurrenceCount: earlier, reason: 'catchup' }];
  return { chosen: [{ at: latest, startsAt: latest, count: earlier + 1 }], missed, cursor: latest };
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
  const chosen: Chosen[] = [];
  let cursor = missed?.last ?? first;
  while (at !== null && at <= now && chosen.length < MAX_RUNS_PER_PLAN) {
    chosen.push({ at, startsAt: at, count: 1 });
    cursor = at;
    at = schedule.next(at);
  }
  return { chosen, missed: missed === null ? [] : [missed], cursor };
}

function countOccurrences(schedule: CompiledSchedule, first: number, end: number): number {
  let count = 0;
  for (let at: number | null = first; at !== null && at < end && count < MAX_COUNTED; at = schedule.next(at))
    count++;
  return count;
}

function plannedRun(
  schedule: CompiledSchedule,
  { name, jitter_ms, start_deadline_ms: deadline }: PlannedDefinition,
  window: Window | null,
  { at, startsAt, count }: Chosen,
  isSerial: boolean,
): PlannedRun {
  const next = schedule.next(at);
  const gap = next === null ? Number.POSITIVE_INFINITY : next - at;
  // An operator has moved it to exactly this time.
  const runAt = startIn(window, startsAt, startsAt === at ? jitterMs(name, jitter_ms, gap) : 0);
  return {
    scheduledFor: at,
    runAt,
    startBy: deadline === null ? null : runAt + deadline,
    intervalStart: schedule.previous(at),
    occurrenceCount: count,
    isSerial,
  };
}

/** Occurrences without runs: those at their times as one span, each moved one by itself. Keeps the counts. */
function spansOf(occurrences: readonly Chosen[], reason: SkipReason): PlannedSkip[] {
  const regular = occurrences.filter(({ at, startsAt }) => at === startsAt);
  const moved = occurrences.filter(({ at, startsAt }) => at !== startsAt);
  const [first, last] = [regular[0], regular.at(-1)];
  const span =
    first === undefined || last === undefined
      ? []
      : [{ first: first.at, last: last.at, occurrenceCount: regular.length, reason }];
  return [...span, ...moved.map(({ at }) => single(at, reason))];
}

const single = (at: number, reason: SkipReason): PlannedSkip => ({
  first: at,
  last: at,
  occurrenceCount: 1,
  reason,
});
