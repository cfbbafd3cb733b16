// What the schedules put into queues with limits.

import { workingSchedule } from '../../engine/materialize/locked-definition.js';
import type { QueuedDefinition } from '../../model/doctor/definition-checks.js';
import type { Session } from '../../store/connection/database.js';
import { readQueueDefinitions } from '../../store/definitions/stored-definition.js';

const MAX_DEFINITIONS = 200;
const MAX_COUNTED = 100_000;
const DAY_MS = 86_400_000;

/** The definitions of some queues, and how many runs each makes in the 24 hours from `now`, in epoch ms. */
export async function readQueued(
  session: Session,
  queues: readonly string[],
  now: number,
): Promise<QueuedDefinition[]> {
  if (queues.length === 0) return [];
  const rows = await readQueueDefinitions(session, queues, MAX_DEFINITIONS);
  return rows.map(row => {
    const schedule = workingSchedule(row);
    let perDay = 0;
    for (
      let at = schedule?.next(now) ?? null;
      at !== null && at <= now + DAY_MS && perDay < MAX_COUNTED;
      at = schedule?.next(at) ?? null
    )
      perDay++;
    return { name: row.name, queue: row.queue, window: row.active_window, timezone: row.timezone, perDay };
  });
}
