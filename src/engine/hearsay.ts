// Room: engine. What NOTIFY has told of new runs since the last claim.
// In: payloads. Out: the one queue and priority in which there is something new, if it is one.
import type { LaneName } from '../store/claim-runs.js';
import { laneNotified } from '../store/notices.js';

export interface Hearsay {
  note(payload: string): void;
  /** Where all that was told of is; null: nothing was, or it may be anywhere. Forgets it. */
  take(): LaneName | null;
}

/** Nothing told yet. @param queues what the worker claims from; null: all */
export function createHearsay(queues: readonly string[] | null): Hearsay {
  let lane: LaneName | null = null;
  let isElsewhere = false;
  return {
    note(payload) {
      const told = laneNotified(payload);
      if (told === null || queues?.includes(told.queue) === false) isElsewhere = true;
      else if (lane !== null && (lane.queue !== told.queue || lane.priority !== told.priority))
        isElsewhere = true;
      else lane = told;
    },
    take() {
      const told = isElsewhere ? null : lane;
      lane = null;
      isElsewhere = false;
      return told;
    },
  };
}
