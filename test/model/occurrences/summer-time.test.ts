// Model: what the next change of the clocks does to a schedule, in a sentence.
import { describe, expect, it } from 'vitest';
import { openTimetable } from '../../../src/model/explain/instant.js';
import { localDay } from '../../../src/model/occurrences/local-days.js';
import { nextChanges, summerTimeSentences } from '../../../src/model/occurrences/summer-time.js';
import { occurrencesBetween } from '../../../src/model/schedule/occurrences.js';
import type { ScheduleSpec } from '../../../src/model/schedule/spec.js';
import { findZone } from '../../../src/model/schedule/zone/zone.js';

const SPRING = Date.parse('2027-02-01T00:00:00Z');
const AUTUMN = Date.parse('2026-09-20T00:00:00Z');
const said = (spec: ScheduleSpec, now = SPRING) => summerTimeSentences(openTimetable(spec, 'it'), now);
const newYork = (cron: string, dst: ScheduleSpec['dst'] = 'once'): ScheduleSpec => ({
  cron,
  dst,
  timezone: 'America/New_York',
});

describe('the sentence', () => {
  it('tells of the time that does not exist', () => {
    expect(said(newYork('30 2 * * *'))).toEqual([
      'On 14 March 2027, when 02:30 does not exist, it runs at 03:30.',
    ]);
    expect(said(newYork('30 2 * * *', 'skip'))[0]).toBe(
      'On 14 March 2027, when 02:30 does not exist, it does not run then.',
    );
  });

  it('tells of the time that comes twice', () => {
    expect(said(newYork('30 1 * * *'), AUTUMN)).toEqual([
      'On 1 November 2026, when 01:30 comes twice, it runs once, the first time.',
    ]);
    expect(said(newYork('30 1 * * *', 'literal'), AUTUMN)).toEqual([
      'On 1 November 2026, when 01:30 comes twice, it runs both times.',
    ]);
  });

  it('tells how many there are', () => {
    expect(said(newYork('*/15 2 * * *'))[0]).toBe(
      'On 14 March 2027, when 02:00 and 3 more times do not exist, it runs from 03:00 on.',
    );
  });

  it('tells of the next change that matters, though another one comes before it', () => {
    expect(said(newYork('30 1 * * *'), SPRING)[0]).toMatch(/^On 7 November 2027/);
  });

  it('tells that nothing changes, or that real time goes on', () => {
    expect(said(newYork('0 12 * * *'))).toEqual([
      'On 14 March 2027, when 02:00 to 03:00 does not exist, nothing changes for it.',
    ]);
    expect(said(newYork('*/5 * * * *'))[0]).toMatch(/goes on in real time: no occurrence is lost/);
    expect(said(newYork('*/5 * * * *'), AUTUMN)[0]).toMatch(/comes twice, it goes on in real time/);
  });

  it('is that of half an hour in Lord Howe', () => {
    const spec: ScheduleSpec = { cron: '15 2 * * *', timezone: 'Australia/Lord_Howe' };
    expect(said(spec, Date.parse('2026-09-20T00:00:00Z'))[0]).toBe(
      'On 4 October 2026, when 02:15 does not exist, it runs at 02:45.',
    );
  });

  it('is missing where there are no changes, or no local times', () => {
    expect(said({ cron: '30 2 * * *' })).toEqual([]);
    expect(said({ every: '1h', timezone: 'America/New_York' })).toEqual([]);
    expect(said({ cron: '30 2 * * *', timezone: 'Asia/Tokyo' })).toEqual([]);
  });
});

describe('the effect', () => {
  const ZONES = ['America/New_York', 'Europe/Berlin', 'Australia/Lord_Howe', 'America/Havana', 'Asia/Beirut'];
  const CRONS = ['30 2 * * *', '15 2 * * *', '45 1 * * *', '30 0 * * *', '0 12 * * *'];

  it.each(ZONES)('is what the schedule does on the day of the change: %s', timezone => {
    const seen = new Set<string>();
    for (const cron of CRONS)
      for (const dst of ['once', 'skip', 'literal'] as const) {
        const spec = { cron, dst, timezone };
        for (const { effect, first, from } of nextChanges(openTimetable(spec, 'it'), AUTUMN)) {
          const { start, end } = localDay(findZone(timezone), Math.floor((first ?? from) / 86_400));
          const found = occurrencesBetween(spec, new Date(start), new Date(end));
          const times = { none: 1, shifted: 1, 'left-out': 0, once: 1, twice: 2, continuous: -1 };
          expect([cron, dst, effect, found.length]).toEqual([cron, dst, effect, times[effect]]);
          seen.add(effect);
        }
      }
    expect(seen.has('none')).toBe(true);
    expect(seen.size).toBeGreaterThan(2);
  });
});
