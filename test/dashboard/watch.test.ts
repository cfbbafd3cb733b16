// One look for all open pages: when it is made, and who is told.
import { afterEach, describe, expect, it } from 'vitest';
import type { Pulse } from '../../src/answers/now/figures.js';
import { createWatch, type Follower, type WatchTimes } from '../../src/dashboard/live/watch.js';
import { systemClock } from '../../src/environment/system-clock.js';
import { TockError } from '../../src/index.js';

const NEVER_MS = 600_000;
const followers: Follower[] = [];
afterEach(() => {
  for (const { leave } of followers.splice(0)) leave();
});

/** A watch whose looks the test answers, one by one; `notify` stands for a notification of changes. */
function open(times: WatchTimes = {}) {
  const looks: { readonly last: string; readonly answer: (read: Pulse | Error) => void }[] = [];
  let wake: () => void = () => undefined;
  let hears = 0;
  const watch = createWatch(
    {
      clock: systemClock,
      look: async last =>
        await new Promise((resolve, reject) => {
          looks.push({ last, answer: read => (read instanceof Error ? reject(read) : resolve(read)) });
        }),
      hear: async called => {
        wake = called;
        hears++;
        return () => hears--;
      },
    },
    { lookMs: NEVER_MS, writtenMs: NEVER_MS, quietMs: NEVER_MS, share: Number.POSITIVE_INFINITY, ...times },
  );
  const join = (seen: string) => {
    const follower = watch.join(seen);
    followers.push(follower);
    const told = { count: 0, hasEnded: false };
    const follow = async () => {
      if (!(await follower.next())) {
        told.hasEnded = true;
        return;
      }
      told.count++;
      void follow();
    };
    void follow();
    return { ...follower, told };
  };
  return {
    watch,
    join,
    looks,
    hears: () => hears,
    /** Answers the look that is under way, or comes next. */
    answer: async (seen: string, pulse: string | null) => await answered(looks, { seen, pulse }),
    fail: async (error = new Error('away')) => await answered(looks, error),
    notify: () => wake(),
  };
}

async function answered(looks: { answer: (read: Pulse | Error) => void }[], read: Pulse | Error) {
  // Many notifications in a short time are passed on later.
  for (const began = performance.now(); looks.length === 0 && performance.now() - began < 120_000; )
    await settled();
  looks.shift()?.answer(read);
  for (let turns = 0; turns < 5; turns++) await settled();
}
const settled = async () => await new Promise(resolve => setImmediate(resolve));

describe('a watch', () => {
  it('looks and listens only while a page is open', async () => {
    const { watch, join, looks, hears, answer } = open();
    await settled();
    expect([looks.length, hears()]).toEqual([0, 0]);
    const { leave } = join('a');
    expect([looks.length, hears()]).toEqual([1, 1]);
    await answer('a', '1');
    leave();
    await settled();
    await settled();
    expect([looks.length, hears(), watch.version]).toEqual([0, 0, 1]);
    join('a');
    expect([looks[0]?.last, hears()]).toEqual(['', 1]);
  });

  it('is one look for all pages; with the first, only those that show something older are told', async () => {
    const { join, looks, answer } = open();
    const [old, ...current] = [join('a'), ...Array.from({ length: 50 }, () => join('b'))];
    expect(looks.length).toBe(1);
    await answer('b', '1');
    expect([old?.told.count, ...current.map(({ told }) => told.count)]).toEqual([1, ...current.map(() => 0)]);
  });

  it('tells all of what shows another pulse, and nobody of what does not', async () => {
    const { watch, join, looks, answer, notify } = open();
    const [one, other] = [join('a'), join('a')];
    await answer('a', '1');
    notify();
    await settled();
    expect(looks[0]?.last).toBe('a');
    await answer('a', null);
    notify();
    await answer('b', '1');
    expect([one.told.count, other.told.count]).toEqual([0, 0]);
    const before = watch.version;
    notify();
    await answer('c', '2');
    expect([one.told.count, other.told.count, watch.seen]).toEqual([1, 1, 'c']);
    expect(watch.version).toBeGreaterThan(before);
  });

  it('tells after a while that something was written, whatever it was; and of time that has passed', async () => {
    const written = open({ writtenMs: 0 });
    const reader = written.join('a');
    await written.answer('a', '1');
    written.notify();
    await written.answer('a', null);
    expect(reader.told.count).toBe(0);
    written.notify();
    await written.answer('b', '1');
    expect(reader.told.count).toBe(1);
    const quiet = open({ quietMs: 0 });
    const other = quiet.join('a');
    await quiet.answer('a', '1');
    quiet.notify();
    await quiet.answer('a', null);
    expect(other.told.count).toBe(1);
  });

  it('rests as long as its last look demands, whatever is notified', async () => {
    const { join, looks, answer, notify, hears } = open({ share: 1e-9 });
    const { leave } = join('a');
    await answer('a', '1');
    notify();
    for (let turns = 0; turns < 100; turns++) await settled();
    expect([looks.length, hears()]).toEqual([0, 1]);
    leave();
    for (let turns = 0; turns < 5; turns++) await settled();
    expect([looks.length, hears()]).toEqual([0, 0]);
  });

  it('ends for all once its Tock is closed', async () => {
    const { join, looks, fail, hears } = open({ lookMs: 0 });
    const all = [join('a'), join('b')];
    await fail(new TockError('TOCK_CLOSED', 'this Tock is closed'));
    expect(all.map(({ told }) => told.hasEnded)).toEqual([true, true]);
    expect([looks.length, hears()]).toEqual([0, 0]);
  });

  it('tells of each look that fails: the pages ask, and say what it is', async () => {
    const { join, answer, fail, notify } = open();
    const { told } = join('a');
    await answer('a', '1');
    notify();
    await fail();
    expect(told.count).toBe(1);
    notify();
    await fail();
    expect(told.count).toBe(2);
    notify();
    await answer('a', null);
    expect(told.count).toBe(2);
  });
});
