import { Cron } from 'croner';
import { describe, expect, it } from 'vitest';
import { compileSchedule } from '../../../src/model/schedule/compile.js';
import { readCron } from '../../../src/model/schedule/cron/cron-fields.js';
import { readCronText } from '../../../src/model/schedule/cron/cron-text.js';
import { occurrencesBetween } from '../../../src/model/schedule/occurrences.js';
import { newSeed } from '../../support/seed.js';
import { makeCron, matches } from './oracle.js';
import { random } from './random.js';

describe('cron’s language', () => {
  /** The fields between midnight and midnight of one day, or the days of a year. */
  function days(cron: string, year = 2026): string[] {
    const found = occurrencesBetween(
      { cron },
      new Date(Date.UTC(year, 0, 1)),
      new Date(Date.UTC(year + 1, 0, 1)),
      'x',
    );
    return [...new Set(found.map(each => each.toISOString().slice(5, 10)))];
  }
  function times(cron: string): string[] {
    const found = occurrencesBetween(
      { cron },
      new Date('2026-06-01T00:00Z'),
      new Date('2026-06-02T00:00Z'),
      'x',
    );
    return found.map(each => each.toISOString().slice(11, 19));
  }

  it('reads seconds first if there are six fields', () => {
    expect(times('15,45 30 2 * * *')).toEqual(['02:30:15', '02:30:45']);
    expect(times('30 2 * * *')).toEqual(['02:30:00']);
  });

  it('reads lists, ranges and steps, overlapping or not', () => {
    expect(times('0 1-5,3 * * *').map(each => each.slice(0, 2))).toEqual(['01', '02', '03', '04', '05']);
    expect(times('50/5 3 * * *')).toEqual(['03:50:00', '03:55:00']);
    expect(times('10-40/15 3 * * *')).toEqual(['03:10:00', '03:25:00', '03:40:00']);
    expect(times('7 */9 * * *')).toEqual(['00:07:00', '09:07:00', '18:07:00']);
    expect(times('*/60 3 * * *')).toEqual(['03:00:00']);
    expect(times('05 003 * * *')).toEqual(['03:05:00']);
    expect(times('*,5 3 * * *')).toHaveLength(60);
    expect(times(' \t5  3 * *\t* ')).toEqual(['03:05:00']);
  });

  it('reads names in any case, alone, in lists and in ranges', () => {
    expect(days('0 0 1 JAN,jul-Sep *')).toEqual(['01-01', '07-01', '08-01', '09-01']);
    expect(days('0 0 1 JUL *')).toEqual(['07-01']);
    expect(days('0 0 * jan mon-Tue')).toEqual(days('0 0 * 1 1,2'));
    expect(days('0 0 * jan THU')).toEqual(['01-01', '01-08', '01-15', '01-22', '01-29']);
  });

  it('takes Sunday as 0, as 7 and as both', () => {
    const sundays = days('0 0 * * 0');
    expect(sundays[0]).toBe('01-04');
    expect(sundays).toHaveLength(52);
    for (const same of ['7', '0,7', 'sun', '*/7', '7-7']) expect(days(`0 0 * * ${same}`)).toEqual(sundays);
    expect(days('0 0 * * 5-7')).toEqual(days('0 0 * * 0,5,6'));
  });

  it('takes L as the last day of the month, or the last such weekday', () => {
    expect(days('0 0 L 1-4 *')).toEqual(['01-31', '02-28', '03-31', '04-30']);
    expect(days('0 0 L 2 *', 2028)).toEqual(['02-29']);
    expect(days('0 0 15,L 2 *')).toEqual(['02-15', '02-28']);
    expect(days('0 0 * 1-3 5L')).toEqual(['01-30', '02-27', '03-27']);
    // In July the last Friday is the last day.
    expect(days('0 0 * 1,7 5L')).toEqual(['01-30', '07-31']);
    expect(days('0 0 * 1-3 friL')).toEqual(['01-30', '02-27', '03-27']);
    expect(days('0 0 * 1 7L')).toEqual(['01-25']);
    expect(days('0 0 * 1 1,5L')).toEqual(['01-05', '01-12', '01-19', '01-26', '01-30']);
  });

  it('takes # as the nth weekday of the month', () => {
    expect(days('0 0 * 1-3 1#1')).toEqual(['01-05', '02-02', '03-02']);
    expect(days('0 0 * * mon#5')).toEqual(['03-30', '06-29', '08-31', '11-30']);
    expect(days('0 0 * 1 7#1')).toEqual(['01-04']);
  });

  it('ors the days only if neither begins with a star', () => {
    expect(days('0 0 13 1 fri')).toEqual(['01-02', '01-09', '01-13', '01-16', '01-23', '01-30']);
    // AND: the odd days that are Mondays.
    expect(days('0 0 */2 1 MON')).toEqual(['01-05', '01-19']);
    expect(days('0 0 13 1 */2')).toEqual(['01-13']);
    expect(days('0 0 14 1 */2')).toEqual([]);
    expect(days('0 0 *,5 1 MON')).toEqual(days('0 0 * 1 MON'));
    expect(days('0 0 5,* 1 MON')).toHaveLength(31);
    expect(days('0 0 1-31 1 MON')).toHaveLength(31);
    expect(days('0 0 31 2 MON')).toEqual(days('0 0 * 2 MON'));
  });

  it('keeps a day that only some of the months have', () => {
    expect(days('0 0 31 2,3,4 *')).toEqual(['03-31']);
    expect(days('0 0 29-31 2 *', 2028)).toEqual(['02-29']);
    expect(days('0 0 30,31 4,5 *')).toEqual(['04-30', '05-30', '05-31']);
  });

  it('resolves H by the name, within its bounds, spread over them', { tags: 'check' }, () => {
    const minutes = new Set<number>();
    for (let index = 0; index < 300; index++) {
      const name = `job-${index}`;
      const at = compileSchedule({ cron: 'H H(1-4) * * *' }, name).next(0) ?? 0;
      expect(compileSchedule({ cron: 'H H(1-4) * * *' }, name).next(0)).toBe(at);
      const date = new Date(at);
      minutes.add(date.getUTCMinutes());
      expect(date.getUTCHours()).toBeGreaterThanOrEqual(1);
      expect(date.getUTCHours()).toBeLessThanOrEqual(4);
      // A day that every month has.
      expect(days0(name, '0 0 H * *')).toHaveLength(12);
      expect(days0(name, '0 0 * 1 H').length).toBeGreaterThanOrEqual(4);
      expect(days0(name, '0 0 H/7 2 H/3').length).toBeGreaterThan(0);
    }
    expect(minutes.size).toBeGreaterThan(50);
    const steps = occurrencesBetween({ cron: 'H/15 3 * * *' }, new Date(0), new Date(86_400_000), 'x');
    expect(steps).toHaveLength(4);
    const gaps = steps.slice(1).map((each, index) => each.getTime() - (steps[index]?.getTime() ?? 0));
    expect(gaps).toEqual([900_000, 900_000, 900_000]);
  });

  it('resolves H to a fixed value without a name', () => {
    const fields = readCronText('H * * * *');
    expect(fields.minute.entries).toEqual(['H(0-59)']);
    const plain = compileSchedule({ cron: 'H * * * *' }).next(0);
    // Spelled otherwise, so that no cache can answer.
    for (let spaces = 2; spaces < 30; spaces++) {
      expect(
        compileSchedule({ cron: `H${' '.repeat(spaces)}* * * *` }, spaces % 2 === 0 ? '' : undefined).next(0),
      ).toBe(plain);
    }
  });

  it('caches an expression', () => {
    expect(readCron('17 3 * * *')).toBe(readCron('17 3 * * *', 'a seed that does not matter'));
    expect(readCron('H 3 * * THU', 'a')).toBe(readCron('H 3 * * THU', 'a'));
    expect(readCron('H 3 * * THU', 'a')).not.toBe(readCron('H 3 * * THU', 'b'));
    expect(readCron('0 3 * * THU', 'a')).toBe(readCron('0 3 * * THU', 'b'));
  });

  it('takes the longest expression that is allowed', () => {
    const list = Array.from(
      { length: 200 },
      (_, index) => `${index % 60}/${1 + Math.floor(index / 60)}`,
    ).join(',');
    expect(`${list} 0 * * *`.length).toBeLessThanOrEqual(1024);
    expect(times(`${list} 0 * * *`)).toHaveLength(60);
  });

  function days0(name: string, cron: string): string[] {
    const found = occurrencesBetween(
      { cron },
      new Date('2026-01-01T00:00Z'),
      new Date('2027-01-01T00:00Z'),
      name,
    );
    return found.map(each => each.toISOString().slice(0, 10));
  }
});

