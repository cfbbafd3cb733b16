import { describe, expect, it } from 'vitest';
import { compileSchedule } from '../../../src/model/schedule/compile.js';
import { occurrencesBetween } from '../../../src/model/schedule/occurrences.js';
import type { Dst } from '../../../src/model/schedule/spec.js';
import { changes, clockOf } from './oracle.js';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

function list(cron: string, timezone: string, from: string, to: string, dst: Dst = 'once'): string[] {
  const found = occurrencesBetween({ cron, timezone, dst }, new Date(from), new Date(to));
  return found.map(each => each.toISOString().replace(':00.000Z', 'Z'));
}

describe('gaps and overlaps of odd sizes', () => {
  it('repeats half an hour in Lord Howe, and gives 01:45 once', () => {
    // 2026-04-05 02:00 becomes 01:30; 11 hours ahead of UTC, then 10:30.
    const window = ['2026-04-04T12:00Z', '2026-04-05T12:00Z'] as const;
    expect(list('45 1 * * *', 'Australia/Lord_Howe', ...window)).toEqual(['2026-04-04T14:45Z']);
    expect(list('45 1 * * *', 'Australia/Lord_Howe', ...window, 'literal')).toEqual([
      '2026-04-04T14:45Z',
      '2026-04-04T15:15Z',
    ]);
    expect(list('0 1 * * *', 'Australia/Lord_Howe', ...window, 'literal')).toEqual(['2026-04-04T14:00Z']);
  });

  it('skips two hours in Troll, and shifts both into the summer', () => {
    const window = ['2026-03-29T00:00Z', '2026-03-29T06:00Z'] as const;
    expect(list('30 1,2 * * *', 'Antarctica/Troll', ...window)).toEqual([
      '2026-03-29T01:30Z',
      '2026-03-29T02:30Z',
    ]);
    expect(list('30 1,2 * * *', 'Antarctica/Troll', ...window, 'skip')).toEqual([]);
  });

  it('gives the lost day of Apia once, on the day after', () => {
    const window = ['2011-12-29T00:00Z', '2012-01-02T00:00Z'] as const;
    // The 30th is shifted onto the 31st, where it meets the 31st's own.
    expect(list('0 9 * * *', 'Pacific/Apia', ...window)).toEqual([
      '2011-12-29T19:00Z',
      '2011-12-30T19:00Z',
      '2011-12-31T19:00Z',
      '2012-01-01T19:00Z',
    ]);
    expect(list('0 9 30 * *', 'Pacific/Apia', ...window)).toEqual(['2011-12-30T19:00Z']);
    expect(list('0 9 30 * *', 'Pacific/Apia', ...window, 'skip')).toEqual([]);
  });

  it('finds the lost day of Kiritimati from years later, shifted into the new year', () => {
    // 1994-12-31, a Saturday, was skipped. The days named are the 1st and 31st of December that are Saturdays.
    const { previous } = compileSchedule({ cron: '0 18 */30 12 6', timezone: 'Pacific/Kiritimati' });
    for (const year of [1996, 1995])
      expect(previous(Date.UTC(year, 5, 1))).toBe(Date.parse('1995-01-01T04:00Z'));
  });

  it('gives midnight in Havana once, and shifts the skipped one', () => {
    expect(list('0 0 * * *', 'America/Havana', '2026-11-01T00:00Z', '2026-11-02T00:00Z')).toEqual([
      '2026-11-01T04:00Z',
    ]);
    expect(list('0 0 * * *', 'America/Havana', '2026-03-08T00:00Z', '2026-03-09T00:00Z')).toEqual([
      '2026-03-08T05:00Z',
    ]);
    expect(list('0 0 * * *', 'America/Havana', '2026-03-08T00:00Z', '2026-03-09T00:00Z', 'skip')).toEqual([]);
  });

  it('handles the change at 00:01 in St Johns in 2006 going forwards', () => {
    const window = ['2006-10-28T12:00Z', '2006-10-30T12:00Z'] as const;
    // 2006-10-29 00:01 at -2:30 becomes 2006-10-28 23:01 at -3:30: 23:01 to 00:01 come twice.
    expect(list('30 23 * * *', 'America/St_Johns', ...window)).toEqual([
      '2006-10-29T02:00Z',
      '2006-10-30T03:00Z',
    ]);
    expect(list('0 0 * * *', 'America/St_Johns', ...window)).toEqual([
      '2006-10-29T02:30Z',
      '2006-10-30T03:30Z',
    ]);
    expect(list('0 0 * * *', 'America/St_Johns', ...window, 'literal')).toHaveLength(3);
    expect(list('30 0 2 4 *', 'America/St_Johns', '2006-04-02T00:00Z', '2006-04-03T00:00Z')).toEqual([
      '2006-04-02T04:00Z',
    ]);
  });

  it('follows changes other than summer time: Caracas and Pyongyang', () => {
    // Caracas went from -4 to -4:30 on 2007-12-09, and back at 02:30 on 2016-05-01.
    expect(list('45 2 * * *', 'America/Caracas', '2007-12-08T12:00Z', '2007-12-10T12:00Z')).toEqual([
      '2007-12-09T06:45Z',
      '2007-12-10T07:15Z',
    ]);
    expect(list('45 2 * * *', 'America/Caracas', '2016-04-30T12:00Z', '2016-05-02T12:00Z')).toEqual([
      '2016-05-01T07:15Z',
      '2016-05-02T06:45Z',
    ]);
    // Pyongyang went from +9 to +8:30 on 2015-08-15, and back at 23:30 on 2018-05-04.
    expect(list('45 23 * * *', 'Asia/Pyongyang', '2015-08-14T00:00Z', '2015-08-15T18:00Z')).toEqual([
      '2015-08-14T14:45Z',
      '2015-08-15T15:15Z',
    ]);
    expect(list('45 23 * * *', 'Asia/Pyongyang', '2018-05-04T00:00Z', '2018-05-05T18:00Z')).toEqual([
      '2018-05-04T15:15Z',
      '2018-05-05T14:45Z',
    ]);
  });

  it('finds both changes of Casablanca around Ramadan', () => {
    const noons = list('0 12 * * *', 'Africa/Casablanca', '2026-02-10T00:00Z', '2026-03-30T00:00Z');
    const hours = noons.map(each => each.slice(11, 13));
    expect([...new Set(hours)]).toEqual(['11', '12']);
    expect(hours.indexOf('12')).toBeGreaterThan(0);
    expect(hours.lastIndexOf('12')).toBeLessThan(hours.length - 1);
  });

  it('finds the two changes of Gaza in 2040 that are less than seven days apart', () => {
    const days = changes('Asia/Gaza', 2040);
    expect(Math.min(...days.slice(1).map((day, index) => day - (days[index] ?? 0)))).toBeLessThanOrEqual(
      7 * DAY,
    );
    const clock = clockOf('Asia/Gaza');
    const { next } = compileSchedule({ cron: '0 12 * * *', timezone: 'Asia/Gaza' });
    let at = next(Date.UTC(2040, 0, 1));
    let count = 0;
    for (; at !== null && at < Date.UTC(2041, 0, 1); at = next(at), count++) {
      expect(new Date(clock(at)).getUTCHours()).toBe(12);
    }
    expect(count).toBe(366);
  });

  it('handles quarter hours: Kathmandu and Chatham', () => {
    expect(list('0 0 * * *', 'Asia/Kathmandu', '2026-01-01T00:00Z', '2026-01-02T00:00Z')).toEqual([
      '2026-01-01T18:15Z',
    ]);
    expect(list('7 0 1 1 *', 'Asia/Kathmandu', '1985-12-31T00:00Z', '1986-01-02T00:00Z')).toEqual([
      '1985-12-31T18:37Z',
    ]);
    // Chatham springs from 02:45 to 03:45 on 2026-09-27.
    expect(list('50 2 * * *', 'Pacific/Chatham', '2026-09-26T00:00Z', '2026-09-28T00:00Z')).toEqual([
      '2026-09-26T14:05Z',
      '2026-09-27T13:05Z',
    ]);
  });

  it('keeps whole seconds where an offset has seconds: Monrovia in 1971', () => {
    expect(
      occurrencesBetween(
        { cron: '0 12 * * *', timezone: 'Africa/Monrovia' },
        new Date('1971-06-01T00:00Z'),
        new Date('1971-06-02T00:00Z'),
      ).map(each => each.toISOString()),
    ).toEqual(['1971-06-01T12:44:30.000Z']);
  });

  it('merges a shifted time with an occurrence at the same instant', () => {
    const { next, previous } = compileSchedule({ cron: '30 2,3 * * *', timezone: 'America/New_York' });
    const meeting = Date.parse('2026-03-08T07:30Z');
    expect(next(meeting - 1)).toBe(meeting);
    expect(next(meeting)).toBe(Date.parse('2026-03-09T06:30Z'));
    expect(previous(meeting + 1)).toBe(meeting);
    expect(previous(meeting)).toBe(Date.parse('2026-03-07T08:30Z'));
  });
});

