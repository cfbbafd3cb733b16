// The lane of the runs that notifications have named since the last claim.
import type { QueueLane } from '../../store/runs/claim/claim.js';

export interface EnqueueHint {
  /** No notification has come since the last `take`. */
  readonly isEmpty: boolean;
  /** Records a notification; null: of a run in any lane. Returns whether this worker may claim that run. */
  record(lane: QueueLane | null): boolean;
  /** Returns the lane that all notifications named, and clears the hint. Null: none, or several lanes. */
  take(): QueueLane | null;
}

/** An empty hint. @param queues what the worker claims from; null: all */
export function createEnqueueHint(queues: readonly string[] | null): EnqueueHint {
  let only: QueueLane | null = null;
  let hasSeveral = false;
  return {
    get isEmpty() {
      return only === null && !hasSeveral;
    },
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
