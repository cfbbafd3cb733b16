// The occurrences of definitions in a span of time, with their exceptions: what every simulation walks along.
import { TockError } from '../errors.js';
import type { Chain } from '../planning/chain.js';
import type { DefinitionRecord } from '../planning/definition-columns.js';
import { byStart, type Exception, movedIn, withoutExcepted } from '../planning/exceptions.js';
import { startIn, type Window, windowIn } from '../planning/window.js';
import type { Limit } from '../run/limits.js';
import { type CompiledSchedule, compileSchedule } from '../schedule/compile.js';
import { jitterMs } from '../schedule/jitter.js';
import type { ScheduleSpec } from '../schedule/spec.js';

type Options =
  | 'jitterMs'
  | 'remaining'
  | 'window'
  | 'outsideWindow'
  | 'overlap'
  | 'startDeadlineMs'
  | 'queue'
  | 'priority';

/** A definition as it is simulated: without jitter, limits or hours, and side by side, unless given. */
export interface SimulatedDefinition extends Partial<Pick<DefinitionRecord, Options>> {
  readonly name: string;
  /** When it runs by itself; the hours of its window are in the zone of the schedule. Null: after others. */
  readonly spec: ScheduleSpec | null;
  /** What it runs after; `timezone` is that of its window then. */
  readonly after?: Chain | null;
  readonly timezone?: string;
  /** Those that matter. */
  readonly exceptions?: readonly Exception[];
  /** A pause ends then, in epoch milliseconds; what comes before makes no run. */
  readonly pausedUntil?: number | null;
  /** The limits of its job that its runs count under. */
  readonly limits?: readonly Limit[];
  /** How long its last runs took. Default: its runs take no time. */
  readonly sample?: DurationSample;
}

/** Finished runs, the oldest first. */
export interface DurationSample {
  readonly durationsMs: readonly number[];
  /** Which of them ended dead. */
  readonly died: readonly boolean[];
}

export interface SimulationWindow {
  /** Inclusive. */
  readonly from: Date;
  /** Exclusive. */
  readonly to: Date;
  /** The zone of the counted hours. Default UTC. */
  readonly timezone?: string;
}

export const MAX_SIMULATED = 5_000_000;
const YEAR_MS = 366 * 86_400_000;
/** A window opens once a day; when the clocks change, an hour or two later. */
export const MAX_WAIT_MS = 27 * 3_600_000;

export function checkWindow(from: Date, to: Date): void {
  const length = to.getTime() - from.getTime();
  if (Number.isNaN(length)) throw new TockError('TOCK_BAD_TIME', 'from or to is not a valid Date');
  if (length <= 0) {
    throw new TockError(
      'TOCK_BAD_TIME',
      `to ${to.toISOString()} is not after from ${from.toISOString()}; swap them, or move to`,
    );
  }
  if (length > YEAR_MS) {
    throw new TockError(
      'TOCK_BAD_TIME',
      'the window is longer than a year; simulate at most 366 days at once',
    );
  }
}

export function hoursOf({ window = null, spec, timezone }: SimulatedDefinition): Window | null {
  return window === null ? null : windowIn(window, spec?.timezone ?? timezone ?? 'UTC');
}

/**
 * When an occurrence may run, the gap to the next one, which bounds its jitter, and the occurrence itself: an
 * operator may have moved it, to exactly that time.
 */
export type Visit = (startsAt: number, gap: number, at: number) => void;

/**
 * Visits what starts from `reach` before the window to its end, in order. Returns how many there were. Those
 * before the window do not count towards `remaining`.
 */
