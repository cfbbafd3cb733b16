// How often notifications make a worker check.
import { beforeEach, describe, expect, it } from 'vitest';
import {
  createNotificationLimiter,
  type NotificationLimiter,
} from '../../../src/engine/claim/notification-limiter.js';
import { createVirtualClock, type VirtualClock } from '../../support/virtual-clock.js';

let limiter: NotificationLimiter;
let checks: number;
let clock: VirtualClock;
beforeEach(() => {
  checks = 0;
  clock = createVirtualClock();
  limiter = createNotificationLimiter(clock, () => checks++);
});
const pass = (ms: number) => clock.pass(ms);

describe('createNotificationLimiter', () => {
  it('checks at once, then after pauses that double up to a quarter of a second', () => {
    limiter.notified();
    expect(checks).toBe(1);
    for (const pauseMs of [5, 10, 20, 40, 80, 160, 250, 250]) {
      const before = checks;
      limiter.notified();
      pass(pauseMs - 1);
      expect(checks).toBe(before);
      pass(1);
      expect(checks).toBe(before + 1);
    }
  });

  it('checks once for many notifications', () => {
    for (let count = 0; count < 100; count++) limiter.notified();
    pass(1000);
    expect(checks).toBe(2);
  });

  it('checks at once again after a check that found something', () => {
    for (let round = 1; round <= 3; round++) {
      limiter.notified();
      expect(checks).toBe(round);
      limiter.found();
    }
  });

  it('checks no more once it is closed, not even for a later notification', () => {
    limiter.notified();
    limiter.notified();
    limiter.close();
    limiter.notified();
    pass(1000);
    expect([checks, clock.waiting()]).toEqual([1, 0]);
  });
});
