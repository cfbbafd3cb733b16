// The zone data of a process: replaced, learned from others, and what follows from them.
import { afterEach, describe, expect, it } from 'vitest';
import { instantsOfCivil, type Mapping } from '../../../../src/model/schedule/civil.js';
import { compileSchedule } from '../../../../src/model/schedule/compile.js';
import { movedInstant } from '../../../../src/model/schedule/zone/moved-instant.js';
import {
  differences,
  offsetIn,
  offsetTableOf,
  yearIn,
} from '../../../../src/model/schedule/zone/offset-table.js';
import { findZone } from '../../../../src/model/schedule/zone/zone.js';
import { learnZone, ownZoneYear, setZoneData } from '../../../../src/model/schedule/zone/zone-data.js';
import { type Release, releaseData } from '../../../support/tz-releases.js';

afterEach(() => setZoneData(null));
const AMMAN = 'Asia/Amman';
const second = (text: string) => Date.parse(text) / 1000;
const tableOf = (release: Release, zone = AMMAN) =>
  offsetTableOf(year => releaseData(release).yearOf(zone, year), Date.parse('2022-10-12T00:00:00Z'));
const hourOf = (zone: string, at: string) => findZone(zone).segmentAt(second(at)).offset / 3600;

describe('the zone data of a process', () => {
  it('may be replaced, also for schedules that are compiled already', () => {
    setZoneData(releaseData('2022c'));
    const { next } = compileSchedule({ at: '2022-11-12T08:00', timezone: AMMAN });
    const daily = compileSchedule({ cron: '0 8 * * *', timezone: AMMAN });
    const from = Date.parse('2022-11-12T00:00:00Z');
    expect([next(from), daily.next(from)]).toEqual([from + 6 * 3_600_000, from + 6 * 3_600_000]);
    setZoneData(releaseData('2022e'));
    expect([next(from), daily.next(from)]).toEqual([from + 5 * 3_600_000, from + 5 * 3_600_000]);
  });

  it('learns newer offsets of a zone, and no older ones', () => {
    setZoneData(releaseData('2022c'));
    learnZone(AMMAN, '2022e', tableOf('2022e'));
    expect(hourOf(AMMAN, '2022-11-12T00:00:00Z')).toBe(3);
    learnZone(AMMAN, '2022c', tableOf('2022c'));
    expect(hourOf(AMMAN, '2022-11-12T00:00:00Z')).toBe(3);
    expect(hourOf('Asia/Damascus', '2022-11-12T00:00:00Z')).toBe(2);
    // Before the years of the table its own data hold.
    expect(hourOf(AMMAN, '2019-11-12T00:00:00Z')).toBe(2);
  });

  it('gives way to older offsets that stored times are computed by, until these are renewed', () => {
    setZoneData(releaseData('2022e'));
    learnZone(AMMAN, '2022c', tableOf('2022c'));
    expect(hourOf(AMMAN, '2022-11-12T00:00:00Z')).toBe(2);
    learnZone(AMMAN, '2022e', tableOf('2022e'));
    expect(hourOf(AMMAN, '2022-11-12T00:00:00Z')).toBe(3);
  });

  it('reads the releases as Intl has the last of them', () => {
    for (const zone of ['Europe/Berlin', 'America/New_York', 'Africa/Casablanca', 'Australia/Lord_Howe'])
      for (const year of [2021, 2024])
        expect(releaseData('2025b').yearOf(zone, year), `${zone} ${year}`).toEqual(ownZoneYear(zone, year));
  });
});

describe('a table of offsets', () => {
  it('has the changes of each of its years, and nothing beyond', () => {
    const table = tableOf('2022c');
    for (const year of [2021, 2022, 2046])
      expect(yearIn(table, year)).toEqual(releaseData('2022c').yearOf(AMMAN, year));
    expect([yearIn(table, 2020), yearIn(table, 2047), offsetIn(table, 0)]).toEqual([null, null, null]);
  });

  it('differs from another in spans', () => {
    expect(differences(tableOf('2022c'), tableOf('2022c'))).toEqual([]);
    expect(differences(tableOf('2022c'), tableOf('2022e'))[0]).toEqual({
      from: second('2022-10-27T22:00:00Z'),
      to: second('2023-02-23T22:00:00Z'),
    });
  });
});

it.each<[string, string, Mapping, string[]]>([
  ['a time', '2026-05-01T02:30Z', 'once', ['2026-05-01T00:30Z']],
  ['a gap', '2026-03-29T02:30Z', 'once', ['2026-03-29T01:30Z']],
  ['a gap', '2026-03-29T02:30Z', 'skip', []],
  ['a gap', '2026-03-29T02:30Z', 'literal', []],
  ['an overlap', '2026-10-25T02:30Z', 'once', ['2026-10-25T00:30Z']],
  ['an overlap', '2026-10-25T02:30Z', 'literal', ['2026-10-25T00:30Z', '2026-10-25T01:30Z']],
])('gives %s, %s, by %s the instants that a daily schedule has', (_what, civil, mapping, instants) => {
  const zone = findZone('Europe/Berlin');
  expect(instantsOfCivil(zone, second(civil), mapping)).toEqual(instants.map(second));
});

it('moves an instant to the one that has its local time now', () => {
  const old = tableOf('2022c');
  setZoneData(releaseData('2022e'));
  const zone = findZone(AMMAN);
  const moved = (at: string) => new Date(movedInstant(Date.parse(at), old, zone)).toISOString();
  expect(moved('2022-11-12T06:00:00.500Z')).toBe('2022-11-12T05:00:00.500Z');
  expect(moved('2022-07-12T06:00:00Z')).toBe('2022-07-12T06:00:00.000Z');
  expect(moved('2012-11-12T06:00:00Z')).toBe('2012-11-12T06:00:00.000Z');
});
