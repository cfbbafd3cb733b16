import { describe, expect, it } from 'vitest';
import { jitterMs } from '../../../src/model/schedule/jitter.js';

const MINUTE = 60_000;
const names = Array.from({ length: 6000 }, (_, index) => `report-${index}`);

describe('jitterMs', () => {
  it('is fixed for a name', () => {
    // Pinned: another value would move every definition's delay.
    expect(
      ['a', 'b', 'nightly-report', '', '€'].map(name =>
        jitterMs(name, 10 * MINUTE, Number.POSITIVE_INFINITY),
      ),
    ).toEqual([455_000, 297_000, 405_000, 323_000, 331_000]);
  });

  it('is whole seconds, less than the jitter, and spread evenly', () => {
    const counts = new Map<number, number>();
    for (const name of names) {
      const delay = jitterMs(name, MINUTE, Number.POSITIVE_INFINITY);
      counts.set(delay, (counts.get(delay) ?? 0) + 1);
    }
    expect([...counts.keys()].sort((a, b) => a - b)).toEqual(
      Array.from({ length: 60 }, (_, second) => second * 1000),
    );
    expect(Math.max(...counts.values())).toBeLessThan(160);
    expect(Math.min(...counts.values())).toBeGreaterThan(60);
  });

  it('is less than the gap, so that occurrences keep their order', () => {
    for (const name of names) {
      expect(jitterMs(name, 60 * MINUTE, MINUTE)).toBeLessThan(MINUTE);
      const [free, capped] = [
        jitterMs(name, 60 * MINUTE, Number.POSITIVE_INFINITY),
        jitterMs(name, 60 * MINUTE, 30 * MINUTE),
      ];
      expect(capped).toBe(Math.min(free, 30 * MINUTE - 1000));
    }
    expect(jitterMs('nightly-report', 60 * MINUTE, 1000)).toBe(0);
    expect(jitterMs('nightly-report', 60 * MINUTE, 0)).toBe(0);
  });

  it('is 0 without jitter', () => {
    for (const none of [0, 999, -5000, Number.NaN]) expect(jitterMs('nightly-report', none, MINUTE)).toBe(0);
  });
});
