// How one run is enqueued: the options of `enqueue`, and the client in whose transaction it happens.
import type { Duration } from '../duration.js';

/** How a run that is enqueued came about. */
export type EnqueueTrigger = 'api' | 'manual';

/** Options of one enqueued run. */
export interface EnqueueOptions {
  /** Identity of the run's purpose, such as `invoice_charge:812`: at most one run, ever. 1-512 bytes. */
  readonly key?: string;
  /** `ever` (default): the key is used up for good. `live`: it is free again once its run has ended. */
  readonly unique?: 'ever' | 'live';
  /**
   * With `unique: 'live'`: what is enqueued last with this key is executed last. A run that waits for its
   * first attempt is updated. One that waits for another attempt ends cancelled, and a new one takes its
   * place. While one is running, the last call waits, and becomes a run when that one ends.
   */
  readonly replace?: boolean;
  /**
   * Starts this long after the last call with this key: short for `unique: 'live'`, `replace` and `delay`.
   * Repeated calls postpone the run to at most ten times this long after the first of them.
   */
  readonly debounce?: Duration;
  /** Not before this time. Default: now. */
  readonly runAt?: Date | string;
  /** Not before this long from now, by the database's clock. Excludes `runAt`. */
  readonly delay?: Duration;
  readonly queue?: string;
  readonly priority?: number;
  readonly maxAttempts?: number;
  /**
   * Words by which people find it, such as `['import', 'customer-812']`, beside those of the job: at most 10
   * of 64 bytes, without blanks and commas.
   */
  readonly tags?: readonly string[];
  /** `api` (default), or `manual` for a person's wish, which only a role that may write runs can say. */
  readonly trigger?: EnqueueTrigger;
  /** The caller's own transaction: a pg client, or anything with `query(text, values)`. */
  readonly client?: QueryClient;
}

/** {@link EnqueueOptions}, and whether to say what became of the call. */
export interface EnqueueCallOptions<Details extends boolean = boolean> extends EnqueueOptions {
  /** Also resolve to whether the run is new. Default false. */
  readonly details?: Details;
}

/** Options of `ctx.child`: a child is a run of its own, in no transaction of its handler. */
export type ChildOptions = Omit<EnqueueOptions, 'client'>;

/** What a client needs for a run to be enqueued in its transaction. */
export interface QueryClient {
  query(text: string, values: unknown[]): Promise<{ rows: Record<string, unknown>[] }>;
}

/** Options of `enqueueMany`, for all its runs. */
export interface EnqueueManyOptions<Details extends boolean = boolean> {
  /** The caller's own transaction: a pg client, or anything with `query(text, values)`. */
  readonly client?: QueryClient;
  /** Also resolve to whether each run is new. Default false. */
  readonly details?: Details;
}
