// What a Tock does with single fair keys, and what each method promises.
import type { KeyRate, StoredRate } from './fair.js';

/** `tock.keys`: single keys of `fair` and `rate`, such as one tenant, in all jobs and queues. */
export interface KeyMethods {
  /** The keys that have settings, then those that are closed: at most 1,000 of each. */
  list(): Promise<KeyRecord[]>;
  /** One key, whether or not it has settings or runs. @throws TockError TOCK_BAD_OPTION */
  get(key: string): Promise<KeyRecord>;
  /**
   * Sets weight, limit and rate of a key, in place of what its jobs and queues say. Absent ones stay; null
   * removes one. @throws TockError TOCK_BAD_OPTION, TOCK_BAD_DURATION
   */
  set(key: string, settings: KeySettings): Promise<KeyRecord>;
  /** Removes its settings; resolves to whether it had any. */
  reset(key: string): Promise<boolean>;
  /** Opens it where a handler has closed it; resolves to whether it was closed. */
  open(key: string): Promise<boolean>;
}

/** Settings of one key. Absent ones stay as they are. */
export interface KeySettings {
  /** Its share beside the others: a key of weight 3 starts three runs for one of weight 1. Default 1. */
  readonly weight?: number | null;
  /** The most of its runs at once: 1 to 10,000. */
  readonly limit?: number | null;
  readonly rate?: KeyRate | null;
}

/** A key of a queue, or of a job in it. */
export interface KeyState {
  readonly queue: string;
  /** The job whose key it is; null: the queue's. */
  readonly job: string | null;
  /** Runs that wait for their turn, at most 1,001: more than 1,000. */
  readonly waiting: number;
  /** How many of its runs hold a place under its limit; 0 if it has none. */
  readonly held: number;
  /** The most of its runs at once, by its settings or its job or queue; null: no limit. */
  readonly limit: number | null;
  /** With a strict order, the run that must have ended before the next one starts; null: none. */
  readonly heldBy: string | null;
  /** A handler has closed it until then; null: it is open. */
  readonly closedUntil: Date | null;
  /** Another limit under which its next run would wait, such as `job:load`; null: none. */
  readonly waitsFor: string | null;
  /** When its rate allows a start, or its next run is due; null: now, or it has no runs, or is held up. */
  readonly nextAt: Date | null;
}

/** A key, with its settings and where it has runs. */
export interface KeyRecord {
  readonly key: string;
  readonly weight: number;
  /** As set for this key; null: what its jobs and queues say. */
  readonly limit: number | null;
  readonly rate: StoredRate | null;
  /** Where it has runs, or had some a short time ago: at most 100. */
  readonly states: readonly KeyState[];
}
