// Whether a schedule has an occurrence at a time, and if not, why not.

import { DAY_SECONDS } from '../schedule/calendar.js';
import { type CompiledSchedule, compileSchedule } from '../schedule/compile.js';
import { localDays } from '../schedule/days/local-days.js';
import { type DayShift, MAX_SHIFT_DAYS } from '../schedule/days/shifted-days.js';
import { withExclusions } from '../schedule/exclusions.js';
import { type ReadSpec, readSpec, type ScheduleSpec } from '../schedule/spec.js';
import type { Segment, Zone } from '../schedule/zone/zone.js';
import { civilText, clockText, dayText } from './asked-time.js';
import { instantText, placeOfCivil, placeOfInstant } from './local-clock.js';

/**
 * - `occurrence`: it is one, possibly shifted out of a gap
 * - `nonexistent`: the clocks skip this local time, and the schedule leaves it out
 * - `repeated`: the second pass of a local time whose first pass is the occurrence
 * - `excluded`, `before-start`, `after-end`: it would be one, but for exclude, startAt, endAt
 * - `no-occurrence`: none of these
 */
export type ScheduleVerdict =
  | 'occurrence'
  | 'nonexistent'
  | 'repeated'
  | 'excluded'
  | 'before-start'
  | 'after-end'
  | 'no-occurrence';

export interface Explained {
  readonly verdict: ScheduleVerdict;
  /** The local time asked about, in local seconds since 1970-01-01T00:00. */
  readonly civil: number;
  /** The instant asked about, in epoch milliseconds; null for a local time that does not exist. */
  readonly instant: number | null;
  /** Its occurrences, in epoch milliseconds: usually one or none, two if both passes count. */
  readonly occurrences: readonly number[];
  readonly sentences: readonly string[];
}

/** A schedule, and what it would be without its bounds and exclusions. */
export interface Timetable {
  readonly zone: Zone;
  readonly read: ReadSpec;
  readonly compiled: CompiledSchedule;
  readonly bare: CompiledSchedule;
  /**
   * The nominal local times as if they were UTC, those that are left out and those to which they move; null
   * for `every` and `at`, which have none.
   */
  readonly nominal: CompiledSchedule | null;
  /** Null where nothing moves. */
  readonly shift: DayShift | null;
}

/** Reads a schedule for the functions below. @throws TockError TOCK_BAD_SCHEDULE */
export function openTimetable(spec: ScheduleSpec, name: string): Timetable {
  const { startAt: _from, endAt: _to, ...unbounded } = withExclusions(spec);
  const { exclude, shift: _shift, ...open } = unbounded;
  const read = readSpec(spec, name);
  const { timing, exclusions } = read;
  const isLocal = timing.kind === 'cron' || timing.kind === 'days';
  // Which business day is the third, exclusions decide.
  const isCounted =
    timing.kind === 'cron' && exclusions?.hasWeekend === true && timing.fields.businessDays.length > 0;
  const bare = isCounted && exclude !== undefined ? { ...open, exclude } : open;
  const shift = isLocal && read.shift !== null ? localDays(timing, exclusions, read.shift).shift : null;
  const asUtc = (each: ScheduleSpec) => compileSchedule({ ...each, timezone: 'UTC' }, name);
  const nominal = isLocal ? asUtc(bare) : null;
  return {
    zone: read.zone,
    read,
    compiled: compileSchedule(spec, name),
    bare: compileSchedule(bare, name),
    nominal: nominal === null || shift === null ? nominal : eitherOf(nominal, asUtc(unbounded)),
    shift,
  };
}

/** The instants of both. */
function eitherOf(one: CompiledSchedule, other: CompiledSchedule): CompiledSchedule {
  const pick = (choose: (...of: number[]) => number, found: readonly (number | null)[]) => {
    const instants = found.filter(at => at !== null);
    return instants.length === 0 ? null : choose(...instants);
  };
  return {
    next: after => pick(Math.min, [one.next(after), other.next(after)]),
    previous: before => pick(Math.max, [one.previous(before), other.previous(before)]),
  };
}

function occursAt(schedule: CompiledSchedule, ms: number): boolean {
  return schedule.next(ms - 1) === ms;
}

