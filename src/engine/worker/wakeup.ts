// Room: engine. Waiting that ends when something has changed.
// In: how long at most. Out: a promise that resolves at the next change, or at one that nobody has waited for yet.

export interface Wakeup {
  /** Resolves when `wake` is called, also if that was since the last call; or after `ms`. */
  readonly change: (ms: number) => Promise<void>;
  readonly wake: () => void;
}

/** A wake-up that nobody has called yet. */
export function createWakeup(): Wakeup {
  let wakers: (() => void)[] = [];
  /** Something changed while nobody waited for it; the next who would wait looks again at once. */
  let hasChanged = false;
  return {
    async change(ms) {
      if (hasChanged) {
        hasChanged = false;
        return;
      }
      await new Promise<void>(resolve => {
        const timer = setTimeout(resolve, ms);
        wakers.push(() => {
          clearTimeout(timer);
          resolve();
        });
      });
    },
    wake: () => {
      const woken = wakers;
      wakers = [];
      hasChanged = woken.length === 0;
      for (const each of woken) each();
    },
  };
}
