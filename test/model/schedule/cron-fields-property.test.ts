// What a field may hold is a field, also as the sixth; and a line of a crontab is told what its schedule is.
import { describe, expect, it } from 'vitest';
import { show } from '../../../src/model/schedule/bad-schedule.js';
import { CRON_FIELDS, type CronFieldRule } from '../../../src/model/schedule/cron/cron-rules.js';
import { readCronText } from '../../../src/model/schedule/cron/cron-text.js';
import { rounds } from '../../support/rounds.js';
import { fc, newSeed } from '../../support/seed.js';
import { attempt, refusal } from './attempt.js';

type Text = fc.Arbitrary<string>;

const anyCase = (name: string): Text =>
  fc.constantFrom(name, name.toUpperCase(), `${name.charAt(0).toUpperCase()}${name.slice(1)}`);

/** A value as a number, perhaps with a zero before it, or as a name. */
function written(rule: CronFieldRule, value: number): Text {
  const name = rule.names[value - rule.min];
  const number = fc.constantFrom(`${value}`, `${value}`.padStart(2, '0'));
  return name === undefined ? number : fc.oneof(number, anyCase(name));
}

function valueOf(rule: CronFieldRule): Text {
  return fc.integer({ min: rule.min, max: rule.max }).chain(value => written(rule, value));
}

function rangeOf(rule: CronFieldRule): Text {
  return fc
    .tuple(fc.integer({ min: rule.min, max: rule.max }), fc.integer({ min: rule.min, max: rule.max }))
    .map(([a, b]) => [Math.min(a, b), Math.max(a, b)] as const)
    .chain(([from, to]) => fc.tuple(written(rule, from), written(rule, to)))
    .map(([from, to]) => `${from}-${to}`);
}

function hashOf(rule: CronFieldRule): Text {
  const bound = fc.integer({ min: rule.min, max: rule.hashMax });
  const bounds = fc.tuple(bound, bound).map(([a, b]) => `H(${Math.min(a, b)}-${Math.max(a, b)})`);
  return fc.oneof(fc.constant('H'), bounds);
}

function lastOf(rule: CronFieldRule): Text[] {
  if (rule.name === 'day of month')
    return [fc.constantFrom('L', 'l', 'LW', 'lw', '15W', '31w', 'L-3', 'L-30', 'L-3W')];
  if (rule.name !== 'weekday') return [];
  return [fc.tuple(valueOf(rule), fc.constantFrom('L', 'l')).map(([day, last]) => `${day}${last}`)];
}

/** Everything that docs/schedules.md lets a field hold. */
function fieldOf(rule: CronFieldRule): Text {
  const step = fc.integer({ min: 1, max: rule.span }).map(size => `/${size}`);
  const base = fc.oneof(fc.constant('*'), valueOf(rule), rangeOf(rule), hashOf(rule));
  const stepped = fc.tuple(base, step).map(parts => parts.join(''));
  const entry = fc.oneof(base, stepped, ...lastOf(rule));
  const list = fc.array(entry, { minLength: 1, maxLength: 3 }).map(entries => entries.join(','));
  if (rule.name !== 'weekday') return list;
  const nth = fc.tuple(valueOf(rule), fc.integer({ min: 1, max: 5 })).map(([day, n]) => `${day}#${n}`);
  return fc.oneof({ weight: 4, arbitrary: list }, { weight: 1, arbitrary: nth });
}

const six = fc.tuple(...CRON_FIELDS.map(fieldOf));
const five = fc.tuple(...CRON_FIELDS.slice(1).map(fieldOf));
const blank = fc.constantFrom(' ', '  ', '\t');
const cron = fc.tuple(fc.oneof(five, six), blank).map(([fields, between]) => fields.join(between));

