// Whether a schedule has an occurrence at a time, and if not, why not.

import { type CompiledSchedule, compileSchedule } from '../schedule/compile.js';
import { type ReadSpec, readSpec, type ScheduleSpec } from '../schedule/spec.js';
import type { Segment, Zone } from '../schedule/zone/zone.js';
import { civilText, clockText } from './asked-time.js';
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
  /** The nominal local times as if they were UTC; null for `every` and `at`, which have none. */
  readonly nominal: CompiledSchedule | null;
}

/** Reads a schedule for the functions below. @throws TockError TOCK_BAD_SCHEDULE */
export function openTimetable(spec: ScheduleSpec, name: string): Timetable {
  const { startAt: _from, endAt: _to, exclude: _exclude, ...bare } = spec;
  const read = readSpec(spec, name);
  return {
    zone: read.zone,
    read,
    compiled: compileSchedule(spec, name),
    bare: compileSchedule(bare, name),
    nominal: read.timing.kind === 'cron' ? compileSchedule({ ...bare, timezone: 'UTC' }, name) : null,
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
      sentences: [...own, ...shift, ...passSentence(table, passes, second)],
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

/** Whether local times decide: a cron expression whose hour field does not cover all 24 hours. */
export function followsLocalTime({ read: { timing } }: Timetable): boolean {
  return timing.kind === 'cron' && !timing.fields.everyHour;
}

function isNominal({ nominal }: Timetable, civil: number): boolean {
  return nominal !== null && occursAt(nominal, civil * 1000);
}

/** Why a time that the expression names is left out; null if the expression does not name it. */
function whyNot(
  { bare, read, zone }: Timetable,
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
  return { verdict: 'excluded', sentences: [`${would} the schedule excludes it (exclude)`] };
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
