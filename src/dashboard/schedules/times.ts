// Instants in the zone of a schedule.

import { findZoneOrUtc } from '../../answers/schedules/zones.js';
import { clockText } from '../../model/explain/asked-time.js';
import { dateOfDay } from '../../model/occurrences/calendar-span.js';
import { dayLabel } from '../../model/occurrences/grid.js';
import { dayOfInstant, type LocalDay, localDay, placeOnDay } from '../../model/occurrences/local-days.js';
import type { DefinitionColumns } from '../../model/planning/definition-columns.js';
import { type Exception, nextRun } from '../../model/planning/exceptions.js';
import { startIn, windowOf } from '../../model/planning/window.js';
import type { CompiledSchedule } from '../../model/schedule/compile.js';
import { jitterMs } from '../../model/schedule/jitter.js';
import type { Zone } from '../../model/schedule/zone/zone.js';
import { placeOf } from '../layout/text.js';

/** `Sun 1 Nov 01:30`, with the year if it is another one; `(again)` in the second pass. @param ms epoch */
export function zoneTime(zone: Zone, ms: number, now: number): string {
  const day = dayOfInstant(zone, ms);
  const { second, isAgain } = placeOnDay(zone, dayNear(zone, day), ms);
  const year = dateOfDay(day).year;
  const isOther = year !== dateOfDay(dayOfInstant(zone, now)).year;
  return `${dayLabel(day)}${isOther ? ` ${year}` : ''} ${clockText(second)}${isAgain ? ' (again)' : ''}`;
}

let last: { readonly zone: Zone; readonly day: number; readonly local: LocalDay } | null = null;

/** Marks come in the order of time, so the day is usually that of the mark before. */
function dayNear(zone: Zone, day: number): LocalDay {
  if (last === null || last.zone !== zone || last.day !== day)
    last = { zone, day, local: localDay(zone, day) };
  return last.local;
}

/** `14:30 in New York`: without the day where it is today's. */
function clockIn(zone: Zone, ms: number, now: number): string {
  const isToday = dayOfInstant(zone, ms) === dayOfInstant(zone, now);
  const text = zoneTime(zone, ms, now);
  return `${isToday ? text.split(' ').slice(3).join(' ') : text} ${zone.name === 'UTC' ? 'UTC' : `in ${placeOf(zone.name)}`}`;
}

/** The same instant in the schedule's zone, in UTC, and in the reader's zone, each once. */
export function inZones(ms: number, now: number, ...zones: readonly string[]): string {
  return placesOf(ms, now, ...zones).join(' · ');
}

/** The same as a list. */
export function placesOf(ms: number, now: number, ...zones: readonly string[]): string[] {
  const names = new Set(zones.map(name => findZoneOrUtc(name).name));
  return [...names].map(name => clockIn(findZoneOrUtc(name), ms, now));
}

/** When the next run may start; null: there is none to come. What is skipped makes none. */
export function nextStart(
  definition: Parameters<typeof startOf>[0] & { readonly cursor: Date },
  schedule: CompiledSchedule | null,
  exceptions: readonly Exception[],
  next: Date,
): number | null {
  if (schedule === null || exceptions.length === 0) return startOf(definition, schedule, next.getTime());
  const run = nextRun(schedule, exceptions, definition.cursor.getTime());
  if (run === null) return null;
  return run.startsAt === run.at ? startOf(definition, schedule, run.at) : run.startsAt;
}

/** When the run of an occurrence may start: after its jitter, and once its window is open. */
export function startOf(
  definition: Pick<DefinitionColumns, 'name' | 'jitter_ms' | 'active_window' | 'timezone' | 'outside_window'>,
  schedule: CompiledSchedule | null,
  at: number,
): number {
  const next = schedule?.next(at) ?? null;
  const gap = next === null ? Number.POSITIVE_INFINITY : next - at;
  const jitter = jitterMs(definition.name, definition.jitter_ms, gap);
  const window = schedule === null ? null : windowOf(definition);
  if (window !== null && definition.outside_window === 'skip' && !window.isOpen(at)) return at + jitter;
  return startIn(window, at, jitter);
}
