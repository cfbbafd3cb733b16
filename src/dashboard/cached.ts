// One answer for many readers: a page that several people watch asks the database once.

/** Keeps what `read` resolved to for `maxAgeMs`; those who ask meanwhile wait for the same read. */
export function cached<Input, T>(
  maxAgeMs: number,
  read: (input: Input) => Promise<T>,
  clock: () => number = () => performance.now(),
): (input: Input) => Promise<T> {
  let last: { readonly at: number; readonly value: Promise<T> } | null = null;
  return async input => {
    const now = clock();
    if (last !== null && now - last.at < maxAgeMs) return await last.value;
    const asked = { at: now, value: read(input) };
    last = asked;
    try {
      return await asked.value;
    } catch (error) {
      // A failure is not kept.
      if (last === asked) last = null;
      throw error;
    }
  };
}

/** Reading takes at most this share of the time. */
const SHARE = 1 / 20;
/** What took longer is not waited for where there is an older answer. */
const PATIENCE_MS = 100;
/** For this long after a newer answer was due, the older one may be given. */
const STALE_MS = 30_000;

/**
 * Like {@link cached}, for reads that may take seconds: what took long is read again more rarely, and callers
 * get the last answer meanwhile.
 */
export function cachedByCost<Input, T>(
  maxAgeMs: number,
  read: (input: Input) => Promise<T>,
  clock: () => number = () => performance.now(),
): (input: Input) => Promise<T> {
  let last: { readonly endedAt: number; readonly tookMs: number; readonly value: T } | null = null;
  let reading: Promise<T> | null = null;
  const begin = async (input: Input): Promise<T> => {
    const beganAt = clock();
    try {
      const value = await read(input);
      last = { endedAt: clock(), tookMs: clock() - beganAt, value };
      return value;
    } catch (error) {
      last = null;
      throw error;
    } finally {
      reading = null;
    }
  };
  return async input => {
    const known = last;
    const overdueMs =
      known === null
        ? Number.POSITIVE_INFINITY
        : clock() - known.endedAt - Math.max(maxAgeMs, known.tookMs / SHARE);
    if (known !== null && overdueMs < 0) return known.value;
    reading ??= begin(input);
    if (known === null || known.tookMs < PATIENCE_MS || overdueMs > STALE_MS) return await reading;
    // Nobody waits for this one; after a failure the next caller does.
    reading.catch(() => undefined);
    return known.value;
  };
}
