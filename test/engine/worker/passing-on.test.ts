// Engine: when the slots of runs that end are passed on, and to how many runs.
import { beforeEach, describe, expect, it } from 'vitest';
import { createSlotPassing, type SlotPassing } from '../../../src/engine/worker/outcomes.js';

const NOW = 60_000;

let room: number;
let passing: SlotPassing<string>;
beforeEach(() => {
  room = 10;
  passing = createSlotPassing<string>({
    leaseMs: 60_000,
    queues: ['mail'],
    holdsSlot: run => run.startsWith('limited'),
    room: () => room - passing.awaited,
  });
});

describe('slots of runs that end', () => {
  it('are passed on after a claim, and no longer than half a second without another', () => {
    expect(passing.begin(['limited'], NOW)).toBeNull();
    passing.recordClaim(NOW - 501);
    expect(passing.begin(['limited'], NOW)).toBeNull();
    passing.recordClaim(NOW);
    expect(passing.begin(['limited'], NOW)).toMatchObject({ limit: 1, leaseMs: 60_000, queues: ['mail'] });
  });

  it('are passed on to as many runs as hold one, within the room that is left', () => {
    passing.recordClaim(NOW);
    expect(passing.begin(['free', 'free'], NOW)).toBeNull();
    const first = passing.begin(['limited 1', 'free', 'limited 2'], NOW);
    expect(first?.limit).toBe(2);
    room = 3;
    const second = passing.begin(['limited 3', 'limited 4'], NOW);
    expect(second?.limit).toBe(1);
    expect(passing.awaited).toBe(3);
    expect(passing.begin(['limited 5'], NOW)).toBeNull();
    if (first !== null) passing.end(first, 2);
    expect(passing.awaited).toBe(1);
    expect(passing.begin(['limited 5'], NOW)?.limit).toBe(1);
  });

  it('are kept after a hundred in a row were passed on in vain, until a run has waited for one', () => {
    const slots = Array.from({ length: 50 }, (_, index) => `limited ${index}`);
    room = 50;
    const passOnTo = (count: number) => {
      passing.recordClaim(NOW);
      const passingOn = passing.begin(slots, NOW);
      if (passingOn !== null) passing.end(passingOn, count);
      return passingOn !== null;
    };
    expect([passOnTo(0), passOnTo(1), passOnTo(0), passOnTo(0)]).toEqual([true, true, true, true]);
    expect([passOnTo(0), passing.awaited]).toEqual([false, 0]);
    passing.recordUnblocked();
    expect(passOnTo(0)).toBe(true);
  });
});
