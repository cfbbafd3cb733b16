// Answers that several readers share: how long they are kept, and what readers get while a long read goes on.
import { beforeEach, describe, expect, it } from 'vitest';
import { cached, cachedByCost, type Shared } from '../../src/dashboard/cached.js';
import { inTime } from '../../src/environment/in-time.js';

let now = 0;
let reads = 0;
/** Ends the read that is under way, which has then taken so long. */
let end: (tookMs: number) => void;
let fail: (error: Error) => void;
let ask: () => Promise<number>;
let askShared: () => Promise<Shared<number>>;
let askCached: () => Promise<number>;
let version = 0;
beforeEach(() => {
  now = 0;
  reads = 0;
  version = 0;
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
  const clock = () => now;
  const versionOf = () => version;
  const byCost = cachedByCost(1000, read, { clock, versionOf });
  const simply = cached(1000, read, { clock, versionOf });
  askShared = async () => await byCost(null);
  ask = async () => (await askShared()).value;
  askCached = async () => await simply(null);
});
const answer = async (tookMs: number) => {
  const asked = ask();
  end(tookMs);
  return await asked;
};
const settled = async () => await new Promise(resolve => setImmediate(resolve));

describe('a read that is cached', () => {
  it('is shared for a while, and read anew for those who were told of something newer', async () => {
    const first = askCached();
    version++;
    const second = askCached();
    end(0);
    expect([await second, await askCached(), reads]).toEqual([2, 2, 2]);
    // Whoever had asked before waits for what was read before.
    void first;
  });

  it('is read anew once it is old, and after a failure', async () => {
    const read = async () => {
      const asked = askCached();
      end(10);
      return await asked;
    };
    expect(await read()).toBe(1);
    now = 999;
    expect(await read()).toBe(1);
    now = 1000;
    const failing = askCached();
    fail(new Error('away'));
    await expect(failing).rejects.toThrow('away');
    expect(await read()).toBe(3);
  });
});

describe('a read that is cached by its cost', () => {
  it('is read anew for those who were told of something newer, unless it took long', async () => {
    expect(await answer(10)).toBe(1);
    now += 199;
    version++;
    expect(await ask()).toBe(1);
    now += 1;
    expect(await answer(10)).toBe(2);
  });

  it('says that it is older than what its reader was told of, also to those who wait for a read that began before', async () => {
    const first = askShared();
    version++;
    const joined = askShared();
    end(2000);
    expect([await first, await joined]).toEqual([
      { value: 1, isStale: false },
      { value: 1, isStale: true },
    ]);
    expect(await askShared()).toEqual({ value: 1, isStale: true });
    now += 40_000;
    expect(await askShared()).toEqual({ value: 1, isStale: true });
    end(2000);
    await settled();
    expect(await askShared()).toEqual({ value: 2, isStale: false });
  });

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

it('a read that a page can do without is given up where it takes too long', async () => {
  expect(await inTime(new Promise(() => undefined), 0)).toBeNull();
  expect(await inTime(Promise.resolve(1), 60_000)).toBe(1);
});