/** @param second epoch seconds */
export function explainInstant(table: Timetable, second: number): Explained {
  const ms = second * 1000;
  const { civil, passes, skipped } = placeOfInstant(table.zone, second);
  const about = { civil, instant: ms };
  const fellInGap = skipped !== null && followsLocalTime(table) && isNominal(table, skipped);
  const wasShifted = fellInGap && table.read.dst === 'once';
  if (occursAt(table.compiled, ms)) {
    const shift = wasShifted ? [shiftedSentence(table, skipped, ms)] : [];
    const own =
      wasShifted && !isNominal(table, civil) ? [] : [`${instantText(ms, table.zone)} is an occurrence`];
    return {
      ...about,
      verdict: 'occurrence',
      occurrences: [ms],
      sentences: [
        ...own,
        ...shift,
        ...standsFor(table, wasShifted ? skipped : civil),
        ...passSentence(table, passes, second),
      ],
    };
  }
  const kept = whyNot(table, ms);
  if (kept) return { ...about, ...kept, occurrences: [] };
  if (passes && second === passes[1] && occursAt(table.compiled, passes[0] * 1000)) {
    return { ...about, verdict: 'repeated', occurrences: [], sentences: passSentence(table, passes, second) };
  }
  if (fellInGap) {
    return {
      ...about,
      verdict: 'nonexistent',
      occurrences: [],
      sentences: [gapSentence(table, skipped), leftOut(table)],
    };
  }
  return {
    ...about,
    verdict: 'no-occurrence',
    occurrences: [],
    sentences: [`${instantText(ms, table.zone)} is not an occurrence`, neighbours(table, ms)],
  };
}

/** Explains a local time of the schedule's zone. @param civil local seconds since 1970-01-01T00:00 */
export function explainCivil(table: Timetable, civil: number): Explained {
  const { instants, gap } = placeOfCivil(table.zone, civil);
  if (gap) return explainGap(table, civil, gap);
  const [first, second] = instants.map(instant => explainInstant(table, instant));
  if (first === undefined) return outOfBounds(table, civil);
  if (second === undefined || first.verdict !== 'occurrence')
    return second?.verdict === 'occurrence' ? second : first;
  return { ...first, occurrences: [...first.occurrences, ...second.occurrences] };
}

export function neighbours({ compiled, zone }: Timetable, ms: number): string {
  const [previous, next] = [compiled.previous(ms), compiled.next(ms)];
  const before =
    previous === null
      ? 'there is no earlier occurrence'
      : `the previous one is ${instantText(previous, zone)}`;
  const after = next === null ? 'no later one' : `the next one is ${instantText(next, zone)}`;
  return `${before}, ${after}`;
}

/** Whether local times decide: not those of a cron expression whose hour field covers all 24 hours. */
export function followsLocalTime({ read: { timing } }: Timetable): boolean {
  return timing.kind === 'days' || (timing.kind === 'cron' && !timing.fields.everyHour);
}

function isNominal({ nominal }: Timetable, civil: number): boolean {
  return nominal !== null && occursAt(nominal, civil * 1000);
}

/** Why a time that the expression names is left out; null if the expression does not name it. */
function whyNot(
  { bare, read, zone, shift }: Timetable,
  ms: number,
): { verdict: ScheduleVerdict; sentences: string[] } | null {
  if (!occursAt(bare, ms)) return null;
  const { startAt, endAt } = read;
  const would = `${instantText(ms, zone)} would be an occurrence, but`;
  if (startAt !== null && ms < startAt) {
    return {
      verdict: 'before-start',
      sentences: [`${would} the schedule begins at ${instantText(startAt, zone)} (startAt)`],
    };
  }
  if (endAt !== null && ms > endAt) {
    return {
      verdict: 'after-end',
      sentences: [`${would} the schedule ended at ${instantText(endAt, zone)} (endAt)`],
    };
  }
  const day = Math.floor(placeOfInstant(zone, ms / 1000).civil / DAY_SECONDS);
  const calendars = [...(read.exclusions?.calendars ?? [])].filter(([, days]) => days.has(day));
  const by =
    calendars.length === 0
      ? 'exclude'
      : `exclude: ${calendars.length === 1 ? 'the calendar' : 'the calendars'} ${calendars.map(([name]) => name).join(' and ')}`;
  return {
    verdict: 'excluded',
    sentences: [`${would} the schedule excludes it (${by})`, ...goesTo({ read, shift }, day)],
  };
}