/** As they stand in crontabs, some without an argument, a path or a word that is long. */
const COMMANDS = [
  '/usr/bin/backup',
  '/usr/bin/backup --all >/dev/null 2>&1',
  'root /usr/bin/backup',
  'root\tcd / && run-parts --report /etc/cron.hourly',
  'root test -x /usr/sbin/anacron || ( cd / && run-parts --report /etc/cron.daily )',
  '[ -x /usr/lib/php/sessionclean ] && /usr/lib/php/sessionclean',
  '(cd /srv/app && ./backup)',
  '"/opt/my app/run"',
  './backup',
  '../bin/x',
  '~/x',
  '~app/bin/x',
  '$HOME/x',
  'bin/backup',
  'PATH=/bin x',
  'backup.sh',
  'run-parts /etc/cron.daily',
  'mon-backup --all',
  'cp a b',
  'sh x',
  'ls',
  '7z a x.7z /srv',
];

describe('a field', () => {
  it('is read whatever it holds, in each place, in five fields and in six', () => {
    let read = 0;
    fc.assert(
      fc.property(cron, text => {
        expect(() => readCronText(text)).not.toThrow();
        // Only the dates may be refused, if they never come.
        expect(attempt({ cron: text }, 'name').error?.message ?? 'never comes').toContain('never comes');
        read++;
      }),
      { seed: newSeed(), numRuns: rounds(200, 1000) },
    );
    expect(read).toBe(rounds(200, 1000));
  });

  for (const weekday of [
    'tue/2',
    'FRI/3',
    'mon-fri/2',
    'Sun,tue/2',
    'friL',
    '5L',
    'thu#2',
    'H(1-5)/2',
    'H/3',
  ])
    it(`is read as the sixth: ${weekday}`, () => {
      const { error, schedule } = attempt({ cron: `0 0 9 * * ${weekday}` }, 'name');
      expect(error).toBeNull();
      expect(schedule?.next(0)).toBe(attempt({ cron: `0 9 * * ${weekday}` }, 'name').schedule?.next(0));
    });

  for (const [weekday, says] of [
    ['tue/9', 'step of 9'],
    ['FRI/x', 'not a whole number'],
    ['fri-mon', 'runs backwards'],
    ['wednesday/2', 'has a long name; write wed'],
    ['9L', 'out of range'],
    ['mon#7', '1-5 after the #'],
    ['H(5-9)', 'bounds of H'],
    ['99', 'out of range'],
    ['-5', 'sign'],
    ['?', 'uses ?'],
    ['5W', 'uses W'],
    ['L-3', 'uses L'],
    ['jan', 'weekday "jan" is not understood'],
    ['~30', 'uses ~'],
  ] as const)
    it(`is said to be wrong as the sixth, and is no command: ${weekday}`, () => {
      const { message } = refusal({ cron: `0 0 9 * * ${weekday}` }, 'name');
      expect(message).toContain(says);
      expect(message).not.toContain('a command');
    });
});

describe('a command after the schedule', () => {
  it('is told from the fields, after five of them and after six', { tags: 'check' }, () => {
    let refused = 0;
    fc.assert(
      fc.property(cron, fc.constantFrom(...COMMANDS), (text, command) => {
        const schedule = text.split(/\s+/).join(' ');
        expect(refusal({ cron: `${text} ${command}` }, 'name').message).toContain(
          `has a command after the schedule; write only ${show(schedule)}: the job is what runs`,
        );
        refused++;
      }),
      { seed: newSeed(), numRuns: rounds(300, 2000) },
    );
    expect(refused).toBe(rounds(300, 2000));
  });

  it('is told from a time zone by the region', () => {
    const messageOf = (extra: string) => refusal({ cron: `0 2 * * * ${extra}` }).message;
    for (const zone of ['Europe/Berlin', 'europe/berln', 'America/Argentina/Ushuaia', 'UTC', 'Etc/GMT-3'])
      expect(messageOf(zone)).toContain(
        `ends with a time zone; write only "0 2 * * *", and timezone: "${zone}"`,
      );
    for (const path of ['bin/backup', 'srv/app/tick']) expect(messageOf(path)).toContain('has a command');
  });
});
