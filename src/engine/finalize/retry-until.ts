// Repeats work that is safe to repeat.
import type { Clock } from '../../model/clock.js';

const FIRST_PAUSE_MS = 50;
const MAX_PAUSE_MS = 1000;

/** Repeats `work` with growing pauses until it succeeds, or fails with an error that `canRetry` rejects. */
export async function retryUntil<T>(
  clock: Clock,
  work: () => Promise<T>,
  canRetry: (error: unknown) => boolean,
): Promise<T> {
  for (let pauseMs = FIRST_PAUSE_MS; ; pauseMs = Math.min(pauseMs * 2, MAX_PAUSE_MS)) {
    try {
      return await work();
    } catch (error) {
      if (!canRetry(error)) throw error;
      await clock.sleep(pauseMs);
    }
  }
}