/** Where an excluded day goes. */
function goesTo({ read, shift }: Pick<Timetable, 'read' | 'shift'>, day: number): string[] {
  if (shift === null) return [];
  const to = shift.targetOf(day);
  const direction = `shift ${read.shift ?? ''}`;
  if (to === null)
    return [`under ${direction} it does not move: no day within ${MAX_SHIFT_DAYS} days is left`];
  return to === day
    ? [`under ${direction} it does not move: other times of its day are left`]
    : [`under ${direction} it moves to ${dayText(to)}, at the same local time`];
}

/** The excluded days that have moved to an occurrence. */
export function movedDays({ shift }: Timetable, civil: number): number[] {
  return shift === null ? [] : shift.sourcesOf(Math.floor(civil / DAY_SECONDS));
}

function standsFor(table: Timetable, civil: number): string[] {
  const moved = movedDays(table, civil).map(dayText);
  if (moved.length === 0) return [];
  const days =
    moved.length === 1 ? (moved[0] ?? '') : `${moved.slice(0, -1).join(', ')} and ${moved.at(-1) ?? ''}`;
  return [`it stands for ${days}, excluded and moved here by shift ${table.read.shift ?? ''}`];
}

function explainGap(table: Timetable, civil: number, gap: Segment): Explained {
  const about = { civil, instant: null, occurrences: [] };
  const missing = gapSentence(table, civil);
  if (!isNominal(table, civil)) {
    const sentences = [missing, `the schedule does not include it; ${neighbours(table, gap.start * 1000)}`];
    return { ...about, verdict: 'no-occurrence', sentences };
  }
  if (!followsLocalTime(table)) {
    const sentences = [missing, 'the schedule covers all 24 hours and follows real time, so nothing is lost'];
    return { ...about, verdict: 'nonexistent', sentences };
  }
  if (table.read.dst !== 'once')
    return { ...about, verdict: 'nonexistent', sentences: [missing, leftOut(table)] };
  const shifted = (civil - gap.before) * 1000;
  if (occursAt(table.compiled, shifted)) {
    return {
      ...about,
      instant: shifted,
      verdict: 'occurrence',
      occurrences: [shifted],
      sentences: [shiftedSentence(table, civil, shifted)],
    };
  }
  const kept = whyNot(table, shifted);
  return kept
    ? { ...about, verdict: kept.verdict, sentences: [missing, ...kept.sentences] }
    : { ...about, verdict: 'nonexistent', sentences: [missing] };
}

function outOfBounds(table: Timetable, civil: number): Explained {
  return {
    civil,
    instant: null,
    occurrences: [],
    verdict: 'no-occurrence',
    sentences: [`${civilText(civil)} is not a time in ${table.zone.name}`],
  };
}

function gapSentence({ zone }: Timetable, civil: number): string {
  const { gap } = placeOfCivil(zone, civil);
  const change = gap
    ? `: the clocks go from ${clockText(gap.start + gap.before)} to ${clockText(gap.start + gap.offset)}`
    : '';
  return `${civilText(civil)} does not exist in ${zone.name}${change}`;
}

function shiftedSentence(table: Timetable, civil: number, ms: number): string {
  return `${gapSentence(table, civil)}; under dst once the occurrence is at ${instantText(ms, table.zone)}`;
}

function leftOut({ read }: Timetable): string {
  return `under dst ${read.dst} it has no occurrence (under once it would be shifted)`;
}

function passSentence(table: Timetable, passes: readonly [number, number] | null, second: number): string[] {
  if (passes === null || table.nominal === null) return [];
  const [first, last] = passes.map(pass => instantText(pass * 1000, table.zone));
  const twice = `${civilText(placeOfInstant(table.zone, second).civil)} happens twice in ${table.zone.name}`;
  if (!followsLocalTime(table))
    return [`${twice}; the schedule covers all 24 hours and follows real time, so both count`];
  if (table.read.dst === 'literal') return [`${twice}; under dst literal both passes are occurrences`];
  const which =
    second === passes[0]
      ? `the first pass, and the second (${last ?? ''}) is not`
      : `only the first pass: ${first ?? ''}`;
  return [`${twice}; under dst ${table.read.dst} the occurrence is ${which}`];
}
