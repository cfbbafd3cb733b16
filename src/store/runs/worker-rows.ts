// Statements over `workers`: which workers live, and on which host and process.
import { statement } from '../connection/statement.js';

export interface NewWorker {
  readonly id: string;
  readonly kind: string;
  readonly host: string;
  readonly pid: number;
  readonly capacity: number;
  readonly heartbeatMs: number;
  /** What it claims from; null: all queues that are not relayed. */
  readonly queues: readonly string[] | null;
}

/** Fails if the id is taken. */
export const insertWorker = statement<NewWorker, never>(
  'insert worker',
  `insert into tock.workers (id, kind, host, pid, capacity, heartbeat_ms, queues)
values (:id, :kind, :host, :pid, :capacity, :heartbeatMs, :queues::text[])`,
);

/** Notes that a worker lives now. No row: a reaper has removed it. */
export const refreshWorker = statement<{ id: string }, { readonly id: string }>(
  'refresh worker',
  'update tock.workers set seen_at = tock.now() where id = :id returning id',
);

/** Notes that a worker claims no more, so that it need not be woken. */
export const drainWorker = statement<{ id: string }, never>(
  'drain worker',
  `with sleeper as (delete from tock.sleepers where worker_id = :id)
update tock.workers set draining = true where id = :id`,
);

export const removeWorker = statement<{ id: string }, never>(
  'remove worker',
  'delete from tock.workers where id = :id',
);

/** Whether a worker has reported lately, over its row: it has not missed two heartbeats. */
export const isWorkerAlive = (worker: string) => `${worker}.seen_at
  between tock.now() - coalesce(${worker}.heartbeat_ms, 15000) * interval '2.5 milliseconds'
    and tock.now() + coalesce(${worker}.heartbeat_ms, 15000) * interval '2.5 milliseconds'`;
