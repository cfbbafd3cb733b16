import { describe, expect, it } from 'vitest';
import { compileSchedule } from '../../../src/model/schedule/compile.js';
import {
  nextOccurrence,
  occurrencesBetween,
  previousOccurrence,
} from '../../../src/model/schedule/occurrences.js';

const daily = { cron: '0 0 * * *' };
const day = (date: number): Date => new Date(Date.UTC(2026, 0, date));
const invalid = new Date('never');

describe('occurrencesBetween', () => {
  it('includes the beginning and excludes the end', () => {
    expect(occurrencesBetween(daily, day(1), day(4))).toEqual([day(1), day(2), day(3)]);
  });

  it('is empty if the window is empty or backwards', () => {
    expect(occurrencesBetween(daily, day(1), day(1))).toEqual([]);
    expect(occurrencesBetween(daily, day(4), day(1))).toEqual([]);
  });

  it('takes windows with fractions of a second', () => {
    const from = new Date(day(2).getTime() + 1);
    expect(occurrencesBetween(daily, from, new Date(day(3).getTime() + 1))).toEqual([day(3)]);
  });

  it('takes a compiled schedule too', () => {
    expect(occurrencesBetween(compileSchedule(daily), day(1), day(2))).toEqual([day(1)]);
  });

  it('resolves H by the name', () => {
    const spec = { cron: 'H H * * *' };
    const places = ['a', 'b', 'c'].map(name => occurrencesBetween(spec, day(1), day(2), name).map(Number));
    expect(places).toEqual(
      ['a', 'b', 'c'].map(name => [compileSchedule(spec, name).next(day(1).getTime() - 1)]),
    );
    expect(new Set(places.flat()).size).toBe(3);
  });

  it('refuses over a million occurrences', { tags: 'check' }, () => {
    const ask = () => occurrencesBetween({ every: '1s' }, day(1), day(31));
    expect(ask).toThrow(
      expect.objectContaining({
        code: 'TOCK_BAD_TIME',
        message: expect.stringContaining('shorter time span'),
      }),
    );
  });
});

describe('nextOccurrence and previousOccurrence', () => {
  it('exclude the instant itself', () => {
    expect(nextOccurrence(daily, day(2))).toEqual(day(3));
    expect(previousOccurrence(daily, day(2))).toEqual(day(1));
  });

  it('take the whole schedule of a job, and refuse an option that no schedule has', () => {
    const whole = { ...daily, overlap: 'skip', jitter: '5m', payload: {} };
    expect(nextOccurrence(whole, day(2))).toEqual(day(3));
    for (const [option, meant] of [
      ['timeZone', 'timezone'],
      ['tz', 'timezone'],
      ['excludes', 'exclude'],
    ] as const)
      expect(() => nextOccurrence({ ...daily, [option]: 'UTC' }, day(2))).toThrow(
        expect.objectContaining({
          code: 'TOCK_BAD_SCHEDULE',
          message: `the schedule has no option "${option}"; did you mean "${meant}"?`,
        }),
      );
  });

  it('give null if there is none', () => {
    expect(nextOccurrence({ at: day(1) }, day(1))).toBeNull();
    expect(previousOccurrence({ at: day(1) }, day(1))).toBeNull();
  });
});

describe('invalid Dates', () => {
  const asks: readonly (readonly [what: string, ask: () => unknown])[] = [
    ['from', () => occurrencesBetween(daily, invalid, day(1))],
    ['to', () => occurrencesBetween(daily, day(1), invalid)],
    ['after', () => nextOccurrence(daily, invalid)],
    ['before', () => previousOccurrence(daily, invalid)],
    ['after', () => nextOccurrence(daily, 'today' as unknown as Date)],
    ['before', () => previousOccurrence(daily, null as unknown as Date)],
    ['NaN', () => compileSchedule(daily).next(Number.NaN)],
    ['NaN', () => compileSchedule(daily).previous(Number.NaN)],
  ];

  it('are refused by name', () => {
    for (const [what, ask] of asks) {
      expect(ask).toThrow(
        expect.objectContaining({ code: 'TOCK_BAD_TIME', message: expect.stringContaining(what) }),
      );
    }
  });

  it('are reported only for a valid schedule', () => {
    expect(() => nextOccurrence({ cron: 'x' }, invalid)).toThrow(
      expect.objectContaining({ code: 'TOCK_BAD_SCHEDULE' }),
    );
  });
});
