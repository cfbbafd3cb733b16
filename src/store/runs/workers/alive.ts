// Whether a worker is alive, and from which queues it claims.
import { SQL_RELAY } from '../../../model/queue/queue-limits.js';

/** Whether a worker has reported lately, over its row: it has not missed two heartbeats. */
export const isWorkerAlive = (worker: string) => `${worker}.seen_at
  between tock.now() - coalesce(${worker}.heartbeat_ms, 15000) * interval '2.5 milliseconds'
    and tock.now() + coalesce(${worker}.heartbeat_ms, 15000) * interval '2.5 milliseconds'`;

/** Whether a worker is alive and claims from a queue: where that needs a broker, only if it names it. */
export const claimsFrom = (worker: string, queue: string, relayedTo: string) =>
  `${isWorkerAlive(worker)} and not ${worker}.draining
    and case when ${worker}.queues is null then coalesce(${relayedTo}, '${SQL_RELAY}') = '${SQL_RELAY}' else ${queue} = any(${worker}.queues) end`;
