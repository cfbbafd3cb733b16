// How often notifications make a worker look.
import { performance } from 'node:perf_hooks';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { createNotificationLimiter, type NotificationLimiter } from '../../../src/engine/claim/notification-limiter.js';

let limiter: NotificationLimiter;
let looks: number;
let now: number;
beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  [now, looks] = [0, 0];
  vi.spyOn(performance, 'now').mockImplementation(() => now);
  limiter = createNotificationLimiter(() => looks++);
});
afterEach(() => {
  vi.restoreAllMocks();
  vi.useRealTimers();
});
const pass = (ms: number) => {
  now += ms;
  vi.advanceTimersByTime(ms);
};

describe('createNotificationLimiter', () => {
  it('looks at once, then after pauses that double up to a quarter of a second', () => {
    limiter.notified();
    expect(looks).toBe(1);
    for (const pauseMs of [5, 10, 20, 40, 80, 160, 250, 250]) {
      const before = looks;
      limiter.notified();
      pass(pauseMs - 1);
      expect(looks).toBe(before);
      pass(1);
      expect(looks).toBe(before + 1);
    }
  });

  it('looks once for many notifications', () => {
    for (let count = 0; count < 100; count++) limiter.notified();
    pass(1000);
    expect(looks).toBe(2);
  });

  it('looks at once again after a look that found something', () => {
    for (let round = 1; round <= 3; round++) {
      limiter.notified();
      expect(looks).toBe(round);
      limiter.found();
    }
  });

  it('looks no more once it is closed, not even for a later notification', () => {
    limiter.notified();
    limiter.notified();
    limiter.close();
    limiter.notified();
    pass(1000);
    expect([looks, vi.getTimerCount()]).toEqual([1, 0]);
  });
});
