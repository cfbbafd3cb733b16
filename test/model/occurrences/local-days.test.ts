// Model: local days, of 23, 24 and 25 hours and of others.
import { describe, expect, it } from 'vitest';
import {
  type ClockChange,
  hoursOfDay,
  localDay,
  placeOnDay,
} from '../../../src/model/occurrences/local-days.js';
import { readDate } from '../../../src/model/schedule/calendar.js';
import { findZone } from '../../../src/model/schedule/zone/zone.js';

const HOUR = 3600;
const dayOf = (zone: string, date: string) => localDay(findZone(zone), readDate(date) ?? 0);
const length = ({ start, end }: { start: number; end: number }) => (end - start) / 3_600_000;
const change = (kind: ClockChange['kind'], from: number, to: number) => ({
  kind,
  from: from * HOUR,
  to: to * HOUR,
});

describe('a day', () => {
  it.each([
    ['UTC', '2026-03-29', 24, []],
    ['Europe/Berlin', '2026-03-28', 24, []],
    ['Europe/Berlin', '2026-03-29', 23, [change('skipped', 2, 3)]],
    ['Europe/Berlin', '2026-10-25', 25, [change('repeated', 2, 3)]],
    ['America/New_York', '2027-03-14', 23, [change('skipped', 2, 3)]],
    ['America/New_York', '2026-11-01', 25, [change('repeated', 1, 2)]],
    ['Australia/Lord_Howe', '2026-10-04', 23.5, [change('skipped', 2, 2.5)]],
    ['Australia/Lord_Howe', '2026-04-05', 24.5, [change('repeated', 1.5, 2)]],
    // Midnight itself does not exist, or comes twice.
    ['Asia/Beirut', '2026-03-29', 23, [change('skipped', 0, 1)]],
    ['America/Havana', '2026-11-01', 25, [change('repeated', 0, 1)]],
    ['Pacific/Apia', '2011-12-30', 0, []],
  ])('in %s, %s has %s hours', (zone, date, hours, changes) => {
    const day = dayOf(zone, date);
    expect(length(day)).toBe(hours);
    expect(day.changes.map(({ kind, from, to }) => ({ kind, from, to }))).toEqual(changes);
  });

  it('begins where the one before ends, through a year of changes', () => {
    for (const zone of ['America/New_York', 'Australia/Lord_Howe', 'Africa/Casablanca', 'Asia/Beirut']) {
      const first = readDate('2026-01-01') ?? 0;
      for (let day = first; day < first + 365; day++)
        expect(localDay(findZone(zone), day).end).toBe(localDay(findZone(zone), day + 1).start);
    }
  });
});

describe('the place of an instant', () => {
  const place = (zone: string, date: string, instant: string) =>
    placeOnDay(findZone(zone), dayOf(zone, date), Date.parse(instant));

  it('is that of the clock, and tells the second pass from the first', () => {
    const night = (instant: string) => place('America/New_York', '2026-11-01', instant);
    expect(night('2026-11-01T05:30:00Z')).toEqual({ second: 1.5 * HOUR, isAgain: false });
    expect(night('2026-11-01T06:30:00Z')).toEqual({ second: 1.5 * HOUR, isAgain: true });
    expect(night('2026-11-01T07:30:00Z')).toEqual({ second: 2.5 * HOUR, isAgain: false });
  });

  it('is that of the clock after a gap', () => {
    expect(place('Australia/Lord_Howe', '2026-10-04', '2026-10-03T15:30:00Z')).toEqual({
      second: 2.5 * HOUR,
      isAgain: false,
    });
    expect(place('Australia/Lord_Howe', '2026-04-05', '2026-04-04T15:15:00Z')).toEqual({
      second: 1.75 * HOUR,
      isAgain: true,
    });
  });
});

describe('the hours of a day', () => {
  const hours = (zone: string, date: string) => {
    const day = dayOf(zone, date);
    return hoursOfDay(findZone(zone), day);
  };

  it('are all of it, one after another, each as long as it is', () => {
    for (const [zone, date] of [
      ['UTC', '2026-03-29'],
      ['Europe/Berlin', '2026-03-29'],
      ['Europe/Berlin', '2026-10-25'],
      ['Australia/Lord_Howe', '2026-10-04'],
      ['Australia/Lord_Howe', '2026-04-05'],
      ['Asia/Kathmandu', '2026-03-01'],
    ] as const) {
      const day = dayOf(zone, date);
      const all = hours(zone, date);
      expect(all[0]?.start).toBe(day.start);
      expect(all.at(-1)?.end).toBe(day.end);
      all.slice(1).forEach((hour, index) => expect(hour.start).toBe(all[index]?.end));
    }
  });

  it('leave out what does not exist, and have what comes twice twice', () => {
    const text = (zone: string, date: string) =>
      hours(zone, date).map(
        ({ from, to, isAgain }) => `${from / HOUR}-${to / HOUR}${isAgain ? ' again' : ''}`,
      );
    expect(text('Europe/Berlin', '2026-03-29').slice(0, 4)).toEqual(['0-1', '1-2', '3-4', '4-5']);
    expect(text('Europe/Berlin', '2026-10-25').slice(1, 5)).toEqual(['1-2', '2-3', '2-3 again', '3-4']);
    expect(text('Australia/Lord_Howe', '2026-10-04').slice(1, 4)).toEqual(['1-2', '2.5-3', '3-4']);
    expect(text('Australia/Lord_Howe', '2026-04-05').slice(1, 4)).toEqual(['1-2', '1.5-2 again', '2-3']);
  });
});
