import { Cron } from 'croner';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { compileSchedule } from '../../../src/model/schedule/compile.js';
import { readCron } from '../../../src/model/schedule/cron-fields.js';
import { readCronText } from '../../../src/model/schedule/cron-text.js';
import { occurrencesBetween } from '../../../src/model/schedule/occurrences.js';
import { attempt, refusal } from './attempt.js';
import { makeCron, matches } from './oracle.js';
import { newSeed, random } from './random.js';

/** Each with what its message must say: where it is wrong, and what would be right. */
const REFUSED: readonly (readonly [cron: unknown, ...says: string[]])[] = [
  ['', 'empty', 'five fields'],
  ['   ', 'empty', 'five fields'],
  [null, 'cron is null', "'30 2 * * *'"],
  [5, 'cron is 5', 'write text'],
  [['* * * * *'], 'a list', 'write text'],
  ['*', 'has 1 field;', 'write five'],
  ['* *', 'has 2 fields', 'minute hour day-of-month month weekday'],
  ['* * *', 'has 3 fields', 'write five'],
  ['* * * *', 'has 4 fields', 'write five'],
  ['* * * * * * *', 'has 7 fields', 'six, with seconds first'],
  ['@reboot', '"@reboot" names no time', 'where the process starts'],
  ['@every 5m', '"@every 5m" is not known', 'every'],
  ['@minutely', 'not known', '@hourly'],
  ['@constructor', 'not known', '@daily'],
  ['60 * * * *', 'minute "60"', 'out of range', '0-59'],
  ['* 24 * * *', 'hour "24"', 'out of range', '0-23'],
  ['60 * * * * *', 'second "60"', '0-59'],
  ['* * 0 * *', 'day of month "0"', '1-31'],
  ['* * 32 * *', 'day of month "32"', '1-31'],
  ['* * * 0 *', 'month "0"', '1-12 or jan-dec'],
  ['* * * 13 *', 'month "13"', '1-12 or jan-dec'],
  ['* * * * 8', 'weekday "8"', '0-7 or sun-sat'],
  ['0,15,75 * * * *', 'minute "0,15,75", at "75"', 'out of range'],
  ['*/0 * * * *', 'minute "*/0"', 'step of 0', '1-60'],
  ['*/61 * * * *', 'step of 61', 'option every'],
  ['* */25 * * *', 'hour "*/25"', 'step of 25', '24 values'],
  ['*/ * * * *', 'step that is not a whole number'],
  ['*/x * * * *', 'step that is not a whole number'],
  ['*/5/2 * * * *', 'more than one /'],
  ['1-2-3 * * * *', 'more than one -'],
  ['0 0 * * 1#1.5', 'weekday "1#1.5"', '1-5 after the #'],
  ['0 0 * * 1#6', 'weekday "1#6"', '1-5 after the #'],
  ['0 0 * * 1#0', '1-5 after the #'],
  ['0 0 * * 1#', '1-5 after the #'],
  ['0 0 * * 9#1', 'weekday "9#1"', 'out of range'],
  ['0 0 * * 1#1#2', 'more than one #'],
  ['0 0 * * 1#1,2', 'must stand alone'],
  ['0 0 1#1 * *', 'day of month "1#1"', 'only the weekday'],
  ['-5 * * * *', 'minute "-5"', 'sign'],
  ['+5 * * * *', 'minute "+5"', 'sign'],
  ['1,-5 * * * *', 'at "-5"', 'sign'],
  ['*/-5 * * * *', 'sign'],
  ['0 0 * * 1#-1', 'sign'],
  ['1.5 * * * *', 'minute "1.5"', 'fraction', 'whole numbers'],
  ['*/1.5 * * * *', 'fraction'],
  ['* .5 * * *', 'hour ".5"', 'fraction'],
  ['1e1 * * * *', 'minute "1e1"', 'not understood'],
  ['0x1 * * * *', 'not understood'],
  ['٥ * * * *', 'minute "٥"', 'not understood'],
  ['1,,2 * * * *', 'empty entry', 'comma'],
  [',1 * * * *', 'empty entry'],
  ['1, 2 * * * *', '"1,"', 'empty entry', 'space'],
  ['5-1 * * * *', 'runs backwards', 'write 5-59,0-1'],
  ['* 22-2 * * *', 'hour "22-2"', 'write 22-23,0-2'],
  ['* * * nov-feb *', 'month "nov-feb"', 'write 11-12,1-2'],
  ['* * * * fri-sun', 'weekday "fri-sun"', 'write 5-7'],
  ['* * * * sat-mon', 'write 6-6,0-1'],
  ['1- * * * *', 'not understood'],
  ['/5 * * * *', 'not understood'],
  ['*5 * * * *', 'not understood'],
  ['*-5 * * * *', 'not understood'],
  ['* * ? * *', 'day of month "?"', 'write *'],
  ['0 0 15W * *', 'uses W'],
  ['0 0 LW * *', 'not understood'],
  ['0 0 L-3 * *', 'not understood'],
  ['0 0 5L * *', 'L stands alone here'],
  ['0 0 * * L', 'which weekday', '5L'],
  ['0 0 * L *', 'only days know'],
  ['5L * * * *', 'minute "5L"', 'only days know'],
  ['* * * january *', 'long name', 'write jan'],
  ['* * * * Monday', 'long name', 'write mon'],
  ['* * * mon *', 'month "mon"', 'not understood'],
  ['* * * * jan', 'weekday "jan"', 'not understood'],
  ['mon * * * *', 'minute "mon"', 'not understood'],
  ['H(5 * * * *', 'write H, H(0-59)'],
  ['H(50-70) * * * *', 'bounds of H', '0-59'],
  ['H(9-3) * * * *', 'bounds of H'],
  ['H/0 * * * *', 'step of 0'],
  ['HH * * * *', 'write H'],
  ['h * * * *', 'not understood'],
  ['0 0 * * H(0-7)', 'bounds of H', '0-6'],
  ['0 0 30 2 *', 'never comes', 'day of month "30", month "2"'],
  ['0 0 31 2,4,6 *', 'never comes'],
  ['0 0 31 2,4,6,9,11 */2', 'never comes'],
  ['0 0 31 feb *', 'never comes'],
  ['0 0 */30 2 1L', 'never comes'],
  [`${'0,'.repeat(520)}0 * * * *`, '1049 characters', '1024'],
  ['x'.repeat(2000), '2000 characters', '1024'],
];

