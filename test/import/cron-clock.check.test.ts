// When cron starts a line, and when Tock does: by hand, and against cron's loop written down again.
import { describe, expect, it } from 'vitest';
import { compareLine, scheduleOf } from '../../src/import/crontab/compare.js';
import { compareWords } from '../../src/import/crontab/compare-words.js';
import { cronStarts } from '../../src/import/crontab/cron-clock.js';
import { readCrontab } from '../../src/model/crontab/crontab.js';
import { occurrencesBetween } from '../../src/model/schedule/occurrences.js';
import { findZone } from '../../src/model/schedule/zone/zone.js';
import { startsByTheSource } from './cron-oracle.js';
import { CRONTABS, translated } from './crontabs.js';

const DAY = 86_400_000;
const BERLIN = findZone('Europe/Berlin');
const SPRING = Date.UTC(2027, 2, 28);
const AUTUMN = Date.UTC(2027, 9, 31);

function timesOf(when: string) {
  const times = readCrontab(`${when} x\n`, { hasUser: false, kind: 'debian' }).entries[0]?.times;
  if (!times) throw new Error(`cron refuses ${when}`);
  return times;
}

function startsOf(when: string, day: number, line: string | null = null): string[] {
  const zones = { host: BERLIN, line: line === null ? null : findZone(line) };
  return cronStarts(timesOf(when), zones, day, day + DAY).map(at => new Date(at).toISOString().slice(11, 16));
}

describe('cronStarts', () => {
  it.each([
    ['30 2 * * *', ['01:00']],
    ['0,30 2 * * *', ['01:00', '01:00']],
    ['0 3 * * *', ['01:00']],
    ['*/30 2 * * *', []],
    ['30 */8 * * *', ['06:30', '14:30', '22:30']],
    ['30 */2 1 1 *', []],
    ['30 1 * * *', ['00:30', '23:30']],
    ['15,45 2-3 * * *', ['01:00', '01:00', '01:15', '01:45']],
  ])('starts %s in the night in which Berlin skips 02:00 to 03:00', (when, starts) => {
    expect(startsOf(when, SPRING)).toEqual(starts);
  });

  it.each([
    ['30 2 * * *', ['00:30']],
    ['*/30 2 * * *', ['00:00', '00:30', '01:00', '01:30']],
    ['0 3 * * *', ['02:00']],
    ['* 3 1 1 *', []],
  ])('starts %s in the night in which Berlin repeats 02:00 to 03:00', (when, starts) => {
    expect(startsOf(when, AUTUMN)).toEqual(starts);
  });

  it('runs lines with CRON_TZ by the clock of that zone', () => {
    expect(startsOf('30 2 * * *', SPRING + DAY, 'America/New_York')).toEqual(['06:30']);
    // In New York the clock changes on 7 November: 01:30 is there twice.
    expect(startsOf('30 1 * * *', Date.UTC(2027, 10, 7), 'America/New_York')).toEqual(['05:30', '06:30']);
    // While Berlin's own hour is repeated, cronie leaves them out.
    expect(startsOf('30 1 * * *', AUTUMN, 'UTC')).toEqual([]);
    expect(startsOf('*/30 1 * * *', AUTUMN, 'UTC')).toEqual(['01:00', '01:30']);
  });
});

const ZONES = ['UTC', 'Europe/Berlin', 'America/New_York', 'Australia/Lord_Howe'] as const;
/** Both changes of 2027 in each of the zones, with four days around each. */
const CHANGES = [
  [Date.UTC(2027, 2, 12), Date.UTC(2027, 2, 16)],
  [Date.UTC(2027, 2, 26), Date.UTC(2027, 2, 30)],
  [Date.UTC(2027, 3, 1), Date.UTC(2027, 3, 6)],
  [Date.UTC(2027, 9, 1), Date.UTC(2027, 9, 5)],
  [Date.UTC(2027, 9, 29), Date.UTC(2027, 10, 2)],
  [Date.UTC(2027, 10, 5), Date.UTC(2027, 10, 9)],
] as const;

