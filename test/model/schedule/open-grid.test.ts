// What exclusions leave of an interval: found in few steps, counted by how often a day is looked at.
import { describe, expect, it } from 'vitest';
import { nextCivil, previousCivil } from '../../../src/model/schedule/civil-walk.js';
import { readCron } from '../../../src/model/schedule/cron-fields.js';
import { createDayGates } from '../../../src/model/schedule/day-gates.js';
import type { Exclusions } from '../../../src/model/schedule/exclusions.js';
import { createOpenGrid } from '../../../src/model/schedule/open-grid.js';
import { findZone } from '../../../src/model/schedule/zone.js';

const ALL = readCron('* * * * * *');
const at = (text: string) => Date.parse(text) / 1000;
const LAST = at('2200-12-31T23:59:59Z');
const FIRST = at('1900-01-01T00:00:00Z');
/** All days from 2026 on, and back from it. */
const DAYS_ON = 64_000;
const DAYS_BACK = 46_100;

/** Each day that is looked at is first looked up among the excluded dates. */
function counted(...crons: readonly string[]) {
  let steps = 0;
  const dates = new Set<number>();
  dates.has = () => {
    steps++;
    return false;
  };
  const exclusions: Exclusions = { dates, sets: crons.map(cron => readCron(cron)) };
  return { exclusions, steps: () => steps };
}

function gridOf(every: number, crons: readonly string[], zone = 'UTC') {
  const { exclusions, steps } = counted(...crons);
  return { ...createOpenGrid({ every, phase: 0 }, findZone(zone), createDayGates(exclusions, ALL)), steps };
}

describe('an interval with exclusions', () => {
  it('passes over a long excluded span, a day in one step', () => {
    const { next, previous, steps } = gridOf(120, ['*/2 * * 1-11 *']);
    expect(next(at('2026-01-01T00:00:00Z'), LAST)).toBe(at('2026-12-01T00:00:00Z'));
    expect(steps()).toBe(335);
    expect(previous(at('2026-11-30T23:59:59Z'), FIRST)).toBe(at('2025-12-31T23:58:00Z'));
    expect(steps()).toBe(335 + 335);
  });

  it.each([
    [120, ['*/2 * * * *']],
    [60, ['0-29 * * * *', '30-59 * * * *']],
    [3600, ['0 * * * *']],
    [7, ['* * * * *']],
    [86_400, ['0 0 * * 0-3', '0 0 * * 4-6']],
    [100_000, ['* * * * *']],
  ])('of %d s gives no more than one step to a day where nothing is left: %j', (every, crons) => {
    const { next, previous, steps } = gridOf(every, crons);
    expect(next(at('2026-01-01T00:00:00Z'), LAST)).toBeNull();
    expect(steps()).toBeLessThan(DAYS_ON);
    expect(steps()).toBeGreaterThan(1000);
    expect(previous(at('2026-01-01T00:00:00Z'), FIRST)).toBeNull();
    expect(steps()).toBeLessThan(DAYS_ON + DAYS_BACK);
  });

  it('stops at its bound', () => {
    const { next, previous, steps } = gridOf(120, ['*/2 * * * *']);
    expect(next(at('2026-01-01T00:00:00Z'), at('2026-01-03T12:00:00Z'))).toBeNull();
    expect(steps()).toBe(3);
    expect(previous(at('2026-01-03T12:00:00Z'), at('2026-01-01T00:00:00Z'))).toBeNull();
    expect(steps()).toBe(6);
    const open = gridOf(3600, ['0 0-22 * * *']);
    expect(open.next(at('2026-01-01T00:00:00Z'), at('2026-01-01T22:00:00Z'))).toBeNull();
    expect(open.previous(at('2026-01-01T22:00:00Z'), at('2026-01-01T00:00:00Z'))).toBeNull();
  });

  it('walks through each kind of day once, where many kinds leave what the interval never meets', () => {
    // Every 64 s meets all minutes of a day but each sixteenth. Each kind of day leaves one of those.
    const kinds = 2500;
    let looks = 0;
    const gates = Array.from({ length: kinds }, (_, kind) => {
      const minute = 16 * (kind % 90) + 15;
      const [hour, rest] = [Math.floor(minute / 60), minute % 60];
      const low = new Int32Array(24);
      const high = new Int32Array(24);
      (rest < 30 ? low : high)[hour] = 1 << (rest % 30);
      return {
        get low() {
          looks++;
          return low;
        },
        high,
      };
    });
    const { next } = createOpenGrid(
      { every: 64, phase: 0 },
      findZone('UTC'),
      day => gates[day % kinds] ?? 'open',
    );
    expect(next(at('2026-01-01T00:00:00Z'), LAST)).toBeNull();
    expect(looks).toBe(kinds * (86_400 / 64));
  });

  it('looks at a day twice where the offset changes on it, and follows the new one', () => {
    // Only 02:30 is left, which comes twice that day.
    const { next, steps } = gridOf(1800, ['0 * * * *', '30 0-1,3-23 * * *'], 'Europe/Berlin');
    expect(next(at('2026-10-24T22:00:00Z'), LAST)).toBe(at('2026-10-25T00:30:00Z'));
    expect(next(at('2026-10-25T00:31:00Z'), LAST)).toBe(at('2026-10-25T01:30:00Z'));
    expect(next(at('2026-10-25T01:31:00Z'), LAST)).toBe(at('2026-10-26T01:30:00Z'));
    expect(steps()).toBeLessThan(8);
    // In spring it does not exist.
    expect(next(at('2026-03-28T02:00:00Z'), LAST)).toBe(at('2026-03-30T00:30:00Z'));
  });
});

describe('a cron expression with exclusions', () => {
  it('gives one step to a day, also where nothing is left', () => {
    const fields = readCron('*/7 3 * * *');
    const { exclusions, steps } = counted('* * * * 0-2', '* 3 * * 3-6');
    const set = { fields, gates: createDayGates(exclusions, fields) };
    expect(nextCivil(set, at('2026-01-01T00:00:00Z'))).toBe(Number.POSITIVE_INFINITY);
    expect(steps()).toBeLessThan(DAYS_ON);
    expect(previousCivil(set, at('2026-01-01T00:00:00Z'))).toBe(Number.NEGATIVE_INFINITY);
    expect(steps()).toBeLessThan(DAYS_ON + DAYS_BACK);
  });

  it('reads the excluded sets once for each kind of day', () => {
    const fields = readCron('* * * * *');
    let reads = 0;
    const set = new Proxy(readCron('* * * * *'), {
      get(target, key) {
        if (key === 'months') reads++;
        return Reflect.get(target, key) as unknown;
      },
    });
    const gates = createDayGates({ dates: new Set(), sets: [set] }, fields);
    expect(nextCivil({ fields, gates }, at('2026-01-01T00:00:00Z'))).toBe(Number.POSITIVE_INFINITY);
    // Month, date, weekday, and for February its length.
    expect(reads).toBeLessThanOrEqual(366 * 7 + 29 * 7);
  });
});
