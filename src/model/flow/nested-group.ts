// The members of a group: runs, and groups.
import type { AnyJob, JobReference, NewRun, PayloadFor } from '../job/job.js';
import type { GroupOptions } from '../job/wait-methods.js';

/**
 * A group as a member of another, in place of a run: the member is its join. To 32 levels. The compiler does
 * not know the payloads in it; they are checked when it is enqueued.
 */
export interface NestedGroup extends Pick<GroupOptions, 'then' | 'on'> {
  readonly runs: readonly (NewRun | NestedGroup)[];
}

/** The argument of `enqueueGroup`: each run with the payload of its own job, or a group. */
export type GroupMembers<
  References extends readonly unknown[],
  Jobs extends readonly AnyJob[] = readonly AnyJob[],
> = {
  readonly [Index in keyof References]:
    | NewRun<References[Index] & JobReference<Jobs>, PayloadFor<References[Index], Jobs>>
    | NestedGroup;
};
