// Ids of runs, whose type carries the output of their job.

declare const output: unique symbol;

/**
 * Id of a run: a bigint, as text. Its type carries the output of the run's job for `runs.get` and
 * `runs.wait`. Wherever an id is expected, a plain string will do.
 */
export type RunId<Output = unknown> = string & { readonly length: number; readonly [output]?: Output };

/** The output that an id's type carries; unknown for a plain string. */
export type OutputOfId<Id extends string> = Id extends { readonly [output]?: infer Output }
  ? Output
  : unknown;

/** What became of one enqueued run. */
export interface Enqueued<Output = unknown> {
  /** Of a successor: the id that its run will have. */
  readonly id: RunId<Output>;
  /**
   * The id is that of a new run, perhaps of one that starts when the running one with its key has ended.
   * False if its key was used before; then the id is that run's.
   */
  readonly isNew: boolean;
  /**
   * What waited under this key was updated, or a run that waited for another attempt was cancelled for it.
   */
  readonly isReplaced: boolean;
}

/** What `enqueue` resolves to: the id, or with `details` what became of the run. */
export type EnqueuedOr<Details extends boolean, Output> = Details extends true
  ? Enqueued<Output>
  : RunId<Output>;
