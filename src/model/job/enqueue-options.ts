// How one run is enqueued: the options of `enqueue`, and the client in whose transaction it happens.
import type { Duration } from '../duration.js';
import type { Trigger } from '../run/states.js';

/** Options of one enqueued run. */
export interface EnqueueOptions {
  /** Identity of the run's purpose, such as `invoice_charge:812`: at most one run, ever. 1-512 bytes. */
  readonly key?: string;
  /** `ever` (default): the key is used up for good. `live`: it is free again once its run has ended. */
  readonly unique?: 'ever' | 'live';
  /**
   * With `unique: 'live'`: updates a run with this key that still waits for its first attempt: its payload,
   * time and priority. A run that has started stays as it is.
   */
  readonly replace?: boolean;
  /**
   * Starts this long after the last call with this key: short for `unique: 'live'`, `replace` and `delay`.
   * Repeated calls postpone the run to at most ten times this long after it was first enqueued.
   */
  readonly debounce?: Duration;
  /** Not before this time. Default: now. */
  readonly runAt?: Date | string;
  /** Not before this long from now, by the database's clock. Excludes `runAt`. */
  readonly delay?: Duration;
  readonly queue?: string;
  readonly priority?: number;
  readonly maxAttempts?: number;
  /** Default `api`. */
  readonly trigger?: Exclude<Trigger, 'exec'>;
  /** The caller's own transaction: a pg client, or anything with `query(text, values)`. */
  readonly client?: QueryClient;
}

/** What a client needs for a run to be enqueued in its transaction. */
export interface QueryClient {
  query(text: string, values: unknown[]): Promise<{ rows: Record<string, unknown>[] }>;
}
