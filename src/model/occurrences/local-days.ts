// Local days of a zone as a calendar draws them: of 23, 24 or 25 hours, or of any other length.
import { firstInstant } from '../explain/day.js';
import { placeOfInstant } from '../explain/local-clock.js';
import { DAY_SECONDS } from '../schedule/calendar.js';
import type { Zone } from '../schedule/zone/zone.js';

/** A span of local time that the clocks skip, or show twice. Seconds since the day's midnight. */
export interface ClockChange {
  readonly kind: 'skipped' | 'repeated';
  readonly from: number;
  readonly to: number;
  /** The instant of the change, epoch milliseconds. */
  readonly at: number;
}

/** A local day. Instants in epoch milliseconds. */
export interface LocalDay {
  /** Days since 1970-01-01. */
  readonly day: number;
  /** Inclusive. */
  readonly start: number;
  /** Exclusive. Equal to `start` for a date that the zone skipped. */
  readonly end: number;
  readonly changes: readonly ClockChange[];
}

/** Where an instant stands on the face of its day. */
export interface ClockPlace {
  /** Seconds since the day's midnight by the local clock: 0 to 86,399. */
  readonly second: number;
  /** Whether it is the second pass of a local time that comes twice. */
  readonly isAgain: boolean;
}

export function localDay(zone: Zone, day: number): LocalDay {
  const midnight = day * DAY_SECONDS;
  const start = firstInstant(zone, midnight);
  const end = firstInstant(zone, midnight + DAY_SECONDS);
  const changes: ClockChange[] = [];
  const clamp = (civil: number) => Math.min(Math.max(civil - midnight, 0), DAY_SECONDS);
  for (let segment = zone.segmentAt(start); segment.start < end; segment = zone.segmentAt(segment.end)) {
    const { start: at, offset, before } = segment;
    if (at >= start && offset !== before) {
      const kind = offset > before ? 'skipped' : 'repeated';
      const [from, to] = [clamp(at + Math.min(offset, before)), clamp(at + Math.max(offset, before))];
      if (from < to) changes.push({ kind, from, to, at: at * 1000 });
    }
    if (segment.end >= end) break;
  }
  return { day, start: start * 1000, end: end * 1000, changes };
}

export function localDays(zone: Zone, firstDay: number, count: number): LocalDay[] {
  return Array.from({ length: count }, (_, index) => localDay(zone, firstDay + index));
}

/** The day on which an instant falls, by the zone's clock. @param ms epoch milliseconds */
export function dayOfInstant(zone: Zone, ms: number): number {
  const second = Math.floor(ms / 1000);
  return Math.floor((second + zone.segmentAt(second).offset) / DAY_SECONDS);
}

/** @param ms epoch milliseconds, on this day */
export function placeOnDay(zone: Zone, { day }: LocalDay, ms: number): ClockPlace {
  const at = Math.floor(ms / 1000);
  const { civil, passes } = placeOfInstant(zone, at);
  const second = Math.min(Math.max(civil - day * DAY_SECONDS, 0), DAY_SECONDS - 1);
  return { second, isAgain: passes !== null && at === passes[1] };
}

/** An hour of a local day, or what is left of it. Instants in epoch milliseconds. */
export interface LocalHour {
  readonly start: number;
  readonly end: number;
  /** Seconds since the day's midnight, by the clock. */
  readonly from: number;
  readonly to: number;
  readonly isAgain: boolean;
}

/** The hours of a day as they pass: a repeated one is there twice, a skipped one is not. */
export function hoursOfDay(zone: Zone, day: LocalDay): LocalHour[] {
  const hours: LocalHour[] = [];
  for (let start = day.start; start < day.end; ) {
    const second = start / 1000;
    const segment = zone.segmentAt(second);
    const from = second + segment.offset - day.day * DAY_SECONDS;
    const to = (Math.floor(from / 3600) + 1) * 3600;
    const end = Math.min((second + to - from) * 1000, segment.end * 1000, day.end);
    const { isAgain } = placeOnDay(zone, day, start);
    hours.push({ start, end, from, to: from + (end - start) / 1000, isAgain });
    start = end;
  }
  return hours;
}