describe('29 February', () => {
  const leapYears = [
    2028, 2032, 2036, 2040, 2044, 2048, 2052, 2056, 2060, 2064, 2068, 2072, 2076, 2080, 2084, 2088, 2092,
    2096, 2104,
  ];

  for (const timezone of ['UTC', 'America/New_York', 'Pacific/Auckland']) {
    it(`comes every four years to 2104, but not in 2100, in ${timezone}`, () => {
      const { next, previous } = compileSchedule({ cron: '0 12 29 2 *', timezone });
      const clock = clockOf(timezone);
      const years: number[] = [];
      let at = next(Date.UTC(2026, 0, 1));
      for (; at !== null && at < Date.UTC(2105, 0, 1); at = next(at)) {
        expect(new Date(clock(at)).toISOString().slice(4, 16)).toBe('-02-29T12:00');
        years.push(new Date(at).getUTCFullYear());
      }
      expect(years).toEqual(leapYears);
      expect(new Date(previous(Date.UTC(2104, 0, 1)) ?? 0).getUTCFullYear()).toBe(2096);
    });
  }

  it('as the fifth Monday of February comes once in 28 years, or in 40 around 2100', () => {
    const fifth = compileSchedule({ cron: '0 0 * 2 1#5' });
    const years: number[] = [];
    let at = fifth.next(Date.UTC(2026, 0, 1));
    for (; at !== null; at = fifth.next(at)) years.push(new Date(at).getUTCFullYear());
    expect(years).toEqual([2044, 2072, 2112, 2140, 2168, 2196]);
  });
});

