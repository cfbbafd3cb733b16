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
  readonly id: RunId<Output>;
  /** False if its key was used before; then the id is that run's. */
  readonly isNew: boolean;
  /** A run that waited under this key was updated. */
  readonly isReplaced: boolean;
}