describe('the days of an expression', () => {
  const seed = newSeed();

  it(`are those of a scan of every day from 2096 to 2104 (TOCK_TEST_SEED=${seed})`, () => {
    const generator = random(seed);
    let compared = 0;
    for (let count = 0; count < 60; count++) {
      const made = makeCron(generator);
      const [minute, hour] = [Math.min(...made.minutes), Math.min(...made.hours)];
      const cron = [minute, hour, ...made.text.split(' ').slice(2)].join(' ');
      const wanted: number[] = [];
      for (let day = Date.UTC(2096, 0, 1); day < Date.UTC(2105, 0, 1); day += 86_400_000) {
        const civil = day + (hour * 60 + minute) * 60_000;
        if (matches(made, civil)) wanted.push(civil);
      }
      if (wanted.length === 0) continue;
      const found = occurrencesBetween(
        { cron },
        new Date(Date.UTC(2096, 0, 1)),
        new Date(Date.UTC(2105, 0, 1)),
      );
      expect(
        found.map(each => each.getTime()),
        `${cron}, seed ${seed}`,
      ).toEqual(wanted);
      compared += wanted.length;
    }
    expect(compared).toBeGreaterThan(1000);
  });

  it('agree with croner in UTC, where its day rule is the same', () => {
    for (const cron of [
      '0 0 13 * 5',
      '*/7 3 * * 1-5',
      '30 2 L * *',
      '0 12 * 2 1#3',
      '0 0 1 1-12/5 *',
      '15 6 * * 0,6',
    ]) {
      const croner = new Cron(cron, { timezone: 'UTC', paused: true });
      const ours = occurrencesBetween(
        { cron },
        new Date('2026-01-01T00:00Z'),
        new Date('2028-01-01T00:00Z'),
      ).slice(0, 200);
      const theirs = croner.nextRuns(ours.length, new Date('2025-12-31T23:59:59Z'));
      expect(ours.length).toBeGreaterThan(1);
      expect(ours, `cron ${cron}`).toEqual(theirs);
    }
  });
});
