// When a daemon announces that it is awake, and when that it may be asleep: tables of what its claims find.
import { describe, expect, it } from 'vitest';
import {
  ASLEEP,
  afterClaim,
  afterFallingAsleep,
  afterFreeNotifyLock,
  afterWakingUp,
  maxSleepMs,
  nextStep,
  type Wakefulness,
} from '../../src/daemon/sleeper.js';

/** Claims at these instants, each with what it found. */
const after = (
  state: Wakefulness,
  claims: readonly (readonly [now: number, claimed: number, hasMore?: boolean])[],
) =>
  claims.reduce(
    (before, [now, claimed, hasMore = false]) => afterClaim(before, { now, claimed, hasMore }),
    state,
  );
/** A claim that found one run, every so many milliseconds. */
const steadily = (fromMs: number, untilMs: number, everyMs: number) =>
  Array.from(
    { length: Math.floor((untilMs - fromMs) / everyMs) + 1 },
    (_, index) => [fromMs + index * everyMs, 1] as const,
  );

describe('a daemon that is asleep', () => {
  it('stays so while runs come one by one with pauses, however many', () => {
    const state = after(ASLEEP, steadily(0, 60_000, 51));
    expect([nextStep(state, 60_000), maxSleepMs(state, 60_000)]).toEqual([null, Number.POSITIVE_INFINITY]);
  });

  it('asks whether NOTIFY is in the way after a second without a pause, and then once a second', () => {
    const before = after(ASLEEP, steadily(0, 999, 1));
    expect(nextStep(before, 999)).toBe(null);
    const state = after(before, [[1000, 1]]);
    expect(nextStep(state, 1000)).toBe('checkNotifyLock');
    const asked = after(afterFreeNotifyLock(state, 1000), steadily(1001, 1999, 1));
    expect(nextStep(asked, 1999)).toBe(null);
    expect(nextStep(after(asked, [[2000, 1]]), 2000)).toBe('checkNotifyLock');
  });

  it('begins anew after a pause', () => {
    const state = after(ASLEEP, [...steadily(0, 900, 10), ...steadily(951, 1951, 10)]);
    expect(nextStep(state, 1950)).toBe(null);
    expect(nextStep(state, 1951)).toBe('checkNotifyLock');
  });

  it('finds nothing in a claim now and then, as when another was quicker', () => {
    const state = after(
      ASLEEP,
      steadily(0, 1000, 10).map(([now], index) => [now, 1 - (index % 2)] as const),
    );
    expect(nextStep(state, 1000)).toBe('checkNotifyLock');
  });

  it('wakes up after a second with a backlog, without a question, and is there at that time', () => {
    const state = after(ASLEEP, [[0, 10, true]]);
    expect([nextStep(state, 999), maxSleepMs(state, 400)]).toEqual([null, 600]);
    expect(nextStep(after(state, [[1000, 0, true]]), 1000)).toBe('wakeUp');
  });

  it('counts a backlog up to its end', () => {
    const state = after(ASLEEP, [[0, 10, true], [900, 0], ...steadily(910, 1000, 10)]);
    expect(nextStep(state, 1000)).toBe('checkNotifyLock');
  });
});

describe('a daemon that is awake', () => {
  const AWAKE = afterWakingUp(after(ASLEEP, [[0, 10, true]]), 1000);

  it('claims again within milliseconds, less and less soon while it finds nothing', () => {
    const pauses: number[] = [];
    let state = AWAKE;
    for (const [now, claimed] of [
      [1000, 0],
      [1001, 0],
      [1002, 0],
      [1003, 0],
      [1004, 3],
    ] as const) {
      state = after(state, [[now, claimed]]);
      pauses.push(maxSleepMs(state, now));
    }
    expect(pauses).toEqual([2, 4, 8, 8, 2]);
  });

  it('is left alone while the worker goes on claiming by itself', () => {
    expect([nextStep(AWAKE, 100_000), maxSleepMs(AWAKE, 100_000)]).toEqual([null, Number.POSITIVE_INFINITY]);
  });

  it('falls asleep after 100 ms without a run', () => {
    const state = after(AWAKE, [
      [5000, 0],
      [5010, 1],
      [5109, 0],
    ]);
    expect([nextStep(state, 5109), nextStep(state, 5110)]).toEqual([null, 'fallAsleep']);
  });

  it('must be busy for twice as long after it was awake for too short, for a minute at most', () => {
    let state = afterFallingAsleep(AWAKE, 10_999);
    expect(state).toMatchObject({ isAwake: false, busySince: null, busyMs: 2000 });
    for (let times = 0; times < 9; times++) state = afterFallingAsleep(afterWakingUp(state, 0), 1);
    expect(state.busyMs).toBe(60_000);
    expect(afterFallingAsleep(afterWakingUp(state, 0), 600_000).busyMs).toBe(1000);
  });
});
