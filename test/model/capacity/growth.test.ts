// How runs grow, and when something ends: against sums made day by day.
import { describe, expect, it } from 'vitest';
import { daysUntilRate, daysUntilSum, growthOf } from '../../../src/model/capacity/growth.js';
import { fc } from '../../support/seed.js';

/** Weekdays and weekends, so that a line through days would be wrong. */
const weekly = (day: number) => (day % 7 < 5 ? 1.2 : 0.5);

describe('growthOf', () => {
  it('is not known before two whole weeks', () => {
    expect(growthOf([], 120)).toEqual({ runsPerDay: 120, perDay: null });
    expect(growthOf([10, 20, 30], 0)).toEqual({ runsPerDay: 20, perDay: null });
    expect(
      growthOf(
        Array.from({ length: 13 }, () => 5),
        0,
      ),
    ).toEqual({ runsPerDay: 5, perDay: null });
  });

  it('does not take weekends for growth', () => {
    for (let from = 0; from < 7; from++) {
      const days = Array.from({ length: 14 }, (_, day) => 700 * weekly(from + day));
      expect(growthOf(days, 0)).toEqual({ runsPerDay: 700, perDay: 0 });
    }
  });

  it('finds a line, and where it ends', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1000, max: 1_000_000 }),
        fc.integer({ min: -10, max: 1000 }),
        fc.integer({ min: 14, max: 80 }),
        (base, perDay, count) => {
          const days = Array.from({ length: count }, (_, day) => base + perDay * (day + 0.5));
          const growth = growthOf(days, 0);
          expect(growth.perDay).toBeCloseTo(perDay, 6);
          expect(growth.runsPerDay).toBeCloseTo(base + perDay * count, 4);
        },
      ),
    );
  });
});

describe('daysUntilRate', () => {
  const growth = { runsPerDay: 1000, perDay: 10 };

  it('is when the runs a day have grown as much as the limit allows', () => {
    expect(daysUntilRate(0.5, 1, growth)).toBe(100);
    expect(daysUntilRate(1, 1, growth)).toBe(0);
    expect(daysUntilRate(3, 1, { runsPerDay: 1000, perDay: null })).toBe(0);
  });

  it('is never without growth', () => {
    expect(daysUntilRate(0.5, 1, { runsPerDay: 1000, perDay: null })).toBeNull();
    expect(daysUntilRate(0.5, 1, { runsPerDay: 1000, perDay: -1 })).toBeNull();
    expect(daysUntilRate(0, 1, growth)).toBeNull();
  });
});

describe('daysUntilSum', () => {
  it('agrees with a sum made step by step', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 0, max: 10_000 }),
        fc.integer({ min: -20, max: 200 }),
        fc.integer({ min: 1, max: 3_000_000 }),
        (runsPerDay, perDay, room) => {
          const found = daysUntilSum(room, 2, { runsPerDay, perDay });
          // In steps of a hundredth of a day, for at most 400 days.
          let [sum, step] = [0, 0];
          while (sum < room && step < 40_000) {
            sum += Math.max(runsPerDay + perDay * ((step + 0.5) / 100), 0) * 0.02;
            step++;
          }
          if (sum >= room) {
            expect(found).not.toBeNull();
            expect(Math.abs((found ?? 0) - step / 100)).toBeLessThan(0.1 + step / 5000);
          } else {
            expect(found ?? Number.POSITIVE_INFINITY).toBeGreaterThan(399);
          }
        },
      ),
    );
  });

  it('is 0 without room, and never without runs', () => {
    expect(daysUntilSum(0, 100, { runsPerDay: 1, perDay: 1 })).toBe(0);
    expect(daysUntilSum(-1, 100, { runsPerDay: 1, perDay: null })).toBe(0);
    expect(daysUntilSum(100, 1, { runsPerDay: 0, perDay: null })).toBeNull();
    expect(daysUntilSum(100, 0, { runsPerDay: 5, perDay: 5 })).toBeNull();
  });
});
