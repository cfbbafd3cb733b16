// Room: store. What NOTIFY says of a new run, so that who listens need not look everywhere.
// In: a payload. Out: the queue and priority that it names. Only a hint: looks are the truth, and any session may notify.
import type { LaneName } from './claim-runs.js';

const QUEUED_IN = /^queued:(-?\d{1,10}):([A-Za-z0-9][A-Za-z0-9._:@-]{0,199})$/;

/** The queue and priority that a payload names; null where it names none that a run can have. */
export function laneNotified(payload: string): LaneName | null {
  const [, digits, queue] = QUEUED_IN.exec(payload) ?? [];
  const priority = Number(digits);
  return queue === undefined || priority !== (priority | 0) ? null : { queue, priority };
}
