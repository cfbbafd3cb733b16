// A field of a crontab by the rules of Debian's cron and of cronie.
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { type CronKind, readCronField } from '../../src/model/crontab/cron-field.js';
import { CRON_FIELDS, type CronFieldRule } from '../../src/model/schedule/cron/cron-rules.js';
import { KINDS } from './crontabs.js';

function ruleOf(name: CronFieldRule['name']): CronFieldRule {
  const rule = CRON_FIELDS.find(each => each.name === name);
  if (rule === undefined) throw new Error(`no field ${name}`);
  return rule;
}

function valuesOf(text: string, name: CronFieldRule['name'], kind: CronKind): number[] | null {
  const field = readCronField(text, ruleOf(name), kind);
  return typeof field === 'string' ? null : [...field.values].sort((a, b) => a - b);
}

describe('readCronField', () => {
  it.each<[text: string, name: CronFieldRule['name'], values: number[]]>([
    ['5', 'minute', [5]],
    ['007', 'minute', [7]],
    ['1,3,5-7', 'minute', [1, 3, 5, 6, 7]],
    ['*/20', 'minute', [0, 20, 40]],
    ['*/90', 'minute', [0]],
    ['10-50/20', 'minute', [10, 30, 50]],
    ['*,5', 'month', [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]],
    ['22-6', 'hour', []],
    ['jan,FEB-mar', 'month', [1, 2, 3]],
    ['mon-fri', 'weekday', [1, 2, 3, 4, 5]],
    ['sun-sat', 'weekday', [0, 1, 2, 3, 4, 5, 6]],
    ['7', 'weekday', [7]],
    ['5-7', 'weekday', [5, 6, 7]],
    ['fri-mon', 'weekday', []],
    ['*/31', 'day of month', [1]],
  ])('reads %s as a %s in both', (text, name, values) => {
    for (const kind of KINDS) expect(valuesOf(text, name, kind)).toEqual(values);
  });

  it.each<[text: string, name: CronFieldRule['name']]>([
    ['60', 'minute'],
    ['24', 'hour'],
    ['0', 'day of month'],
    ['8', 'weekday'],
    ['5/15', 'minute'],
    ['*/0', 'minute'],
    ['*/x', 'minute'],
    ['5x', 'minute'],
    ['+1', 'minute'],
    ['1,', 'minute'],
    [',1', 'minute'],
    ['1-', 'minute'],
    ['-5', 'minute'],
    ['L', 'day of month'],
    ['?', 'day of month'],
    ['monday', 'weekday'],
    ['jan', 'weekday'],
    ['', 'minute'],
  ])('refuses %s as a %s, as both do', (text, name) => {
    for (const kind of KINDS) expect(readCronField(text, ruleOf(name), kind)).toMatch(/^cron refuses the /);
  });

  it('reads sat-sun as the weekend for cronie, and as nothing for Debian’s cron', () => {
    expect(valuesOf('sat-sun', 'weekday', 'cronie')).toEqual([6, 7]);
    expect(valuesOf('sat-sun', 'weekday', 'debian')).toEqual([]);
    expect(valuesOf('5-0/1', 'weekday', 'cronie')).toEqual([]);
  });

  it('skips what Debian’s cron skips after an entry, and refuses it for cronie', () => {
    const field = readCronField('mon#2', ruleOf('weekday'), 'debian');
    expect(field).toMatchObject({ values: new Set([1]), ignored: '#2' });
    expect(readCronField('*x,5', ruleOf('minute'), 'debian')).toMatchObject({ ignored: 'x,5' });
    expect(readCronField('mon#2', ruleOf('weekday'), 'cronie')).toMatch(/refuses/);
  });

  it('knows cronie’s random values', () => {
    expect(readCronField('10~20', ruleOf('minute'), 'cronie')).toMatchObject({ random: [10, 20] });
    expect(readCronField('~', ruleOf('hour'), 'cronie')).toMatchObject({ random: [0, 23] });
    expect(readCronField('20~10', ruleOf('minute'), 'cronie')).toMatch(/refuses/);
    expect(readCronField('10~20', ruleOf('minute'), 'debian')).toMatchObject({
      random: null,
      ignored: '~20',
    });
  });

  it('checks the end of a range that it does not reach, in Debian’s cron only', () => {
    expect(valuesOf('50-70/30', 'minute', 'debian')).toBeNull();
    expect(valuesOf('50-70/30', 'minute', 'cronie')).toEqual([50]);
  });

  it('notes the star, which decides the day rule', () => {
    for (const [text, isStarred] of [
      ['*', true],
      ['*/2', true],
      ['*,5', true],
      ['1-31', false],
    ] as const)
      expect(readCronField(text, ruleOf('day of month'), 'debian')).toMatchObject({ isStarred });
  });
});

/**
 * 420 fields made at random: the values that the parser of cronie 1.7.2 gives (`-`: it refuses), and whether
 * `crontab -n` of Debian 12 takes them.
 */
const RECORDED = readFileSync(path.join(import.meta.dirname, '..', 'fixtures', 'cron-fields.tsv'), 'utf8')
  .trimEnd()
  .split('\n')
  .map(row => row.split('\t'));

describe('readCronField, beside the programs themselves', () => {
  it('gives the values of cronie', () => {
    const given = RECORDED.map(([name = '', text = '']) => {
      const values = valuesOf(text, name as CronFieldRule['name'], 'cronie');
      return [name, text, values === null ? '-' : `[${values.join()}]`];
    });
    expect(given).toEqual(RECORDED.map(([name, text, cronie]) => [name, text, cronie]));
    expect(RECORDED.length).toBe(420);
  });

  it('takes what Debian takes', () => {
    const given = RECORDED.map(([name = '', text = '']) => {
      const values = valuesOf(text, name as CronFieldRule['name'], 'debian');
      return [name, text, values === null ? '-' : 'taken'];
    });
    expect(given).toEqual(RECORDED.map(([name, text, , debian]) => [name, text, debian]));
  });
});
