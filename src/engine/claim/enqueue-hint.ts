// Room: engine/claim. Where NOTIFY said there are new runs, since the last claim.
// In: the queue and priority of each notice. Out: the one queue and priority that all notices named, if they agree.
import type { LaneName } from '../../store/runs/claim.js';

export interface EnqueueHint {
  /** Records a notice; null: a run anywhere. Returns whether this worker may claim that run. */
  record(lane: LaneName | null): boolean;
  /** Returns the queue and priority that all notices named, and clears the hint. Null: no notice, or several places. */
  take(): LaneName | null;
}

/** An empty hint. @param queues what the worker claims from; null: all */
export function createEnqueueHint(queues: readonly string[] | null): EnqueueHint {
  let only: LaneName | null = null;
  let hasSeveral = false;
  return {
    record(lane) {
      if (lane !== null && queues?.includes(lane.queue) === false) return false;
      const isOther =
        lane === null || (only !== null && (only.queue !== lane.queue || only.priority !== lane.priority));
      if (isOther) hasSeveral = true;
      else only = lane;
      return true;
    },
    take() {
      const hint = hasSeveral ? null : only;
      only = null;
      hasSeveral = false;
      return hint;
    },
  };
}
