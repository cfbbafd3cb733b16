// Room: model. What enqueueing gives: ids that remember the output of their job. Types only.
// In: nothing. Out: RunId, and what became of an enqueued run.

declare const output: unique symbol;

/**
 * Id of a run: a bigint, as text. Its type remembers the output of the run's job, so that `runs.get` and
 * `runs.wait` give it back. A plain string will do wherever one is asked for.
 */
export type RunId<Output = unknown> = string & { readonly length: number; readonly [output]?: Output };

/** The output that an id's type remembers; unknown for a plain string. */
export type OutputOfId<Id extends string> = Id extends { readonly [output]?: infer Output }
  ? Output
  : unknown;

/** What became of one enqueued run. */
export interface Enqueued<Output = unknown> {
  readonly id: RunId<Output>;
  /** False where its key had been used before, or is in use; then the id is that run's. */
  readonly isNew: boolean;
  /** A run that waited under this key was brought to the latest state. */
  readonly isReplaced: boolean;
}
