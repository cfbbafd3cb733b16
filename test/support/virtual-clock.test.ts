// The clock of tests: it stands, and calls what is due in its order.
import { beforeEach, describe, expect, it } from 'vitest';
import { createVirtualClock, turns, type VirtualClock } from './virtual-clock.js';

let clock: VirtualClock;
/** What was called, and when. */
let called: string[];
const note = (name: string) => () => void called.push(`${name} at ${clock.now()}`);
beforeEach(() => {
  called = [];
  clock = createVirtualClock({ startsAt: 100 });
});

describe('a virtual clock', () => {
  it('stands, whatever is set, until it is moved', async () => {
    clock.setTimeout(note('a'), 1);
    await turns();
    expect([called, clock.now(), clock.next()]).toEqual([[], 100, 101]);
    await clock.advance(0);
    expect([called, clock.now()]).toEqual([[], 100]);
  });

  it.each([
    ['pass', (ms: number) => Promise.resolve(clock.pass(ms))],
    ['advance', (ms: number) => clock.advance(ms)],
  ])('calls what comes due at its time, of two at once the first that was set, by %s', async (_how, move) => {
    clock.setTimeout(note('late'), 20);
    clock.setTimeout(note('first'), 10);
    clock.setTimeout(note('second'), 10);
    clock.setTimeout(note('soon'), 5);
    clock.setTimeout(note('not yet'), 21);
    await move(20);
    expect(called).toEqual(['soon at 105', 'first at 110', 'second at 110', 'late at 120']);
    expect([clock.now(), clock.next(), clock.waiting()]).toEqual([120, 121, 1]);
  });

  it('repeats an interval until it is cleared, and calls nothing that was cleared', async () => {
    const gone = clock.setTimeout(note('gone'), 15);
    const every = clock.setInterval(note('every'), 10);
    clock.setTimeout(() => clock.clear(gone), 12);
    await clock.advance(25);
    clock.clear(every);
    clock.clear(undefined);
    await clock.advance(100);
    expect([called, clock.waiting()]).toEqual([['every at 110', 'every at 120'], 0]);
  });

  it('takes for a millisecond what Node does', async () => {
    for (const ms of [0, -5, Number.NaN, 2 ** 31, 1.9]) clock.setTimeout(note(String(ms)), ms);
    clock.setTimeout(note('longest'), 2 ** 31 - 1);
    await clock.advance(1);
    expect([called.length, clock.next()]).toEqual([5, 100 + 2 ** 31 - 1]);
  });

  it('calls what a call has set, at its time', async () => {
    const again = () => {
      note('again')();
      if (called.length < 3) clock.setTimeout(again, 10);
    };
    clock.setTimeout(again, 10);
    await clock.advance(1000);
    expect(called).toEqual(['again at 110', 'again at 120', 'again at 130']);
  });

  it('lets all settle that a timer has begun, before time moves on', async () => {
    let isUnderWay = false;
    clock = createVirtualClock({
      async settle() {
        while (isUnderWay) await turns(1);
      },
      async onMoved(now) {
        called.push(`moved to ${now}, ${isUnderWay ? 'too early' : 'in time'}`);
      },
    });
    const work = async () => {
      isUnderWay = true;
      await turns(10);
      clock.setTimeout(note('what it has set'), 5);
      isUnderWay = false;
    };
    clock.setTimeout(() => void work(), 10);
    clock.setTimeout(note('other'), 10);
    await clock.advance(20);
    expect(called).toEqual([
      'moved to 10, in time',
      'other at 10',
      'moved to 15, in time',
      'what it has set at 15',
      'moved to 20, in time',
    ]);
  });

  it('sleeps until its time, or until the signal aborts', async () => {
    const stop = new AbortController();
    const slept = clock.sleep(10).then(note('slept'));
    const stopped = clock.sleep(10, stop.signal).catch((error: Error) => called.push(error.name));
    stop.abort();
    await clock.advance(10);
    await Promise.all([slept, stopped]);
    expect([called, clock.waiting()]).toEqual([['AbortError', 'slept at 110'], 0]);
    await expect(clock.sleep(10, stop.signal)).rejects.toThrow('aborted');
  });

  it('moves once at a time, and stops at an error', async () => {
    const moving = clock.advance(1);
    await expect(clock.advance(1)).rejects.toThrow('moving already');
    await moving;
    clock.setTimeout(() => {
      throw new Error('broken');
    }, 1);
    await expect(clock.advance(10)).rejects.toThrow('broken');
    expect(clock.now()).toBe(102);
    await clock.advance(1);
    expect(clock.now()).toBe(103);
  });
});
