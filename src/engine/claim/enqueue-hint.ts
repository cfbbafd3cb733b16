// Where NOTIFY said there are new runs, since the last claim.
import type { QueuePriority } from '../../store/runs/claim/claim.js';

export interface EnqueueHint {
  /** No notice has come since the last `take`. */
  readonly isEmpty: boolean;
  /** Records a notice; null: a run anywhere. Returns whether this worker may claim that run. */
  record(place: QueuePriority | null): boolean;
  /**
   * Returns the queue and priority that all notices named, and clears the hint. Null: no notice, or several
   * places.
   */
  take(): QueuePriority | null;
}

/** An empty hint. @param queues what the worker claims from; null: all */
export function createEnqueueHint(queues: readonly string[] | null): EnqueueHint {
  let only: QueuePriority | null = null;
  let hasSeveral = false;
  return {
    get isEmpty() {
      return only === null && !hasSeveral;
    },
    record(place) {
      if (place !== null && queues?.includes(place.queue) === false) return false;
      const isOther =
        place === null || (only !== null && (only.queue !== place.queue || only.priority !== place.priority));
      if (isOther) hasSeveral = true;
      else only = place;
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
