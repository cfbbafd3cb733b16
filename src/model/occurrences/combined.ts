// The occurrences of several schedules as one: those that a chain may have.
import type { CompiledSchedule } from '../schedule/compile.js';

/** Schedules that meet more rarely than this count as never meeting. */
const MAX_STEPS = 10_000;

/** The instants that any of the schedules has, or that all of them have. */
export function combineSchedules(
  schedules: readonly CompiledSchedule[],
  require: 'all' | 'any',
): CompiledSchedule {
  if (schedules.length === 0) return { next: () => null, previous: () => null };
  if (require === 'any') {
    return {
      next: after =>
        nearest(
          Math.min,
          schedules.map(each => each.next(after)),
        ),
      previous: before =>
        nearest(
          Math.max,
          schedules.map(each => each.previous(before)),
        ),
    };
  }
  return {
    next: after => meeting(after, at => schedules.map(each => each.next(at)), Math.max, -1),
    previous: before => meeting(before, at => schedules.map(each => each.previous(at)), Math.min, 1),
  };
}

type Pick = (...values: number[]) => number;

function nearest(pick: Pick, found: readonly (number | null)[]): number | null {
  const there = found.filter(at => at !== null);
  return there.length === 0 ? null : pick(...there);
}

/** Asks all of them again from just before the farthest answer, until the answers agree. */
function meeting(
  start: number,
  ask: (at: number) => (number | null)[],
  farthest: Pick,
  back: 1 | -1,
): number | null {
  let at = start;
  for (let step = 0; step < MAX_STEPS; step++) {
    const answers = ask(at);
    const found = answers.filter(each => each !== null);
    if (found.length < answers.length) return null;
    const target = farthest(...found);
    if (found.every(each => each === target)) return target;
    at = target + back;
  }
  return null;
}