describe('the calendar’s bounds', () => {
  it('are 1900 and 2200', () => {
    const { next, previous } = compileSchedule({ cron: '0 0 * * *' });
    expect(next(Date.UTC(2200, 11, 30))).toBe(Date.UTC(2200, 11, 31));
    expect(next(Date.UTC(2200, 11, 31))).toBeNull();
    expect(next(Number.POSITIVE_INFINITY)).toBeNull();
    expect(next(Number.NEGATIVE_INFINITY)).toBe(Date.UTC(1900, 0, 1));
    expect(previous(Date.UTC(1900, 0, 1))).toBeNull();
    expect(previous(Number.POSITIVE_INFINITY)).toBe(Date.UTC(2200, 11, 31));
  });

  it('give whole seconds, whatever the fraction asked about', () => {
    const { next, previous } = compileSchedule({ cron: '* * * * * *' });
    expect(next(999.5)).toBe(1000);
    expect(next(1000)).toBe(2000);
    expect(previous(1000.5)).toBe(1000);
    expect(previous(1000)).toBe(0);
    expect(next(-1500)).toBe(-1000);
    expect(previous(-1500)).toBe(-2000);
  });
});

describe('the cache', () => {
  const ZONES = [
    'America/New_York',
    'Europe/London',
    'Australia/Lord_Howe',
    'Africa/Casablanca',
    'America/Havana',
    'Antarctica/Troll',
  ];
  const CRONS = ['30 1 * * *', '30 2 * * *', '*/20 0-3 * * *', '0 */2 * * *', '15 * * * *'];

  it('does not affect the answer, around every change of 2026', { tags: 'check' }, () => {
    let changesSeen = 0;
    // Collected: an assertion for each of 144,000 answers takes seconds.
    const wrong: string[] = [];
    for (const timezone of ZONES) {
      for (const day of changes(timezone, 2026)) {
        changesSeen++;
        for (const cron of CRONS) {
          for (const dst of ['once', 'skip', 'literal'] as const) {
            const { next, previous } = compileSchedule({ cron, timezone, dst });
            const [from, to] = [day - DAY, day + 2 * DAY];
            const walked: number[] = [];
            for (let at = next(from - 1); at !== null && at < to; at = next(at)) walked.push(at);
            // Every seventh minute and second besides, in no order: far, near, backwards.
            for (let step = 0; step < 400; step++) {
              const probe = from + ((step * 7919 * 997 * 1000) % (to - from - DAY));
              const after = walked.find(each => each > probe) ?? next(to - 1);
              const before = walked.findLast(each => each < probe) ?? previous(from);
              if (next(probe) !== after || previous(probe) !== before)
                wrong.push(`${cron} ${timezone} ${dst} ${probe}`);
            }
          }
        }
      }
    }
    expect(wrong.slice(0, 5)).toEqual([]);
    // 12 by tzdata 2025c, 13 by 2026c: governments decide late.
    expect(changesSeen).toBeGreaterThanOrEqual(10);
  });
});

