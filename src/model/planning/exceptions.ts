// Exceptions: single occurrences that an operator has skipped, or moved to another time. A schedule with its
// exceptions is again a set of instants: without the excepted occurrences, and with the times at which these
// are decided. So the cursor is all that has to be remembered, as it is for occurrences.
import type { CompiledSchedule } from '../schedule/compile.js';

/** What is done with one occurrence. */
export type ExceptionKind = 'skip' | 'move';

/** One occurrence that is not as the schedule says. Instants in epoch milliseconds. */
export interface Exception {
  /** The occurrence: what its run, or its skipped row, is known by. */
  readonly at: number;
  readonly kind: ExceptionKind;
  /**
   * When it is decided. `move`: when its run is due. `skip`: when it is recorded as skipped, at the
   * occurrence itself unless that had been moved before.
   */
  readonly dueAt: number;
  readonly note: string | null;
  /** Who made it. */
  readonly operator: string;
  readonly madeAt: number;
}

/** The most exceptions of a definition that are still to come. */
export const MAX_EXCEPTIONS = 1000;

/** The schedule without the occurrences that have an exception. */
export function withoutExcepted(
  schedule: CompiledSchedule,
  exceptions: readonly Exception[],
): CompiledSchedule {
  if (exceptions.length === 0) return schedule;
  const excepted = new Set(exceptions.map(({ at }) => at));
  const pass = (step: (from: number) => number | null) => (from: number) => {
    let at = step(from);
    while (at !== null && excepted.has(at)) at = step(at);
    return at;
  };
  return { next: pass(schedule.next), previous: pass(schedule.previous) };
}

/** When a definition is due after an instant: at an occurrence, or where an exception is decided. */
export function nextDue(
  schedule: CompiledSchedule,
  exceptions: readonly Exception[],
  after: number,
): number | null {
  const next = withoutExcepted(schedule, exceptions).next(after);
  if (exceptions.length === 0) return next;
  const decided = exceptions.map(({ dueAt }) => dueAt).filter(at => at > after);
  return decided.length === 0 ? next : Math.min(...decided, next ?? Number.POSITIVE_INFINITY);
}

/**
 * When a definition makes its next run after an instant, and of which occurrence: what is skipped makes none.
 * Null: never.
 */
export function nextRun(
  schedule: CompiledSchedule,
  exceptions: readonly Exception[],
  after: number,
): { readonly at: number; readonly startsAt: number } | null {
  const next = withoutExcepted(schedule, exceptions).next(after);
  const starts = movedIn(schedule, exceptions, { after, to: Number.POSITIVE_INFINITY });
  if (next !== null) starts.push({ at: next, startsAt: next });
  return starts.sort(byStart)[0] ?? null;
}

/** The moved occurrences whose runs are due after one instant, and up to another. */
export function movedIn(
  schedule: CompiledSchedule,
  exceptions: readonly Exception[],
  { after, to }: { readonly after: number; readonly to: number },
): { readonly at: number; readonly startsAt: number }[] {
  return exceptions
    .filter(({ kind, at, dueAt }) => kind === 'move' && dueAt > after && dueAt <= to && occurs(schedule, at))
    .map(({ at, dueAt }) => ({ at, startsAt: dueAt }));
}

/** The skipped occurrences that are to be recorded after one instant, and up to another. */
export function skippedIn(
  schedule: CompiledSchedule,
  exceptions: readonly Exception[],
  { after, to }: { readonly after: number; readonly to: number },
): number[] {
  return exceptions
    .filter(({ kind, at, dueAt }) => kind === 'skip' && dueAt > after && dueAt <= to && occurs(schedule, at))
    .map(({ at }) => at);
}

/** By when they may start; occurrences that fall together in their own order. */
export const byStart = (
  one: { readonly at: number; readonly startsAt: number },
  other: { readonly at: number; readonly startsAt: number },
): number => one.startsAt - other.startsAt || one.at - other.at;

/** Whether a schedule has an occurrence then. After an edit an exception may be of none: it has no effect. */
export const occurs = (schedule: CompiledSchedule, at: number): boolean => schedule.next(at - 1) === at;
