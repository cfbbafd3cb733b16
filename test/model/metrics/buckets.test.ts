// Buckets of durations, and percentiles estimated from them.
import { describe, expect, it } from 'vitest';
import { BUCKET_BOUNDS, percentile } from '../../../src/model/metrics/buckets.js';
import { fc } from '../../support/seed.js';

/** As the database counts: the upper bound is included. */
function countsOf(seconds: readonly number[]): number[] {
  const counts = Array.from({ length: BUCKET_BOUNDS.length + 1 }, () => 0);
  for (const each of seconds) {
    const found = BUCKET_BOUNDS.findIndex(bound => each <= bound);
    const index = found < 0 ? BUCKET_BOUNDS.length : found;
    counts[index] = (counts[index] ?? 0) + 1;
  }
  return counts;
}

it('buckets rise, each at most two and a half times the one before', () => {
  for (const [index, bound] of BUCKET_BOUNDS.entries()) {
    if (index === 0) continue;
    const ratio = bound / (BUCKET_BOUNDS[index - 1] as number);
    expect(ratio).toBeGreaterThan(1.9);
    expect(ratio).toBeLessThan(2.6);
  }
});

describe('percentile', () => {
  it('is null without a count', () => {
    expect(percentile([], 0.95)).toBeNull();
    expect(percentile(countsOf([]), 0.5)).toBeNull();
  });

  it('is interpolated within its bucket', () => {
    // Ten between 1 and 2 s.
    expect(percentile(countsOf(Array.from({ length: 10 }, () => 1.5)), 0.5)).toBeCloseTo(1.5);
    expect(percentile(countsOf([0.0005, 0.0005]), 1)).toBeCloseTo(0.001);
  });

  it('is the last bound for what lies above it', () => {
    expect(percentile(countsOf([1e6]), 0.95)).toBe(50_000);
  });

  it('lies in the bucket in which the true one lies', () => {
    fc.assert(
      fc.property(
        fc.array(fc.double({ min: 0, max: 60_000, noNaN: true }), { minLength: 1, maxLength: 200 }),
        fc.constantFrom(0.01, 0.5, 0.95, 0.99, 1),
        (seconds, share) => {
          const sorted = seconds.toSorted((a, b) => a - b);
          const exact = sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)] as number;
          const estimate = percentile(countsOf(seconds), share) as number;
          const found = BUCKET_BOUNDS.findIndex(bound => exact <= bound);
          const index = found < 0 ? BUCKET_BOUNDS.length : found;
          expect(estimate).toBeGreaterThanOrEqual(BUCKET_BOUNDS[index - 1] ?? 0);
          expect(estimate).toBeLessThanOrEqual(BUCKET_BOUNDS[index] ?? 50_000);
        },
      ),
    );
  });
});
