// Waiting that ends when something has changed, even if it changed before the wait began.

export interface Wakeup {
  /** Resolves after `ms`, or when `wake` is called; at once if it was called while nothing waited. */
  readonly change: (ms: number) => Promise<void>;
  readonly wake: () => void;
}

export function createWakeup(): Wakeup {
  let wakers: (() => void)[] = [];
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
      for (const wakeOne of woken) wakeOne();
    },
  };
}
