// When a daemon announces that it is awake, and when that it may be asleep: tables of what notifications tell it
// and its claims find.
import { describe, expect, it } from 'vitest';
import {
  ASLEEP,
  afterClaim,
  afterStep,
  afterTold,
  nextStep,
  pauseMs,
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
const told = (state: Wakefulness, times: number) =>
  Array.from({ length: times }).reduce<Wakefulness>(before => afterTold(before), state);
/** It counts from zero on. */
const COUNTING = afterStep(ASLEEP, 'count', 0);

describe('a daemon that is asleep', () => {
  it('begins to count with its first claim', () => {
    expect(nextStep(after(ASLEEP, [[0, 1]]), 0)).toBe('count');
    expect(nextStep(COUNTING, 999)).toBe(null);
  });

  it('stays so while fewer than 20 notifications a second come, whatever it finds', () => {
    const state = told(after(COUNTING, [[1000, 50, true]]), 19);
    expect(nextStep(state, 1000)).toBe('count');
    expect(nextStep(told(state, 380), 20_000)).toBe('count');
  });

  it('asks whether NOTIFY is in the way where more come, and then once a second', () => {
    const state = told(COUNTING, 20);
    expect([nextStep(state, 999), nextStep(state, 1000)]).toEqual([null, 'checkNotifyLock']);
    const asked = told(afterStep(state, 'checkNotifyLock', 1000), 20);
    expect([asked.isAwake, nextStep(asked, 1999), nextStep(asked, 2000)]).toEqual([
      false,
      null,
      'checkNotifyLock',
    ]);
  });

  it('wakes up without a question where its worker goes on claiming by itself', () => {
    expect(nextStep(told(after(COUNTING, [[10, 5, true]]), 20), 1000)).toBe('wakeUp');
  });
});

describe('a daemon that is awake', () => {
  const AWAKE = afterStep(told(COUNTING, 20), 'wakeUp', 1000);

  it('claims again within milliseconds, less and less soon while it finds nothing', () => {
    const pauses: number[] = [];
    let state = AWAKE;
    for (const [now, claimed] of [
      [1000, 0],
      [1002, 0],
      [1004, 0],
      [1008, 0],
      [1016, 0],
      [1024, 3],
    ] as const) {
      state = after(state, [[now, claimed]]);
      pauses.push(pauseMs(state, now));
    }
    expect(pauses).toEqual([2, 2, 4, 8, 8, 2]);
  });

  it('is left alone while the worker goes on claiming by itself', () => {
    const state = after(AWAKE, [[1000, 10, true]]);
    expect([nextStep(state, 100_000), pauseMs(state, 100_000)]).toEqual([null, Number.POSITIVE_INFINITY]);
  });

  it('falls asleep after 100 ms without a run, however many notifications come', () => {
    expect([nextStep(AWAKE, 1099), nextStep(AWAKE, 1100)]).toEqual([null, 'fallAsleep']);
    const state = told(
      after(AWAKE, [
        [5000, 0],
        [5010, 1],
        [5109, 0],
      ]),
      1000,
    );
    expect([nextStep(state, 5109), nextStep(state, 5110)]).toEqual([null, 'fallAsleep']);
    const asleep = afterStep(state, 'fallAsleep', 5110);
    expect([asleep.isAwake, nextStep(asleep, 5111)]).toEqual([false, null]);
  });

  it('counts the end of what its worker found by itself as a find', () => {
    const state = after(AWAKE, [
      [1000, 10, true],
      [9000, 0],
    ]);
    expect([nextStep(state, 9099), nextStep(state, 9100)]).toEqual([null, 'fallAsleep']);
  });
});
