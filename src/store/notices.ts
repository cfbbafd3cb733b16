// Room: store. What NOTIFY says of a new run, so that who listens need not look everywhere.
// In: a queue and priority. Out: a payload; and back. `queued` alone: somewhere. Only a hint: looks are the truth.
import type { LaneName } from './claim-runs.js';

/** The payload, as SQL over expressions for the queue and the priority. */
export const QUEUED_IN = (queue: string, priority: string) => `'queued:' || ${priority} || ':' || ${queue}`;

/** The queue and priority that a payload names; null where it names none. */
export function laneNotified(payload: string): LaneName | null {
  const [, priority, queue] = /^queued:(-?\d+):(.+)$/.exec(payload) ?? [];
  return queue === undefined ? null : { queue, priority: Number(priority) };
}
