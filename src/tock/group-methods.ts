// The part of a Tock that enqueues runs which wait for each other.

import type { FlowRecord } from '../model/flow/flow-record.js';
import type { FlowIds, FlowOptions, FlowReferences, FlowRuns } from '../model/flow/flow-run.js';
import type { GroupMembers } from '../model/flow/nested-group.js';
import type { QueryClient } from '../model/job/enqueue-options.js';
import type { AnyJob } from '../model/job/job.js';
import type { EnqueuedGroup, GroupOptions } from '../model/job/wait-methods.js';
import type { GroupActed, GroupRecord } from '../model/run/group-record.js';
import type { CancelOptions, RetryOptions } from '../model/run/run-methods.js';

/** Groups and flows; see docs/waiting.md. */
export interface GroupMethods<Jobs extends readonly AnyJob[] = readonly AnyJob[]> {
  /**
   * Enqueues runs, and their join, which is executed when they have succeeded, or ended. A member may be a
   * group itself.
   * @throws TockError as `enqueueMany` does; TOCK_BAD_KEY for a member whose key was used before, or a key of
   * the group that another run has
   */
  enqueueGroup<const J extends readonly unknown[]>(
    runs: GroupMembers<J, Jobs>,
    options: GroupOptions & { readonly client?: QueryClient },
  ): Promise<EnqueuedGroup>;
  /**
   * Enqueues runs of which some begin when others have ended: `{ fetch: { job }, parse: { job, after:
   * ['fetch'] } }`. Resolves to their ids by their names. All or none.
   * @throws TockError as `enqueueMany` does; TOCK_BAD_OPTION for runs that come after each other in a circle,
   * or after what is no run; TOCK_NOT_FOUND for an id of which there is no run; TOCK_BAD_KEY for a key that
   * was used before
   */
  enqueueFlow<const R extends FlowReferences<Jobs>>(
    runs: FlowRuns<R, Jobs>,
    options?: FlowOptions,
  ): Promise<FlowIds<R, Jobs>>;
  /**
   * Lets a join, or a run of a flow, run once all that it waits for has ended, although some did not succeed;
   * false: it does not wait. @throws TockError TOCK_NOT_FOUND
   */
  continueGroup(id: string): Promise<boolean>;
  /**
   * A group by the id of its join or of a member: its members by state, the slowest, what the join waits for,
   * and the errors. Null: the run is in no group, or there is none. @throws TockError TOCK_BAD_OPTION
   */
  group(id: string): Promise<GroupRecord | null>;
  /**
   * A flow by the id of any of its runs: what comes after what, and the critical path. Null: the run is of no
   * flow, or there is none. @throws TockError TOCK_BAD_OPTION
   */
  flow(id: string): Promise<FlowRecord | null>;
  /**
   * Puts all dead members of a group, and of the groups in it, back into the queue, due now, in one
   * transaction; by the id of the join or of a member. `attempts`: how many more; default: as many as the job
   * has.
   * @throws TockError TOCK_NOT_FOUND, TOCK_BAD_OPTION
   */
  retryGroup(id: string, options?: RetryOptions): Promise<GroupActed>;
  /**
   * Cancels the join and all members that have not ended, also of the groups in it, in one transaction; the
   * handlers of running ones are asked to stop. @throws TockError TOCK_NOT_FOUND
   */
  cancelGroup(id: string, options?: CancelOptions): Promise<GroupActed>;
}
