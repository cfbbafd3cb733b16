// Room: test support. A clock whose time stands until the test moves it.
// In: how to know that all is done that a timer has begun. Out: the clock, and its hands.
import type { Clock, Timer } from '../../src/model/clock.js';

export interface VirtualClock extends Clock {
  /** When the next timer is due; null: none waits. */
  readonly next: () => number | null;
  /** How many timers wait. */
  readonly waiting: () => number;
  /** How many of them keep a process alive. */
  readonly holding: () => number;
  /** Moves time on, and calls what comes due on the way, at its time. Does not wait for what that begins. */
  readonly pass: (ms: number) => void;
  /**
   * The same, but after each timer all settles that it has begun, before time moves on. So nothing is ever under way
   * while time moves, and the same calls always lead to the same order of things.
   */
  readonly advance: (ms: number) => Promise<void>;
}

export interface VirtualClockOptions {
  /** What `now` says at first. */
  readonly startsAt?: number;
  /** Resolves when nothing is under way any more. Default: after a few turns of the event loop. */
  readonly settle?: () => Promise<void>;
  /** Time has moved, and no timer of that time was called yet: moves other clocks along. Only by `advance`. */
  readonly onMoved?: (now: number) => Promise<void>;
}

interface Waiting {
  readonly work: () => void;
  readonly everyMs: number | null;
  at: number;
  isHolding: boolean;
  /** Of two that are due at the same time, the one that was set first comes first. */
  order: number;
}

/** What Node takes for a millisecond, it does here too. */
const MAX_MS = 2 ** 31 - 1;
const asNode = (ms: number) => (ms >= 1 && ms <= MAX_MS ? Math.trunc(ms) : 1);

/** One turn of the event loop lets all promise jobs run; what waits for setImmediate needs one more. */
const TURNS = 4;

/** Lets some turns of the event loop pass. */
export async function turns(count = TURNS): Promise<void> {
  for (let turn = 0; turn < count; turn++) await new Promise(resolve => setImmediate(resolve));
}

export function createVirtualClock({
  startsAt = 0,
  settle = turns,
  onMoved = async () => undefined,
}: VirtualClockOptions = {}): VirtualClock {
  const timers = new Set<Waiting>();
  let now = startsAt;
  let set = 0;
  let isAdvancing = false;

  const begin = (work: () => void, ms: number, isRepeated: boolean): Timer => {
    const afterMs = asNode(ms);
    // Node counts from the whole millisecond, so its timers may come a moment early.
    const at = Math.floor(now) + afterMs;
    const waiting = { work, everyMs: isRepeated ? afterMs : null, at, isHolding: true, order: set++ };
    timers.add(waiting);
    return Object.assign(waiting, { unref: () => void (waiting.isHolding = false) });
  };
  const first = (until = Number.POSITIVE_INFINITY): Waiting | undefined => {
    let found: Waiting | undefined;
    for (const timer of timers) {
      const isSooner =
        found === undefined || timer.at < found.at || (timer.at === found.at && timer.order < found.order);
      if (timer.at <= until && isSooner) found = timer;
    }
    return found;
  };
  const call = (timer: Waiting) => {
    if (timer.everyMs === null) timers.delete(timer);
    else Object.assign(timer, { at: timer.at + timer.everyMs, order: set++ });
    timer.work();
  };
  const clear = (timer: Timer | undefined) => void timers.delete(timer as unknown as Waiting);

  return {
    now: () => now,
    setTimeout: (work, ms) => begin(work, ms, false),
    setInterval: (work, ms) => begin(work, ms, true),
    clear,
    sleep: (ms, signal) =>
      new Promise((resolve, reject) => {
        const stop = () => {
          clear(timer);
          reject(
            Object.assign(new Error('the sleep was aborted'), { name: 'AbortError', cause: signal?.reason }),
          );
        };
        const end = () => {
          signal?.removeEventListener('abort', stop);
          resolve();
        };
        const timer = begin(end, ms, false);
        if (signal?.aborted) stop();
        signal?.addEventListener('abort', stop, { once: true });
      }),
    next: () => first()?.at ?? null,
    waiting: () => timers.size,
    holding: () => [...timers].filter(timer => timer.isHolding).length,
    pass(ms) {
      const until = now + ms;
      for (let timer = first(until); timer !== undefined; timer = first(until)) {
        now = Math.max(now, timer.at);
        call(timer);
      }
      now = until;
    },
    async advance(ms) {
      if (isAdvancing) throw new Error('time is moving already: await one advance before the next');
      isAdvancing = true;
      try {
        const until = now + ms;
        const moveTo = async (at: number) => {
          if (at <= now) return;
          now = at;
          await onMoved(now);
        };
        await settle();
        for (let timer = first(until); timer !== undefined; timer = first(until)) {
          await moveTo(timer.at);
          call(timer);
          await settle();
        }
        await moveTo(until);
      } finally {
        isAdvancing = false;
      }
    },
  };
}
