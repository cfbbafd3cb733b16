// One answer for many readers: a page that several people watch asks the database once.

export interface CacheOptions<Input> {
  /** In milliseconds; for tests. */
  readonly clock?: () => number;
  /** Raised when there is something newer to read. Default: never. */
  readonly versionOf?: (input: Input) => number;
}

/**
 * Keeps what `read` resolved to for `maxAgeMs`, or until the version is higher; callers that ask meanwhile
 * wait for the same read.
 */
export function cached<Input, T>(
  maxAgeMs: number,
  read: (input: Input) => Promise<T>,
  { clock = () => performance.now(), versionOf = () => 0 }: CacheOptions<Input> = {},
): (input: Input) => Promise<T> {
  let last: { readonly at: number; readonly version: number; readonly value: Promise<T> } | null = null;
  return async input => {
    const now = clock();
    const version = versionOf(input);
    if (last !== null && now - last.at < maxAgeMs && last.version >= version) return await last.value;
    const asked = { at: now, version, value: read(input) };
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

export interface Shared<T> {
  readonly value: T;
  /** It is older than what the caller has been told of: ask again. */
  readonly isStale: boolean;
}

/**
 * Like {@link cached}, for reads that may take seconds: an answer that took long is read again more rarely,
 * whatever the version. Meanwhile callers get the last one, which says if it is stale.
 */
export function cachedByCost<Input, T>(
  maxAgeMs: number,
  read: (input: Input) => Promise<T>,
  { clock = () => performance.now(), versionOf = () => 0 }: CacheOptions<Input> = {},
): (input: Input) => Promise<Shared<T>> {
  interface Read {
    readonly endedAt: number;
    readonly tookMs: number;
    readonly version: number;
    readonly value: T;
  }
  let last: Read | null = null;
  let reading: Promise<Read> | null = null;
  const begin = async (input: Input): Promise<Read> => {
    const beganAt = clock();
    const version = versionOf(input);
    try {
      const value = await read(input);
      last = { endedAt: clock(), tookMs: clock() - beganAt, version, value };
      return last;
    } catch (error) {
      last = null;
      throw error;
    } finally {
      reading = null;
    }
  };
  return async input => {
    const known = last;
    const wanted = versionOf(input);
    const given = ({ version, value }: Read) => ({ value, isStale: version < wanted });
    const keptMs = known !== null && known.version >= wanted ? maxAgeMs : 0;
    const overdueMs =
      known === null
        ? Number.POSITIVE_INFINITY
        : clock() - known.endedAt - Math.max(keptMs, known.tookMs / SHARE);
    if (known !== null && overdueMs < 0) return given(known);
    reading ??= begin(input);
    if (known === null || known.tookMs < PATIENCE_MS || overdueMs > STALE_MS) return given(await reading);
    // Nobody waits for this one; after a failure the next caller does.
    reading.catch(() => undefined);
    return given(known);
  };
}
