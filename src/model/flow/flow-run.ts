// The runs of a flow: each by its name, with those that it comes after.
import type { EnqueueOptions, QueryClient } from '../job/enqueue-options.js';
import type { AnyJob, JobReference, OutputFor, OutputOf, PayloadFor } from '../job/job.js';
import type { IsOptional } from '../job/job-schedule.js';
import type { RunId } from '../job/run-id.js';
import type { EndedRun } from '../job/wait-methods.js';

/**
 * What becomes of a run one of whose parents does not succeed. It is dead, cancelled, skipped, or gone.
 * - `wait` (default): the run waits until the parent is retried and succeeds, or somebody continues it.
 * - `cancel`: it is cancelled at once. Then it has not succeeded either, for those that come after it.
 * - `run`: it runs once all its parents have ended.
 */
export type IfParentFails = 'wait' | 'cancel' | 'run';

/** One run of `enqueueFlow`: as for `enqueueMany`, without keys that are free again; and its parents. */
export type FlowRun<Reference = string | AnyJob, Payload = unknown, Name extends string = string> = Omit<
  EnqueueOptions,
  'client' | 'unique' | 'replace' | 'debounce'
> & {
  readonly job: Reference;
  /**
   * Its parents, which end before it begins: names of this flow, or ids of runs that are there, in any state.
   * Its handler has them as `ctx.parents`. Excludes `runAt` and `delay`.
   */
  readonly after?: readonly (Name | RunId)[];
  readonly ifParentFails?: IfParentFails;
} & (IsOptional<Payload> extends true ? { readonly payload?: Payload } : { readonly payload: Payload });

/** The argument of `enqueueFlow`: the runs by their names, each with the payload of its own job. */
export type FlowRuns<
  References extends Readonly<Record<string, unknown>>,
  Jobs extends readonly AnyJob[] = readonly AnyJob[],
> = {
  readonly [Name in keyof References]: FlowRun<
    References[Name],
    PayloadFor<References[Name], Jobs>,
    keyof References & string
  >;
};

/** The result of `enqueueFlow`: the ids of the runs by their names. */
export type FlowIds<
  References extends Readonly<Record<string, unknown>>,
  Jobs extends readonly AnyJob[] = readonly AnyJob[],
> = { -readonly [Name in keyof References]: RunId<OutputFor<References[Name], Jobs>> };

/** Options of `enqueueFlow`, for all its runs. */
export interface FlowOptions {
  /** The caller's own transaction: a pg client, or anything with `query(text, values)`. */
  readonly client?: QueryClient;
}

/** A run of some jobs, by its name. */
export type FlowReferences<Jobs extends readonly AnyJob[]> = Readonly<Record<string, JobReference<Jobs>>>;

/**
 * The type of `ctx.parents` where the jobs of the parents are known:
 * `const { fetch } = ctx.parents as Parents<{ fetch: typeof fetchPage }>`.
 */
export type Parents<Jobs extends Readonly<Record<string, AnyJob>>> = {
  readonly [Name in keyof Jobs]: EndedRun<OutputOf<Jobs[Name]>>;
};
