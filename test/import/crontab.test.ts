// Lines of a crontab: assignments, percent signs, users, and what cron refuses.
import { describe, expect, it } from 'vitest';
import { readAssignment } from '../../src/model/crontab/assignment.js';
import { readCrontab } from '../../src/model/crontab/crontab.js';
import { splitAtPercent } from '../../src/model/crontab/percent.js';
import { CRONTABS } from './crontabs.js';

const USER = { hasUser: false, kind: 'debian' } as const;
const only = (text: string, format: Parameters<typeof readCrontab>[1] = USER) => {
  const { entries, bad } = readCrontab(text, format);
  expect(bad).toEqual([]);
  expect(entries).toHaveLength(1);
  return entries[0];
};
const problemOf = (line: string, format: Parameters<typeof readCrontab>[1] = USER) =>
  readCrontab(`${line}\n`, format).bad[0]?.problem;

describe('readAssignment', () => {
  it.each([
    ['A=b', 'A', 'b'],
    ['A = b c ', 'A', 'b c'],
    ['  A\t=b', 'A', 'b'],
    ['A=', 'A', ''],
    ['A=""', 'A', ''],
    [`A=' b '`, 'A', ' b '],
    ['"A B"=c', 'A B', 'c'],
    ['A="it\'s"  ', 'A', "it's"],
    ['PATH=$HOME/bin:/bin', 'PATH', '$HOME/bin:/bin'],
    ['A=b # no comment', 'A', 'b # no comment'],
  ])('reads %s', (line, name, value) => {
    expect(readAssignment(line)).toEqual({ name, value });
  });

  it.each(['* * * * * A=b', '@daily A=b', 'A', 'A b=c', 'A="b" c', 'A="b', '=b', '"A=b"=c', ''])(
    'is no assignment: %s',
    line => {
      expect(readAssignment(line)).toBeNull();
    },
  );
});

describe('splitAtPercent', () => {
  it.each<[text: string, command: string, stdin: string | null]>([
    ['mail joe', 'mail joe', null],
    ['mail joe%Joe,%%Where are your kids?%', 'mail joe', 'Joe,\n\nWhere are your kids?\n'],
    ['cat%one', 'cat', 'one\n'],
    ['cat%', 'cat', ''],
    ['cat%%', 'cat', '\n'],
    [String.raw`date +\%F`, 'date +%F', null],
    [String.raw`cat%50\% off%\n`, 'cat', '50% off\n\\n\n'],
    [String.raw`printf '\\%s'`, String.raw`printf '\\`, "s'\n"],
    [String.raw`echo a\b`, String.raw`echo a\b`, null],
    [String.raw`cat%end\ `.trimEnd(), 'cat', 'end\\\n'],
  ])('splits %s', (text, command, stdin) => {
    expect(splitAtPercent(text)).toEqual({ command, stdin });
  });
});

describe('readCrontab', () => {
  it('gives each entry the assignments above it, and only those', () => {
    const { entries } = readCrontab('A=1\n* * * * * x\nA=2\nB=3\n@daily y\n', USER);
    expect(entries.map(({ environment }) => environment)).toEqual([{ A: '1' }, { A: '2', B: '3' }]);
    expect(entries.map(({ line, when }) => [line, when])).toEqual([
      [2, '* * * * *'],
      [5, '@daily'],
    ]);
  });

  it('reads the user before the command', () => {
    expect(only('0 1 * * *\twww-data  php x\n', { hasUser: true, kind: 'debian' })).toMatchObject({
      user: 'www-data',
      command: 'php x',
    });
    expect(only('@daily root x\n', { hasUser: true, kind: 'debian' })).toMatchObject({ user: 'root' });
  });

  it('keeps a comment behind the command, which is the shell’s', () => {
    expect(only('0 6 * * * echo hi # all\n')?.command).toBe('echo hi # all');
  });

  it('drops a carriage return, and says so', () => {
    const entry = only('0 6 * * * echo hi\r\n');
    expect(entry?.command).toBe('echo hi');
    expect(entry?.remarks.join()).toContain('carriage return');
  });

  it('says that cron does not run a last line without a line end', () => {
    expect(only('0 6 * * * echo hi')?.remarks.join()).toContain('line end');
  });

  it.each([
    ['* * * * * * x', /sixth field/],
    ['* * * * x', /refuses the weekday|needs five fields/],
    ['* * * * *', /no command/],
    ['* * * * *   ', /no command/],
    ['@daily', /no command/],
    ['@Daily x', /does not know @Daily/],
    ['@every_minute x', /does not know/],
    ['@toString x', /does not know/],
    ['hello', /five fields/],
    ['0 25 * * * x', /refuses the hour "25"/],
    ['0 1 * * * %input only', /no command/],
    ['- * * * * * x', /refuses/],
  ])('refuses %s', (line, problem) => {
    expect(problemOf(line)).toMatch(problem);
  });

  it('refuses a system line without a user or command', () => {
    const format = { hasUser: true, kind: 'debian' } as const;
    expect(problemOf('* * * * * root', format)).toMatch(/no command/);
    expect(problemOf('* * * * *', format)).toMatch(/no user/);
  });

  it('knows cronie’s - and -n', () => {
    const format = { hasUser: false, kind: 'cronie' } as const;
    expect(only('-*/5 * * * * x\n', format)).toMatchObject({ when: '*/5 * * * *', command: 'x' });
    expect(only('0 1 * * * -n x\n', format)).toMatchObject({ command: 'x' });
    expect(only('0 1 * * * -n x\n')?.command).toBe('-n x');
  });

  it('reads every crontab of the fixtures without losing a line', () => {
    expect(CRONTABS.length).toBeGreaterThanOrEqual(40);
    for (const { text, hasUser } of CRONTABS) {
      const { entries, bad } = readCrontab(text, { hasUser, kind: 'debian' });
      const lines = text
        .split('\n')
        .filter(line => !/^\s*(?:#|$)/.test(line) && readAssignment(line) === null);
      expect(entries.length + bad.length).toBe(lines.length);
    }
  });
});
