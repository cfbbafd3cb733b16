// Decides which due occurrences become runs: the decision behind materialization.

import type { SkipReason } from '../run/states.js';
import type { CompiledSchedule } from '../schedule/compile.js';
import { jitterMs } from '../schedule/jitter.js';
import type { DefinitionColumns } from './definition-columns.js';
import type { OverlapPolicy } from './policies.js';
import { type Window, windowIn } from './window.js';

/** A younger occurrence was not missed: cron's minute, and one more for a slow start. */
const ON_TIME_MS = 120_000;
/** The most runs of one plan, to bound memory; the rest comes with the next plan. */
export const MAX_RUNS_PER_PLAN = 1000;
/** Occurrences are counted up to this; a longer outage is shown as "at least". */
export const MAX_COUNTED = 100_000;

/** The most live runs of a definition under `buffer_all`; further occurrences are skipped. */
export const MAX_BUFFERED = 1000;

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
  readonly displaces: 'cancel' | 'terminate' | null;
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
 * skip for the whole span. If the clock was set back, nothing is due and nothing changes.
 * @param liveRuns how many runs of the definition wait, run, or are between two attempts
 */
export function planOccurrences(
  schedule: CompiledSchedule,
  definition: PlannedDefinition,
  liveRuns: number,
  now: number,
): Plan {
  const { active_window: hours, timezone, remaining_count: left } = definition;
  const window = hours === null ? null : windowIn(hours, timezone);
  // Floored, because the database's clock has microseconds, occurrences are whole seconds, and `now + 1`
  // below means the next one.
  const due = dueOccurrences(schedule, definition, Math.floor(now));
  if (due === null) {
    return {
      runs: [],
      skips: [],
      displaces: null,
      cursor: definition.cursor_ms,
      nextAt: left === 0 ? null : schedule.next(definition.cursor_ms),
      remaining: left,
    };
  }
  const { inside, outside } = byWindow(due.chosen, window, definition);
  const wanted = left === null ? inside : inside.slice(0, Math.max(left, 0));
  const { kept, dropped, isSerial, displaces } = planOverlap(definition.overlap, liveRuns, wanted);
  const runs = kept.map(each => plannedRun(schedule, definition, window, each, isSerial));
  const skips: PlannedSkip[] = due.missed ? [due.missed] : [];
  skips.push(...spanOf(outside, 'window'), ...spanOf(dropped, 'overlap'));
  const remaining = left === null ? null : left - runs.length;
  const nextAt = remaining === 0 ? null : schedule.next(due.cursor);
  return { runs, skips, displaces, cursor: due.cursor, nextAt, remaining };
}

/** An occurrence that gets a run, and how many it stands for. */
interface Chosen {
  readonly at: number;
  readonly count: number;
}

interface OverlapPlan<T> {
  readonly kept: readonly T[];
  readonly dropped: readonly T[];
  readonly isSerial: boolean;
  readonly displaces: Plan['displaces'];
}

/**
 * Decides which occurrences become runs while `liveRuns` earlier ones are live.
 *
 * `skip`: none. `buffer_one`: one may wait for the live one. `buffer_all`: all wait, up to
 * {@link MAX_BUFFERED}. `cancel_other`, `terminate_other`: only the last, replacing live ones. `allow_all`:
 * all, side by side. Otherwise a definition's runs are serial: each waits for its turn.
 *
 * Source: the six overlap policies of Temporal's schedules.
 */
export function planOverlap<T>(
  overlap: OverlapPolicy,
  liveRuns: number,
  wanted: readonly T[],
): OverlapPlan<T> {
  const first = (count: number): OverlapPlan<T> => ({
    kept: wanted.slice(0, Math.max(count, 0)),
    dropped: wanted.slice(Math.max(count, 0)),
    isSerial: true,
    displaces: null,
  });
  switch (overlap) {
    case 'skip':
      // A single run waits for none and needs no slot.
      return { ...first(liveRuns > 0 ? 0 : wanted.length), isSerial: wanted.length > 1 };
    case 'buffer_one':
      return first(2 - liveRuns);
    case 'buffer_all':
      return first(MAX_BUFFERED - liveRuns);
    case 'allow_all':
      return { kept: wanted, dropped: [], isSerial: false, displaces: null };
    case 'cancel_other':
    case 'terminate_other':
      return {
        kept: wanted.slice(-1),
        dropped: wanted.slice(0, -1),
        isSerial: true,
        displaces:
          wanted.length === 0 || liveRuns === 0 ? null : overlap === 'cancel_other' ? 'cancel' : 'terminate',
      };
  }
}

function byWindow(
  chosen: readonly Chosen[],
  window: Window | null,
  { outside_window: outside }: PlannedDefinition,
): { inside: readonly Chosen[]; outside: readonly Chosen[] } {
  if (window === null || outside === 'defer') return { inside: chosen, outside: [] };
  return {
    inside: chosen.filter(each => window.isOpen(each.at)),
    outside: chosen.filter(each => !window.isOpen(each.at)),
  };
}

interface Due {
  readonly chosen: readonly Chosen[];
  readonly missed: PlannedSkip | null;
  readonly cursor: number;
}

function dueOccurrences(schedule: CompiledSchedule, definition: PlannedDefinition, now: number): Due | null {
  const first = schedule.next(definition.cursor_ms);
  if (first === null || first > now) return null;
  return definition.catchup === 'all'
    ? chooseAll(schedule, first, now, definition.catchup_window_ms)
    : chooseLatest(schedule, first, now, latestLimit(definition));
}

/** The greatest age at which the latest occurrence still gives a run. */
function latestLimit({ catchup, catchup_window_ms: window }: PlannedDefinition): number {
  if (catchup === 'none') return ON_TIME_MS;
  return window ?? Number.POSITIVE_INFINITY;
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
  const chosen: Chosen[] = [];
  let cursor = missed?.last ?? first;
  while (at !== null && at <= now && chosen.length < MAX_RUNS_PER_PLAN) {
    chosen.push({ at, count: 1 });
    cursor = at;
    at = schedule.next(at);
  }
  return { chosen, missed, cursor };
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
  { at, count }: Chosen,
  isSerial: boolean,
): PlannedRun {
  const next = schedule.next(at);
  const gap = next === null ? Number.POSITIVE_INFINITY : next - at;
  const jittered = at + jitterMs(name, jitter_ms, gap);
  const runAt = window?.opening(jittered) ?? jittered;
  return {
    scheduledFor: at,
    runAt,
    startBy: deadline === null ? null : runAt + deadline,
    intervalStart: schedule.previous(at),
    occurrenceCount: count,
    isSerial,
  };
}

/** Occurrences without runs, as one span. Keeps the counts of what they stood for. */
function spanOf(occurrences: readonly Chosen[], reason: SkipReason): PlannedSkip[] {
  const [first, last] = [occurrences[0], occurrences.at(-1)];
  if (first === undefined || last === undefined) return [];
  return [{ first: first.at, last: last.at, occurrenceCount: occurrences.length, reason }];
}
