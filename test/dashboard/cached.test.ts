// Answers that several readers share: how long they are kept, and what readers get while a long read goes on.
import { beforeEach, describe, expect, it } from 'vitest';
import { cachedByCost } from '../../src/dashboard/cached.js';

let now = 0;
let reads = 0;
/** Ends the read that is under way, which has then taken so long. */
let end: (tookMs: number) => void;
let fail: (error: Error) => void;
let ask: () => Promise<number>;
beforeEach(() => {
  now = 0;
  reads = 0;
  const read = async () => {
    const value = ++reads;
    return await new Promise<number>((resolve, reject) => {
      end = tookMs => {
        now += tookMs;
        resolve(value);
      };
      fail = reject;
    });
  };
  const cached = cachedByCost(1000, read, () => now);
  ask = async () => await cached(null);
});
const answer = async (tookMs: number) => {
  const asked = ask();
  end(tookMs);
  return await asked;
};
const settled = async () => await new Promise(resolve => setImmediate(resolve));

describe('a read that is cached by its cost', () => {
  it('is kept for a while if it was quick, and waited for then', async () => {
    expect(await answer(10)).toBe(1);
    now += 999;
    expect(await ask()).toBe(1);
    now += 1;
    expect(await answer(10)).toBe(2);
  });

  it('is read once for all who ask at once', async () => {
    const asked = [ask(), ask(), ask()];
    end(10);
    expect(await Promise.all(asked)).toEqual([1, 1, 1]);
  });

  it('that took long is kept for twenty times as long, and its last answer is given while it is read again', async () => {
    expect(await answer(2000)).toBe(1);
    now += 39_999;
    expect([await ask(), reads]).toEqual([1, 1]);
    now += 1;
    expect([await ask(), await ask(), reads]).toEqual([1, 1, 2]);
    end(2000);
    await settled();
    expect([await ask(), reads]).toEqual([2, 2]);
  });

  it('is waited for where the last answer is too old', async () => {
    expect(await answer(2000)).toBe(1);
    now += 70_001;
    expect(await answer(2000)).toBe(2);
  });

  it('that fails is read again by the next who asks', async () => {
    const asked = ask();
    fail(new Error('away'));
    await expect(asked).rejects.toThrow('away');
    expect(await answer(10)).toBe(2);
  });

  it('that fails while nobody waits fails nothing; the next who asks waits', async () => {
    expect(await answer(2000)).toBe(1);
    now += 40_000;
    expect(await ask()).toBe(1);
    fail(new Error('away'));
    await settled();
    expect(await answer(10)).toBe(3);
  });
});
