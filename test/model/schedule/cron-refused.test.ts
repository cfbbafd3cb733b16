import { describe, expect, it } from 'vitest';
import { rounds } from '../../support/rounds.js';
import { fc, newSeed } from '../../support/seed.js';
import { attempt, refusal } from './attempt.js';

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
  ['@reboot', '"@reboot" names no time', 'at the start of the process'],
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
  ['0 0 * * 1#1,2', 'must be alone'],
  ['0 0 1#1 * *', 'day of month "1#1"', 'only for weekdays'],
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
  ['* * * * sat-mon', 'write 6,0-1'],
  ['0 0 * * 7-1', 'runs backwards; write 0-1'],
  ['0 0 * * 7-0', 'runs backwards; write 0'],
  ['0 23-3/2 * * *', 'runs backwards; write 23,1-3/2'],
  ['0 20-2/3 * * *', 'runs backwards; write 20-23/3,2'],
  ['0 0 * * fri-sun/2', 'write 5-7/2'],
  ['0 0 * * 6-1/4', 'write 6'],
  ['1- * * * *', 'not understood'],
  ['/5 * * * *', 'not understood'],
  ['*5 * * * *', 'not understood'],
  ['*-5 * * * *', 'not understood'],
  ['* * ? * *', 'day of month "?"', 'write *'],
  ['0 0 * * 5W', 'weekday "5W" uses W', 'only for the day of month', '5L is the last Friday'],
  ['15W * * * *', 'uses W', '15W is the weekday nearest the 15th'],
  ['0 0 * L-3 *', 'month "L-3" uses L', 'only for the day of month'],
  ['0 0 W * *', 'does not say which day', 'write LW'],
  ['0 0 WL * *', 'does not say which day', 'write LW'],
  ['0 0 0W * *', 'out of range'],
  ['0 0 32W * *', 'out of range'],
  ['0 0 L-0 * *', 'counts back 0 days', 'L-1 to L-30'],
  ['0 0 L-31 * *', 'counts back 31 days', 'L-1 to L-30'],
  ['0 0 1-5W * *', 'not understood'],
  ['0 0 31W 2 *', 'never comes'],
  ['0 0 L-29 2 *', 'never comes'],
  ['0~30 2 * * *', 'minute "0~30" uses ~', 'write H(0-30)'],
  ['~ 2 * * *', 'write H,'],
  ['~30 2 * * *', 'write H(0-30)'],
  ['0~99 2 * * *', 'write H,'],
  [
    'CRON_TZ=Europe/Berlin 0 2 * * *',
    'begins with CRON_TZ=',
    'write only "0 2 * * *", and the zone as timezone: "Europe/Berlin"',
  ],
  ['TZ=UTC', 'write the five fields, and the zone as timezone: "UTC"'],
  ['MAILTO=ops 0 2 * * *', 'begins with MAILTO=', 'write only "0 2 * * *"'],
  [
    '0 2 * * * Europe/Berlin',
    'ends with a time zone',
    'write only "0 2 * * *", and timezone: "Europe/Berlin"',
  ],
  ['@daily UTC', 'write only "@daily", and timezone: "UTC"'],
  ['0 2 * * * /usr/bin/backup --all', 'has a command after the schedule', 'write only "0 2 * * *"'],
  ['0 2 * * * root /usr/bin/backup', 'has a command after the schedule'],
  ['0 2 * * * backup.sh', 'has a command after the schedule'],
  ['@hourly ./backup', 'write only "@hourly"'],
  ['0 0 0 * * wednesday', 'has a long name; write wed'],
  ['25 * * *', 'has 4 fields'],
  ['0 24 * * *', 'out of range; an hour is 0-23'],
  ['0 */30 * * *', 'but an hour has 24 values'],
  ['0 0 5L * *', 'L alone means'],
  ['0 0 * * L', 'which weekday', '5L'],
  ['0 0 * L *', 'only for days'],
  ['5L * * * *', 'minute "5L"', 'only for days'],
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
  [`${'mon'.repeat(300)}=! * * * *`, `begins with ${'mon'.repeat(20)}…=,`],
  [`${'L'.repeat(300)}=${'V'.repeat(300)} ${'0,'.repeat(100)}0`, 'belongs to a crontab'],
  [`${'\u0001'.repeat(300)} * * * *`, 'is not understood; a minute is 0-59'],
];

