// A time by which a publish has an answer, and pauses that an end cuts short.

export interface Deadline {
  /** What `work` gives; rejects if that is not known by the deadline, and leaves the work alone then. */
  readonly race: <T>(work: Promise<T>) => Promise<T>;
  readonly isOver: () => boolean;
  readonly clear: () => void;
}

/** @param describe the error, made at the deadline */
export function startDeadline(limitMs: number, describe: () => Error): Deadline {
  let isOver = false;
  let timer: NodeJS.Timeout | undefined;
  const over = new Promise<never>((_, reject) => {
    timer = setTimeout(() => {
      isOver = true;
      reject(describe());
    }, limitMs);
  });
  over.catch(() => undefined);
  return {
    race: async <T>(work: Promise<T>) => {
      work.catch(() => undefined);
      return await Promise.race([work, over]);
    },
    isOver: () => isOver,
    clear: () => clearTimeout(timer),
  };
}

/** Waits, and ends early when the signal aborts. Never rejects. */
export async function pause(ms: number, signal: AbortSignal): Promise<void> {
  if (signal.aborted) return;
  await new Promise<void>(resolve => {
    const end = () => {
      clearTimeout(timer);
      signal.removeEventListener('abort', end);
      resolve();
    };
    const timer = setTimeout(end, ms);
    signal.addEventListener('abort', end, { once: true });
  });
}

/** Resolves when the work ends, or when the time is over. What it rejects with is left to others. */
export async function within(limitMs: number, work: Promise<unknown>): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const over = new Promise<void>(resolve => {
    timer = setTimeout(resolve, limitMs);
  });
  await Promise.race([work.catch(() => undefined), over]);
  clearTimeout(timer);
}

export const asError = (thrown: unknown) => (thrown instanceof Error ? thrown : new Error(String(thrown)));
