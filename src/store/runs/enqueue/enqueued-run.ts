// What enqueueing takes and returns.

/** A run to be enqueued, without its payload and key. Instants as ISO text, durations in milliseconds. */
export interface RunShape {
  readonly job: string;
  /** Its key is unique among live runs only. */
  readonly is_live: boolean;
  /**
   * With `is_live`: a run that waits under the key takes over the payload, the time and the rest of this one.
   */
  readonly replaces: boolean;
  /** With `replaces`: by how much, at most, a run can be put off after it was made; null: no bound. */
  readonly max_ms: number | null;
  /** One of `at` and `delay_ms`, or neither. */
  readonly at: string | null;
  readonly delay_ms: number | null;
  readonly queue: string;
  readonly priority: number;
  readonly max_attempts: number;
  readonly trigger: string;
  /** What follows the job's name in the key under which it needs a slot; null: nothing. */
  readonly slot: string | null;
  /** How many slots there are under that key; null: it needs none. */
  readonly slot_limit: number | null;
  /** Absent or null: none. */
  readonly tags?: readonly string[] | null;
  /** The span that enqueues it; absent or null: none. */
  readonly traceparent?: string | null;
  /** Others wait for its end from the start; absent: nobody. Not for keys that are unique among live runs. */
  readonly has_waiters?: true;
  /** What becomes of it is kept; absent: not. */
  readonly keeps_changes?: true;
}

/**
 * A run to be enqueued. Neighbours that share one shape, the same object, are sent and checked with it once.
 */
export interface EnqueuedRow {
  readonly shape: RunShape;
  /** JSON on one line, as JSON.stringify writes it. */
  readonly payload: string;
  readonly key: string | null;
}

/** What became of a row: `made` a run; or `replaced` one that waited; or there is one of the key already. */
export interface EnqueuedRun {
  /** Empty only where the run of the key is not known yet. */
  readonly id: string;
  readonly made: boolean;
  readonly replaced: boolean;
}

/** A shape without nulls, which need not be sent. */
export function withoutNulls(shape: RunShape): Partial<RunShape> {
  return Object.fromEntries(Object.entries(shape).filter(([, value]) => value !== null));
}
