// Which queues something names, and which are paused.
import type { Session } from '../connection/database.js';
import { statement } from '../connection/statement.js';
import { QUEUE_LANES } from '../runs/claim/queue-lanes.js';

/**
 * Queues of limits and pauses, of live runs, and of definitions.
 * @param blocked a set with the queues of blocked runs
 */
export const knownQueues = (blocked: string) => `
  select queue collate "C" as name from queue_lanes
  union select b.queue from ${blocked} b
  union select name collate "C" from tock.job_queues
  union select queue collate "C" from tock.job_definitions where vanished_at is null`;

/** Of some thousand. */
const BLOCKED =
  '(select queue from tock.job_runs_live where blocked_on is not null order by blocked_on limit 5000)';

const READ_NAMES = statement<object, { name: string }>(
  'read-queue-names',
  `
with ${QUEUE_LANES}
select n.name from (${knownQueues(BLOCKED)}) n order by n.name limit 10000`,
);

/** The names of all queues that something names; `default` among them. */
export async function readQueueNames(session: Session): Promise<string[]> {
  const names = (await READ_NAMES.run(session, {})).map(({ name }) => name);
  return names.includes('default') ? names : ['default', ...names];
}

const READ_PAUSED = statement<object, { name: string }>(
  'read-paused-queues',
  `select name from tock.job_queues where paused_at is not null order by name limit 50`,
);

/** The first fifty. */
export async function readPausedQueues(session: Session): Promise<string[]> {
  return (await READ_PAUSED.run(session, {})).map(({ name }) => name);
}
