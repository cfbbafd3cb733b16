// Pauses, and work that is done again and again, which end early when it is all over.
import { setMaxListeners } from 'node:events';

/** Resolves after so long, or when the signal aborts. */
export function sleep(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise(resolve => {
    if (signal.aborted || ms <= 0) return resolve();
    const end = () => {
      clearTimeout(timer);
      signal.removeEventListener('abort', end);
      resolve();
    };
    const timer = setTimeout(end, ms);
    signal.addEventListener('abort', end);
  });
}

export interface Loop {
  /** Aborts when it is to end. */
  readonly signal: AbortSignal;
  /** Resolves when the turn that is under way has ended. */
  readonly stop: () => Promise<void>;
}

/** Until it is stopped, or the signal aborts. The server may be away: what fails is done in a later turn. */
export function startLoop(
  until: AbortSignal,
  everyMs: () => number,
  turn: (signal: AbortSignal) => Promise<unknown>,
): Loop {
  const over = new AbortController();
  const signal = AbortSignal.any([until, over.signal]);
  setMaxListeners(0, signal);
  const live = async () => {
    // What is turned may need what the caller makes of this.
    await Promise.resolve();
    while (!signal.aborted) {
      await turn(signal).catch(() => undefined);
      await sleep(everyMs(), signal);
    }
  };
  const lived = live();
  return {
    signal,
    async stop() {
      over.abort();
      await lived;
    },
  };
}
