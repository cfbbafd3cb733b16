// How many runs to prefetch, by the recent throughput.
import { describe, expect, it } from 'vitest';
import { createThroughput, MAX_PREFETCHED } from '../../../src/engine/claim/prefetch.js';

describe('createThroughput', () => {
  /** Ends `perMs` runs each millisecond for `ms`. Returns the time after that. */
  const run = (throughput: ReturnType<typeof createThroughput>, perMs: number, ms: number, from = 0) => {
    for (let at = from; at < from + ms; at++)
      for (let count = 0; count < perMs; count++) throughput.recordEnd(at);
    return from + ms;
  };

  it('prefetches nothing before a run has ended, nor with slow handlers', () => {
    const throughput = createThroughput();
    expect(throughput.prefetchTarget(1000)).toBe(0);
    for (let at = 1000; at < 20_000; at += 1000) throughput.recordEnd(at);
    expect(throughput.prefetchTarget(20_000)).toBe(0);
  });

  it('prefetches what starts within 50 ms, up to its maximum', () => {
    const throughput = createThroughput();
    const now = run(throughput, 2, 300);
    expect(throughput.prefetchTarget(now)).toBeGreaterThan(80);
    expect(throughput.prefetchTarget(now)).toBeLessThanOrEqual(100);
    expect(throughput.prefetchTarget(run(throughput, 100, 300, now))).toBe(MAX_PREFETCHED);
  });

  it('prefetches more where claims take long, but not more than starts within a second', () => {
    const throughput = createThroughput();
    const now = run(throughput, 2, 300);
    const quick = throughput.prefetchTarget(now);
    for (let count = 0; count < 50; count++) throughput.recordClaim(1000, 1020);
    expect(throughput.prefetchTarget(now)).toBe(quick);
    for (let count = 0; count < 50; count++) throughput.recordClaim(1000, 1050);
    expect(throughput.prefetchTarget(now) / quick).toBeCloseTo(2, 1);
    for (let count = 0; count < 50; count++) throughput.recordClaim(1000, 10_000);
    expect(throughput.prefetchTarget(now) / quick).toBeCloseTo(20, 0);
  });

  it('prefetches fewer runs the larger their payloads are', () => {
    const throughput = createThroughput();
    for (let at = 0; at < 300; at++)
      for (let count = 0; count < 50; count++) throughput.recordEnd(at, 2 ** 20);
    expect(throughput.prefetchTarget(300)).toBe(8);
  });

  it('is zero after a long silence, and at once after a reset', () => {
    const throughput = createThroughput();
    const now = run(throughput, 10, 300);
    throughput.reset(now);
    expect(throughput.prefetchTarget(now)).toBe(0);
    const later = run(throughput, 10, 300, now);
    expect(throughput.prefetchTarget(later + 60_000)).toBe(0);
  });

  it('counts from a reset on: what was idle before it does not lower the throughput', () => {
    const throughput = createThroughput();
    throughput.prefetchTarget(run(throughput, 10, 300));
    throughput.reset(309);
    expect(throughput.prefetchTarget(run(throughput, 10, 10, 309))).toBeGreaterThan(450);
  });
});
