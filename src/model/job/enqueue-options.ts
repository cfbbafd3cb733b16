// Room: model. How one run is enqueued. Types only.
// In: nothing. Out: the options of `enqueue`, and the client in whose transaction it happens.
import type { Duration } from '../duration.js';
import type { Trigger } from '../run/states.js';

/** Options of one enqueued run. */
export interface EnqueueOptions {
  /**
   * Identity of what the run stands for, such as `invoice_charge:812`: at most one run, ever. 1-512 bytes.
   */
  readonly key?: string;
  /** `ever` (default): the key is used up for good. `live`: it is free again when its run has ended. */
  readonly unique?: 'ever' | 'live';
  /**
   * With `unique: 'live'`: while the run that has the key still waits for its first attempt, bring it to the
   * latest state: its payload, time and priority. One that is running already is left as it is.
   */
  readonly replace?: boolean;
  /**
   * Not before this long after the last call with this key: short for `unique: 'live'`, `replace` and
   * `delay`. A run that is put off again and again starts at the latest ten times as long after it was first
   * enqueued.
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
  readonly trigger?: Trigger;
  /** The caller's own transaction: a pg client, or anything with `query(text, values)`. */
  readonly client?: QueryClient;
}

/** The least that is asked of a client in whose transaction a run is enqueued. */
export interface QueryClient {
  query(text: string, values: unknown[]): Promise<{ rows: Record<string, unknown>[] }>;
}
