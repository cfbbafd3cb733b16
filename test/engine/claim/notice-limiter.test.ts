// How often notices make a worker look.
import { performance } from 'node:perf_hooks';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { createNoticeLimiter, type NoticeLimiter } from '../../../src/engine/claim/notice-limiter.js';

let limiter: NoticeLimiter;
let looks: number;
let now: number;
beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  [now, looks] = [0, 0];
  vi.spyOn(performance, 'now').mockImplementation(() => now);
  limiter = createNoticeLimiter(() => looks++);
});
afterEach(() => {
  vi.restoreAllMocks();
  vi.useRealTimers();
});
const pass = (ms: number) => {
  now += ms;
  vi.advanceTimersByTime(ms);
};

describe('createNoticeLimiter', () => {
  it('looks at once, then after pauses that double up to a quarter of a second', () => {
    limiter.notice();
    expect(looks).toBe(1);
    for (const pauseMs of [5, 10, 20, 40, 80, 160, 250, 250]) {
      const before = looks;
      limiter.notice();
      pass(pauseMs - 1);
      expect(looks).toBe(before);
      pass(1);
      expect(looks).toBe(before + 1);
    }
  });

  it('looks once for many notices', () => {
    for (let count = 0; count < 100; count++) limiter.notice();
    pass(1000);
    expect(looks).toBe(2);
  });

  it('looks at once again after a look that found something', () => {
    for (let round = 1; round <= 3; round++) {
      limiter.notice();
      expect(looks).toBe(round);
      limiter.found();
    }
  });

  it('looks no more once it is closed, not even for a later notice', () => {
    limiter.notice();
    limiter.notice();
    limiter.close();
    limiter.notice();
    pass(1000);
    expect([looks, vi.getTimerCount()]).toEqual([1, 0]);
  });
});
