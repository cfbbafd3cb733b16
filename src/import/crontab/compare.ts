// Compares the starts of a line under cron with the occurrences of its definition in Tock.
import { compileSchedule } from '../../model/schedule/compile.js';
import type { ScheduleSpec } from '../../model/schedule/spec.js';
import { findZone, type Zone } from '../../model/schedule/zone/zone.js';
import { cronStarts } from './cron-clock.js';
import type { ImportedJob, TakenLine } from './translate.js';

/** Why one of the two runs at an instant, and the other does not. */
export type DifferenceReason =
  /** The clock went forward: cron makes up at once, Tock keeps the distance to the change. */
  | 'gap'
  /** The clock went back: times occur twice. */
  | 'overlap'
  /** Neither: it should not happen. */
  | 'unknown';

export interface InstantDifference {
  /** Epoch milliseconds. */
  readonly at: number;
  /** Tock, or what runs it today: for crontabs `cron`. */
  readonly by: 'cron' | 'tock';
  readonly reason: DifferenceReason;
}

export interface Comparison {
  /** How many instants are the same; null: it cannot be compared, such as where cronie chooses at random. */
  readonly same: number | null;
  readonly differences: readonly InstantDifference[];
}

const HOUR = 3600;

/**
 * Compares over [from, to), in epoch milliseconds. Delays are left out on both sides.
 * @param timezone the host's
 */
export function compareLine(
  { entry, job, hasOwnZone }: TakenLine,
  timezone: string,
  from: number,
  to: number,
): Comparison {
  const { times } = entry;
  if (times === null) return { same: 0, differences: [] };
  const isRandom = Object.values({ ...times }).some(({ random }) => random !== null);
  if (isRandom) return { same: null, differences: [] };
  const host = findZone(timezone);
  const line = hasOwnZone ? findZone(job.timezone) : null;
  const cron = cronStarts(times, { host, line }, from, to);
  return compareInstants(
    cron,
    occurrencesOf(scheduleOf(job), job.name, from, to),
    line ? [line, host] : [host],
  );
}

/** The schedule that the generated code has. */
export function scheduleOf({ cron, timezone, dst }: ImportedJob): ScheduleSpec {
  return { cron, timezone, ...(dst === null ? {} : { dst }) };
}

/** The occurrences of a definition in [from, to). */
export function occurrencesOf(schedule: ScheduleSpec, name: string, from: number, to: number): number[] {
  const { next } = compileSchedule(schedule, name);
  const found: number[] = [];
  for (let at = next(from - 1); at !== null && at < to; at = next(at)) found.push(at);
  return found;
}

/** Both ascending; cron's may hold an instant more than once. */
export function compareInstants(
  cron: readonly number[],
  tock: readonly number[],
  zones: readonly Zone[],
): Comparison {
  const differences: InstantDifference[] = [];
  let same = 0;
  let at = 0;
  for (const instant of tock) {
    for (; (cron[at] ?? Number.POSITIVE_INFINITY) < instant; at++)
      differences.push({ at: cron[at] ?? 0, by: 'cron', reason: reasonFor(cron[at] ?? 0, zones) });
    if (cron[at] === instant) {
      same++;
      at++;
    } else differences.push({ at: instant, by: 'tock', reason: reasonFor(instant, zones) });
  }
  for (const rest of cron.slice(at))
    differences.push({ at: rest, by: 'cron', reason: reasonFor(rest, zones) });
  return { same, differences };
}

/** The change of the clock near an instant: up to four hours before it, or an hour after it. */
function reasonFor(instant: number, zones: readonly Zone[]): DifferenceReason {
  const second = instant / 1000;
  for (const zone of zones) {
    for (let at = second + HOUR; at > second - 4 * HOUR; ) {
      const { start, offset, before } = zone.segmentAt(at);
      if (start > second - 4 * HOUR && offset !== before) return offset > before ? 'gap' : 'overlap';
      at = start - 1;
    }
  }
  return 'unknown';
}
