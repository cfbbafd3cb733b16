// Holds a message's lease while its handler is at work: extends it every third, and says when it is lost.
import { performance } from 'node:perf_hooks';

export interface LeaseOptions {
  /** How long each extension lasts. */
  readonly leaseMs: number;
  /** What is left of the first lease. */
  readonly remainingMs: number;
  /** Resolves when the broker has confirmed the extension. */
  readonly extend: () => Promise<void>;
  /** Called once, if no extension was confirmed in time. */
  readonly onLost: () => void;
}

export interface HeldLease {
  readonly stop: () => void;
}

/** setTimeout counts in 32 bits. */
const MAX_TIMER_MS = 2 ** 31 - 1;
/** After an extension that was not confirmed. */
const MAX_RETRY_MS = 1000;

export function keepLease({ leaseMs, remainingMs, extend, onLost }: LeaseOptions): HeldLease {
  let endsAt = performance.now() + Math.min(remainingMs, leaseMs);
  let isOver = false;
  let next: NodeJS.Timeout | undefined;
  let end: NodeJS.Timeout | undefined;

  const stop = () => {
    isOver = true;
    clearTimeout(next);
    clearTimeout(end);
  };
  /** Whether the lease has ended; then it is lost. */
  const hasEnded = () => {
    if (isOver) return true;
    if (performance.now() < endsAt) return false;
    stop();
    onLost();
    return true;
  };
  const watchEnd = () => {
    clearTimeout(end);
    end = setTimeout(
      () => {
        if (!hasEnded()) watchEnd();
      },
      Math.min(endsAt - performance.now() + 1, MAX_TIMER_MS),
    );
  };
  const extendIn = (ms: number) => {
    next = setTimeout(() => void extendNow(), Math.min(ms, MAX_TIMER_MS));
  };
  const extendNow = async () => {
    // A process that was stopped for a while must not extend what has ended meanwhile.
    if (hasEnded()) return;
    const sentAt = performance.now();
    try {
      await extend();
      if (hasEnded()) return;
      // The relay counts from when it reads the answer, which is later.
      endsAt = Math.max(endsAt, sentAt + leaseMs);
      watchEnd();
      extendIn(leaseMs / 3);
    } catch {
      if (!isOver) extendIn(Math.min(MAX_RETRY_MS, leaseMs / 6));
    }
  };

  watchEnd();
  extendIn(Math.min(leaseMs, remainingMs) / 3);
  return { stop };
}