describe('invalid cron', () => {
  for (const [cron, ...says] of REFUSED) {
    it(`refuses ${JSON.stringify(cron)?.slice(0, 40)}`, () => {
      const error = refusal({ cron }, 'report');
      expect(error.code).toBe('TOCK_BAD_SCHEDULE');
      for (const part of says) expect(error.message).toContain(part);
      expect(error.message.length).toBeLessThan(400);
    });
  }

  it('is escaped in messages, so that no control character gets through', () => {
    expect(refusal({ cron: '\u001b[31m * * * *' }).message).not.toContain('\u001b');
  });

  it('gives an error, never a loop: random text from cron’s alphabet', () => {
    const seed = newSeed();
    const numRuns = rounds(500, 5000);
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
      { seed, numRuns },
    );
    expect(ended).toBe(numRuns);
  });

  it('is refused as a whole: fields made of valid and invalid pieces', { tags: 'check' }, () => {
    const value = fc.oneof(
      fc.integer({ min: 0, max: 64 }).map(String),
      fc.constantFrom('*', 'L', 'H', 'mon', 'dec', 'H(2-9)', '15W', 'LW', 'L-3'),
    );
    const entry = fc
      .tuple(value, fc.constantFrom('', '', '', '-', '/', '#'), value)
      .map(([a, joint, b]) => (joint === '' ? a : `${a}${joint}${b}`));
    const field = fc.array(entry, { minLength: 1, maxLength: 3 }).map(entries => entries.join(','));
    const numRuns = rounds(1500, 4000);
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
      { seed: newSeed(), numRuns },
    );
    expect(accepted).toBeGreaterThan(numRuns / 200);
    expect(refused).toBeGreaterThan(20);
    expect(accepted + refused).toBe(numRuns);
  });
});

describe('invalid cron, within its time', () => {
  /** Of this process's own time in the CPU, the least of five tries: what else the machine does has no part in it. */
  function leastCpuMs(work: () => void): number {
    let least = Number.POSITIVE_INFINITY;
    for (let tried = 0; tried < 5 && least > MOST_MS; tried++) {
      const before = process.cpuUsage();
      work();
      const { user, system } = process.cpuUsage(before);
      least = Math.min(least, (user + system) / 1000);
    }
    return least;
  }
  const MOST_MS = 5;

  it('takes less than 5 ms each', () => {
    expect(REFUSED.length).toBeGreaterThan(80);
    for (const [cron] of REFUSED) {
      const least = leastCpuMs(() => refusal({ cron }, 'report'));
      if (least >= MOST_MS) throw new Error(`${least} ms for ${JSON.stringify(cron)}`);
    }
  });

  it('takes as little in long texts, of any letters and of pieces of cron', { tags: 'check' }, () => {
    const seed = newSeed();
    const pieces = fc.constantFrom(
      '0',
      '59',
      '*',
      '*/',
      '/',
      ',',
      '-',
      '#',
      'L',
      'H(0-59)',
      'mon',
      ' ',
      '\t',
    );
    const texts = fc.oneof(
      fc.string({ unit: 'binary', maxLength: 2000 }),
      fc.string({ unit: pieces, minLength: 20, maxLength: 1200 }),
      // One piece many times over, and then something wrong: what makes a pattern backtrack.
      fc
        .tuple(pieces, fc.integer({ min: 1, max: 1100 }), fc.string({ maxLength: 3 }))
        .map(([piece, count, end]) => `${piece.repeat(count)}${end} * * * *`),
    );
    const numRuns = rounds(40, 200);
    let refused = 0;
    fc.assert(
      fc.property(texts, cron => {
        const { schedule, error } = attempt({ cron }, 'fuzz');
        if (schedule !== null) return;
        expect(error?.code).toBe('TOCK_BAD_SCHEDULE');
        expect(error?.message.length).toBeLessThan(400);
        const least = leastCpuMs(() => refusal({ cron }, 'fuzz'));
        if (least >= MOST_MS) throw new Error(`${least} ms for ${JSON.stringify(cron)}`);
        refused++;
      }),
      { seed, numRuns },
    );
    expect(refused).toBeGreaterThan(numRuns / 2);
  });
});
