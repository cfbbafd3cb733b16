// Statements over `workers`: which workers live, and on which host and process.
import type { ProcessLoad } from '../../../model/metrics/process-load.js';
import { statement } from '../../connection/statement.js';
import { liesIn, QUEUE_LANES } from '../claim/queue-lanes.js';

export interface NewWorker {
  readonly id: string;
  readonly kind: string;
  readonly host: string;
  readonly pid: number;
  /** Identifies it beyond its pid; null where the system does not say. */
  readonly process: string | null;
  readonly capacity: number;
  readonly heartbeatMs: number;
  /** What it claims from; null: all queues that are not relayed. */
  readonly queues: readonly string[] | null;
  /** Whose set of definitions it brings; the fingerprint null: it brings none. */
  readonly service: string;
  readonly fingerprint: string | null;
  /** The name and the code of its deploy; null: none is known. */
  readonly deploy: string | null;
  readonly deployCode: string | null;
}

/** Another worker of the same host. */
export interface Neighbour {
  readonly id: string;
  readonly pid: number;
  readonly process: string;
}

/**
 * Inserts a worker, and notes its deploy. Returns the other workers of its host whose processes can be
 * identified. Fails if the id is taken.
 */
export const insertWorker = statement<NewWorker, Neighbour>(
  'insert worker',
  `with made as (
  insert into tock.workers (id, kind, host, pid, process, capacity, heartbeat_ms, queues, service, fingerprint)
  values (:id, :kind, :host, :pid, :process, :capacity, :heartbeatMs, :queues::text[], :service, :fingerprint)
), deployed as (
  insert into tock.deploys (name, code, first_seen_at) select :deploy, :deployCode, tock.now() where :deploy::text is not null
  on conflict do nothing
), seen as (
  update tock.deploys v set first_seen_at = tock.now() where v.name = :deploy::text and v.first_seen_at is null
)
select w.id, w.pid, w.process from tock.workers w where w.host = :host and w.process is not null`,
);

/**
 * Ends the leases of workers that are gone for certain, so that the next reaping takes their runs back. What
 * another transaction has locked keeps its lease.
 */
export const endLeases = statement<{ readonly ids: readonly string[] }, { readonly id: string }>(
  'end leases',
  `with ${QUEUE_LANES}, held as materialized (
  select h.id from queue_lanes p cross join lateral (
    select r.id from tock.job_runs_live r
    where r.blocked_on is null and ${liesIn('r', 'p')} and r.run_at <= tock.now()
      and r.locked_by = any(:ids::uuid[]) and r.status = 'running' and r.locked_until > tock.now()
    order by r.run_at, r.id for update skip locked) h
)
update tock.job_runs_live r set locked_until = tock.now() - interval '1 millisecond'
where r.id = any(array(select id from held order by id)) and r.locked_by = any(:ids::uuid[]) and r.status = 'running'
returning r.id::text as id`,
);

/** Of its process: what it asked of its host since the last beat. */
export interface WorkerBeat extends ProcessLoad {
  readonly id: string;
}

/** Notes that a worker lives now. No row: a reaper has removed it. */
export const refreshWorker = statement<WorkerBeat, { readonly id: string }>(
  'refresh worker',
  `update tock.workers set seen_at = tock.now(), cpu = :cpu, memory_bytes = :memoryBytes, loop_delay_ms = :loopDelayMs
where id = :id returning id`,
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
