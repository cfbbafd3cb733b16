// What `enqueueMany` takes and gives.
import type { QueryClient } from './enqueue-options.js';
import type { AnyJob, NewRun, OutputFor, PayloadFor } from './job.js';
import type { Enqueued, RunId } from './run-id.js';

/** The argument of `enqueueMany`: each run with the payload of its own job. */
export type NewRuns<
  References extends readonly unknown[],
  Jobs extends readonly AnyJob[] = readonly AnyJob[],
> = { readonly [Index in keyof References]: NewRun<References[Index], PayloadFor<References[Index], Jobs>> };

/** The result of `enqueueMany`: an id for each run, or with `details` what became of it. */
export type EnqueuedRuns<
  References extends readonly unknown[],
  Jobs extends readonly AnyJob[] = readonly AnyJob[],
  Details extends boolean = false,
> = {
  -readonly [Index in keyof References]: Details extends true
    ? Enqueued<OutputFor<References[Index], Jobs>>
    : RunId<OutputFor<References[Index], Jobs>>;
};

/** Options of `enqueueMany`, for all its runs. */
export interface EnqueueManyOptions<Details extends boolean = boolean> {
  /** The caller's own transaction: a pg client, or anything with `query(text, values)`. */
  readonly client?: QueryClient;
  /** Also resolve to whether each run is new. Default false. */
  readonly details?: Details;
}