describe('what is not cron', () => {
  for (const [cron, ...says] of REFUSED) {
    it(`refuses ${JSON.stringify(cron)?.slice(0, 40)}`, () => {
      const error = refusal({ cron }, 'report');
      expect(error.code).toBe('TOCK_BAD_SCHEDULE');
      for (const part of says) expect(error.message).toContain(part);
      expect(error.message.length).toBeLessThan(400);
    });
  }

  it('is not trusted in a message: control characters are escaped', () => {
    expect(refusal({ cron: '\u001b[31m * * * *' }).message).not.toContain('\u001b');
  });

  it('is refused or accepted, but never loops: random text from the alphabet of cron', () => {
    const seed = newSeed();
    let ended = 0;
    const letters = [
      '0',
      '1',
      '2',
      '5',
      '9',
      '*',
      '/',
      ',',
      '-',
      '#',
      'L',
      'H',
      'W',
      '?',
      '(',
      ')',
      '@',
      '.',
      '+',
      'mon',
      'jan',
      ' * ',
      '*/',
      ' ',
    ];
    fc.assert(
      fc.property(fc.array(fc.constantFrom(...letters), { maxLength: 24 }), parts => {
        const cron = parts.join('');
        const { schedule, error } = attempt({ cron }, 'fuzz');
        expect(schedule === null ? error?.code : typeof schedule.next(0), `cron ${cron}`).toBe(
          schedule === null ? 'TOCK_BAD_SCHEDULE' : 'number',
        );
        ended++;
      }),
      { seed, numRuns: 5000 },
    );
    expect(ended).toBe(5000);
  });

  it('is refused as a whole: fields made of the pieces of cron, right or wrong', () => {
    const value = fc.oneof(
      fc.integer({ min: 0, max: 64 }).map(String),
      fc.constantFrom('*', 'L', 'H', 'mon', 'dec', 'H(2-9)'),
    );
    const entry = fc
      .tuple(value, fc.constantFrom('', '', '', '-', '/', '#'), value)
      .map(([a, joint, b]) => (joint === '' ? a : `${a}${joint}${b}`));
    const field = fc.array(entry, { minLength: 1, maxLength: 3 }).map(entries => entries.join(','));
    let accepted = 0;
    let refused = 0;
    fc.assert(
      fc.property(fc.array(field, { minLength: 5, maxLength: 6 }), fields => {
        const cron = fields.map((text, index) => (index < 2 ? text : text.length > 4 ? '*' : text)).join(' ');
        const { schedule, error } = attempt({ cron }, 'fuzz');
        const at = schedule?.next(0);
        // Back to where it came from; and what our own check lets through, the parser must take too.
        expect(typeof at === 'number' ? schedule?.previous(at + 1) : at, `cron ${cron}`).toBe(at);
        expect(error?.message ?? '', `cron ${cron}`).not.toContain('cron field');
        if (typeof at === 'number') accepted++;
        if (error !== null) refused++;
      }),
      { seed: newSeed(), numRuns: 4000 },
    );
    expect(accepted).toBeGreaterThan(20);
    expect(refused).toBeGreaterThan(20);
    expect(accepted + refused).toBe(4000);
  });
});

describe('what is cron', () => {
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

  it('reads seconds first where there are six fields', () => {
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

  it('ors the days only where neither begins with a star', () => {
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

  it('fixes H by the name, within its bounds, spread over them', () => {
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

  it('gives H one value where there is no name, and not a random one', () => {
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

  it('reads an expression once', () => {
    expect(readCron('17 3 * * *')).toBe(readCron('17 3 * * *', 'a seed that does not matter'));
    expect(readCron('H 3 * * THU', 'a')).toBe(readCron('H 3 * * THU', 'a'));
    expect(readCron('H 3 * * THU', 'a')).not.toBe(readCron('H 3 * * THU', 'b'));
    expect(readCron('0 3 * * THU', 'a')).toBe(readCron('0 3 * * THU', 'b'));
  });

  it('holds the longest expression that is allowed', () => {
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

describe('the days that an expression names', () => {
  const seed = newSeed();

  it(`are those of a scan of every day from 2096 to 2104 (TOCK_TEST_SEED=${seed})`, () => {
    const generator = random(seed);
    let compared = 0;
    for (let count = 0; count < 150; count++) {
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
    expect(compared).toBeGreaterThan(10_000);
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