export function walk(
  definition: SimulatedDefinition,
  { from, to }: SimulationWindow,
  reach: number,
  most: number,
  visit: Visit,
): number {
  const { remaining = null, pausedUntil } = definition;
  const [begin, end] = [from.getTime(), to.getTime()];
  let [count, made] = [0, 0];
  const first = Math.max(begin - reach, pausedUntil ?? Number.NEGATIVE_INFINITY);
  each(definition, first, end, (startsAt, gap, at) => {
    if (remaining !== null && made >= remaining) return false;
    if (++count > most) {
      throw new TockError(
        'TOCK_BAD_TIME',
        `there are more than ${MAX_SIMULATED} occurrences; simulate a shorter window, or fewer definitions`,
      );
    }
    visit(startsAt, gap, at);
    if (startsAt >= begin) made++;
    return true;
  });
  return count;
}

/** A simulation walks along each definition several times: by minutes, and with other jitter. */
const compiled = new WeakMap<ScheduleSpec, { readonly name: string; readonly schedule: CompiledSchedule }>();

function compiledOnce(spec: ScheduleSpec, name: string): CompiledSchedule {
  const known = compiled.get(spec);
  if (known?.name === name) return known.schedule;
  const schedule = compileSchedule(spec, name);
  compiled.set(spec, { name, schedule });
  return schedule;
}

/** @param visit false: no more */
function each(
  { name, spec, exceptions = [] }: SimulatedDefinition,
  first: number,
  end: number,
  visit: (startsAt: number, gap: number, at: number) => boolean,
): void {
  if (spec === null) return;
  const schedule = compiledOnce(spec, name);
  if (exceptions.length === 0) {
    for (let at = schedule.next(first - 1); at !== null && at < end; ) {
      const next = schedule.next(at);
      if (!visit(at, next === null ? Number.POSITIVE_INFINITY : next - at, at)) return;
      at = next;
    }
    return;
  }
  const regular = withoutExcepted(schedule, exceptions);
  const moved = movedIn(schedule, exceptions, { after: first - 1, to: end - 1 }).sort(byStart);
  let at = regular.next(first - 1);
  for (;;) {
    const [next] = moved;
    if (next !== undefined && (at === null || byStart(next, { at, startsAt: at }) < 0)) {
      moved.shift();
      if (!visit(next.startsAt, 0, next.at)) return;
      continue;
    }
    if (at === null || at >= end) return;
    const following = schedule.next(at);
    if (!visit(at, following === null ? Number.POSITIVE_INFINITY : following - at, at)) return;
    at = regular.next(at);
  }
}

/** What a definition brings in a window: three arrays of one length, sorted by `startsAt`. */
export interface Arrivals {
  /** The occurrences. */
  readonly at: readonly number[];
  /** When they become runs. */
  readonly startsAt: readonly number[];
  /** When these are due: after jitter, and in the definition's window. */
  readonly dueAt: readonly number[];
  /** Occurrences in the window that are outside of their definition's window, and give no run. */
  readonly skipped: readonly number[];
}

/** The occurrences whose runs are due, or made, in the window. @param most as in {@link walk} */
export function arrivalsOf(
  definition: SimulatedDefinition,
  window: SimulationWindow,
  most: number = MAX_SIMULATED,
): Arrivals {
  const { name, jitterMs: own = 0, outsideWindow } = definition;
  const begin = window.from.getTime();
  const hours = hoursOf(definition);
  const at: number[] = [];
  const startsAt: number[] = [];
  const dueAt: number[] = [];
  const skipped: number[] = [];
  // Of `remaining` the simulation takes what has become a run.
  const unlimited = { ...definition, remaining: null };
  walk(unlimited, window, own + (hours === null ? 0 : MAX_WAIT_MS), most, (starts, gap, occurrence) => {
    if (hours && outsideWindow === 'skip' && !hours.isOpen(starts)) {
      if (starts >= begin) skipped.push(occurrence);
      return;
    }
    const due = startIn(hours, starts, jitterMs(name, own, gap));
    if (due < begin) return;
    at.push(occurrence);
    startsAt.push(starts);
    dueAt.push(due);
  });
  return { at, startsAt, dueAt, skipped };
}
