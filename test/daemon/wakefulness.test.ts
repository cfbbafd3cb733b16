// When a daemon announces that it is awake, and when that it may be asleep: tables of what its claims found.
import { describe, expect, it } from 'vitest';
import {
  ASLEEP,
  afterClaim,
  afterStep,
  type Found,
  nextStep,
  type Wakefulness,
} from '../../src/daemon/sleeper.js';

type Claim = readonly [now: number, claimed: number, hasMore?: boolean];
const found = ([now, claimed, hasMore = false]: Claim): Found => ({ now, claimed, hasMore });

/** What it does at each of these claims, with how many runs it had claimed until then. */
function at(first: Wakefulness, claims: readonly Claim[]) {
  let state = first;
  return claims.map(claim => {
    state = afterClaim(state, found(claim));
    const step = nextStep(state, found(claim));
    if (step !== null) state = afterStep(state, step, found(claim));
    return step;
  });
}

/** It has looked at zero. */
const RESTED = afterStep(ASLEEP, 'stay', found([0, 0]));
const AWAKE = afterStep(RESTED, 'wakeUp', found([0, 0]));

describe('a daemon that is asleep', () => {
  it('looks with its first claim, and then once a second', () => {
    const claims = [0, 10, 999, 1000, 1999, 2000].map(now => [now, 0] as const);
    expect(at(ASLEEP, claims)).toEqual(['stay', null, null, 'stay', null, 'stay']);
  });

  it('asks whether NOTIFY is in the way if it has claimed 50 runs in a second', () => {
    expect(at(RESTED, [[1000, 49]])).toEqual(['stay']);
    expect(at(RESTED, [[1000, 50]])).toEqual(['checkNotifyLock']);
    expect(at(RESTED, [[20_000, 999]])).toEqual(['stay']);
  });

  it('stays asleep if it is not, and looks again after a second', () => {
    const claims: Claim[] = [
      [1000, 60],
      [1999, 120],
      [2000, 120],
      [3000, 130],
    ];
    expect(at(RESTED, claims)).toEqual(['checkNotifyLock', null, 'checkNotifyLock', 'stay']);
  });

  it('wakes up without a question after a second with a backlog, however few runs it claims', () => {
    const claims: Claim[] = [
      [10, 5, true],
      [500, 6, true],
      [1000, 7, true],
      [2000, 8, true],
    ];
    expect(at(RESTED, claims)).toEqual([null, null, 'stay', 'wakeUp']);
  });

  it('has no backlog where a claim has filled it, and the next finds nothing more', () => {
    const claims: Claim[] = [
      [10, 1, true],
      [500, 1],
      [990, 2, true],
      [1000, 2, true],
    ];
    expect(at(RESTED, claims)).toEqual([null, null, null, 'stay']);
  });
});

describe('a daemon that is awake', () => {
  it('falls asleep after a second in which it has claimed fewer than 50 runs', () => {
    const claims: Claim[] = [
      [999, 10],
      [1000, 50],
      [2000, 99],
    ];
    expect(at(AWAKE, claims)).toEqual([null, 'stay', 'fallAsleep']);
  });

  it('stays awake while it has a backlog', () => {
    const claims: Claim[] = [
      [1000, 1, true],
      [6000, 2, true],
      [7000, 3],
    ];
    expect(at(AWAKE, claims)).toEqual(['stay', 'stay', 'fallAsleep']);
  });
});
