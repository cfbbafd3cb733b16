// A wait that ends when something has changed, even if that was before the wait began.
import type { Clock } from '../../model/clock.js';

/**
 * Why a wait has ended. `idle`: no run is left, and nothing else has changed. `notified`: runs were enqueued,
 * and nothing else has changed.
 */
export type WakeCause = 'time' | 'idle' | 'notified' | 'change';
type Change = Exclude<WakeCause, 'time'>;

/** Of several changes that were missed, the one that comes last here counts. */
const CHANGES: readonly Change[] = ['idle', 'notified', 'change'];

export interface Wakeup {
  /** Resolves after `ms`, or when `wake` is called; at once if `wake` was called while nothing waited. */
  readonly change: (ms: number) => Promise<WakeCause>;
  /** @param cause default `change` */
  readonly wake: (cause?: Change) => void;
}

export function createWakeup(clock: Clock): Wakeup {
  const wakers = new Set<(cause: WakeCause) => void>();
  /** The change that came while nothing waited. */
  let missed: Change | null = null;
  return {
    async change(ms) {
      if (missed !== null) {
        const cause = missed;
        missed = null;
        return cause;
      }
      return await new Promise<WakeCause>(resolve => {
        const end = (cause: WakeCause = 'time') => {
          clock.clear(timer);
          wakers.delete(end);
          resolve(cause);
        };
        const timer = clock.setTimeout(end, ms);
        wakers.add(end);
      });
    },
    wake: (cause = 'change') => {
      if (wakers.size === 0) missed = CHANGES.findLast(each => each === missed || each === cause) ?? cause;
      for (const end of wakers) end(cause);
    },
  };
}
