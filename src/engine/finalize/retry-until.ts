// Room: engine. Work that may be repeated, again and again.
// In: the work, and whether an error is worth another try. Out: what the work gave in the end.
import { setTimeout as sleep } from 'node:timers/promises';

const FIRST_PAUSE_MS = 50;
const LONGEST_PAUSE_MS = 1000;

/** Does the work until it succeeds, with growing pauses, as long as `mayTryAgain` says so; then throws its last error. */
export async function keepTrying<T>(
  work: () => Promise<T>,
  mayTryAgain: (error: unknown) => boolean,
): Promise<T> {
  for (let pause = FIRST_PAUSE_MS; ; pause = Math.min(pause * 2, LONGEST_PAUSE_MS)) {
    try {
      return await work();
    } catch (error) {
      if (!mayTryAgain(error)) throw error;
      await sleep(pause);
    }
  }
}
