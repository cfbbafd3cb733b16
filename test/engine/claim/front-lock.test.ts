// Engine: which claims wait for the front, and for how long none does after one has waited in vain.
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { createFrontLock } from '../../../src/engine/claim/front-lock.js';
import type { Claim } from '../../../src/store/runs/claim/claim.js';

const MANY = { limit: 2000, fromFront: true };
const CLAIMED: Claim = { runs: [], limited: [], positions: [], hasMore: false, walkMs: null };

let now: number;
let waits: number[];
beforeEach(() => {
  now = 0;
  waits = [];
  vi.spyOn(performance, 'now').mockImplementation(() => now);
});
afterEach(() => {
  vi.restoreAllMocks();
});

const claim = async (frontWaitMs: number) => {
  waits.push(frontWaitMs);
  return CLAIMED;
};
const failing = (code: string) => async (frontWaitMs: number) => {
  waits.push(frontWaitMs);
  if (frontWaitMs > 0) throw Object.assign(new Error('refused'), { code });
  return CLAIMED;
};

describe('a claim from the front', () => {
  it('waits for it where it asks for many runs, and no other claim does', async () => {
    const lock = createFrontLock();
    for (const limit of [999, 1000, 2000])
      expect(await lock.claim({ limit, fromFront: true }, claim)).toBe(CLAIMED);
    expect(waits).toEqual([0, 1000, 1000]);
    await lock.claim({ limit: 2000 }, claim);
    expect(waits.at(-1)).toBe(0);
  });

  it('goes on without it where it has waited in vain, and then none waits for a minute', async () => {
    const lock = createFrontLock();
    expect(await lock.claim(MANY, failing('55P03'))).toBe(CLAIMED);
    now = 59_999;
    await lock.claim(MANY, claim);
    now = 60_000;
    await lock.claim(MANY, claim);
    expect(waits).toEqual([1000, 0, 0, 1000]);
  });

  it('fails with any other error, and waits again with the next one', async () => {
    const lock = createFrontLock();
    await expect(lock.claim(MANY, failing('57014'))).rejects.toThrow('refused');
    await lock.claim(MANY, claim);
    expect(waits).toEqual([1000, 1000]);
  });
});
