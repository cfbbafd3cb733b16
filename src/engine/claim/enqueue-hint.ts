// Room: engine. What NOTIFY has told of new runs since the last claim.
// In: queues and priorities. Out: the one in which there is something new, if it is one.
import type { QueuePriority } from '../../store/runs/claim/claim.js';

export interface Hearsay {
  /** Notes where a new run is; null: anywhere. Whether it may be one for this worker. */
  note(lane: QueuePriority | null): boolean;
  /** Where all that was told of is; null: nothing was, or it may be anywhere. Forgets it. */
  take(): QueuePriority | null;
}

/** Nothing told yet. @param queues what the worker claims from; null: all */
export function createHearsay(queues: readonly string[] | null): Hearsay {
  let lane: QueuePriority | null = null;
  let isElsewhere = false;
  return {
    note(noted) {
      if (noted !== null && queues?.includes(noted.queue) === false) return false;
      if (noted === null) isElsewhere = true;
      else if (lane !== null && (lane.queue !== noted.queue || lane.priority !== noted.priority))
        isElsewhere = true;
      else lane = noted;
      return true;
    },
    take() {
      const told = isElsewhere ? null : lane;
      lane = null;
      isElsewhere = false;
      return told;
    },
  };
}