const LINES = CRONTABS.flatMap(({ text, hasUser, name }) =>
  translated(text, { hasUser, user: 'root' }).taken.map(line => ({ line, name })),
);

describe.each(ZONES)('every line of the fixtures in %s', timezone => {
  it('starts as cron’s own loop starts it', () => {
    const whens = new Set(LINES.map(({ line }) => line.entry.when));
    expect(whens.size).toBeGreaterThan(80);
    let compared = 0;
    for (const when of whens) {
      for (const [from, to] of CHANGES) {
        const starts = cronStarts(timesOf(when), { host: findZone(timezone), line: null }, from, to);
        expect(starts, when).toEqual(startsByTheSource(when, timezone, from, to));
        compared += starts.length;
      }
    }
    expect(compared).toBeGreaterThan(10_000);
  });

  it('differs from Tock only where the clock changes, and says why', () => {
    for (const { text, hasUser, name } of CRONTABS) {
      for (const line of translated(text, { hasUser, user: 'root', timezone }).taken) {
        for (const [from, to] of CHANGES) {
          const { same, differences } = compareLine(line, timezone, from, to);
          expect(same, name).not.toBeNull();
          const wrong = differences.filter(({ reason }) => reason === 'unknown' || timezone === 'UTC');
          expect(wrong, `${name}: ${line.entry.text}`).toEqual([]);
          const isByTheClock = /^(?:\*|\S+ \*)/.test(line.entry.when);
          if (isByTheClock) expect(differences, `${name}: ${line.entry.text}`).toEqual([]);
        }
      }
    }
  });
});

describe('compareLine', () => {
  const compared = (when: string, from: number, days: number) => {
    const [line] = translated(`${when} x\n`).taken;
    if (line === undefined) throw new Error(`not taken: ${when}`);
    return compareLine(line, 'Europe/Berlin', from, from + days * DAY);
  };

  it('counts what is the same', () => {
    expect(compareWords(compared('30 4 * * *', SPRING, 90))).toEqual(['the same 90 instants']);
    expect(compareWords(compared('0 0 29 2 *', SPRING, 90))).toEqual(['no instant in either']);
    expect(compareWords(compared('0 12 28 3 *', SPRING, 1))).toEqual(['the same 1 instant']);
  });

  it('says that cron makes up at once, and Tock later', () => {
    expect(compareWords(compared('30 2 * * *', SPRING, 2))).toEqual([
      '1 instant the same, 2 not',
      '  only cron 2027-03-28T01:00:00Z, tock 2027-03-28T01:30:00Z: the clock goes forward: cron starts what was skipped right after the change; Tock as long after the change as it would have been',
    ]);
  });

  it('says that hours that are written out are not repeated by cron', () => {
    const { differences } = compared('0 0-23 * * *', AUTUMN, 1);
    expect(differences).toEqual([{ at: Date.UTC(2027, 9, 31, 1), by: 'tock', reason: 'overlap' }]);
  });

  it('compares with the schedule that the code has', () => {
    const [line] = translated('*/30 2 * * * x\n').taken;
    if (line === undefined) throw new Error('not taken');
    const spec = scheduleOf(line.job);
    expect(spec).toEqual({ cron: '*/30 2 * * *', timezone: 'Europe/Berlin', dst: 'literal' });
    expect(occurrencesBetween(spec, new Date(AUTUMN), new Date(AUTUMN + DAY))).toHaveLength(4);
  });

  it('compares no random times', () => {
    const [line] = translated('5~20 3 * * * x\n', { kind: 'cronie' }).taken;
    if (line === undefined) throw new Error('not taken');
    expect(compareWords(compareLine(line, 'Europe/Berlin', SPRING, AUTUMN))).toEqual([
      'not compared: cronie chooses a time at random',
    ]);
  });
});
