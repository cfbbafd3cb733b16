// Statements over `workers`: which workers live, and on which host and process.
import { statement } from '../connection/statement.js';

export interface NewWorker {
  readonly id: string;
  readonly kind: string;
  readonly host: string;
  readonly pid: number;
  readonly capacity: number;
  readonly heartbeatMs: number;
}

/** Fails if the id is taken. */
export const insertWorker = statement<NewWorker, never>(
  'insert worker',
  `insert into tock.workers (id, kind, host, pid, capacity, heartbeat_ms)
values (:id, :kind, :host, :pid, :capacity, :heartbeatMs)`,
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