describe('different spellings of the same times', () => {
  const PAIRS: readonly (readonly [string, string])[] = [
    ['*/15 2 * * *', '0,15,30,45 2 * * *'],
    ['30 0-23 * * *', '30 * * * *'],
    ['30 */1 * * *', '30 * * * *'],
    ['30 0-11,12-23 * * *', '30 * * * *'],
    ['0 */2 * * *', '0 0,2,4,6,8,10,12,14,16,18,20,22 * * *'],
    ['30 2 * * 0', '30 2 * * 7'],
    ['30 2 * * SUN', '30 2 * * 0,7'],
    ['0 30 2 * * *', '30 2 * * *'],
    ['5/15 1 * * *', '5,20,35,50 1 * * *'],
    ['30 1,2,2,1-2 * * *', '30 1-2 * * *'],
    ['30 2 * mar,nov *', '30 2 * 3,11 *'],
    ['30 2 * * mon-fri', '30 2 * * 1-5,3'],
    ['@daily', '0 0 * * *'],
    ['@midnight', '0 0 * * *'],
    ['@weekly', '0 0 * * sun'],
    ['@monthly', '0 0 1 * *'],
    ['@yearly', '0 0 1 1 *'],
    ['@annually', '0 0 1 jan *'],
    ['@hourly', '0 * * * *'],
  ];

  for (const [one, other] of PAIRS) {
    it(`${one} and ${other} give the same instants`, () => {
      let count = 0;
      for (const timezone of ['America/New_York', 'Australia/Lord_Howe', 'Pacific/Apia']) {
        for (const dst of ['once', 'skip', 'literal'] as const) {
          const window = [new Date('2026-01-01T00:00Z'), new Date('2027-01-02T00:00Z')] as const;
          const a = occurrencesBetween({ cron: one, timezone, dst }, ...window);
          expect(a).toEqual(occurrencesBetween({ cron: other, timezone, dst }, ...window));
          count += a.length;
        }
      }
      expect(count).toBeGreaterThan(0);
    });
  }

  it('an hour field of all 24 hours is continuous through a gap and an overlap', () => {
    for (const cron of ['*/30 * * * *', '*/30 0-23 * * *']) {
      for (const dst of ['once', 'skip', 'literal'] as const) {
        for (const day of ['2026-03-08', '2026-11-01']) {
          const found = list(cron, 'America/New_York', `${day}T04:00Z`, `${day}T10:00Z`, dst);
          expect(found).toHaveLength(12);
        }
      }
    }
  });
});
