// The workers as an operator looks after them: who is there, since when, and what each does now.

import type { ProcessLoad } from '../../model/metrics/process-load.js';
import type { Session } from '../connection/database.js';
import { statement } from '../connection/statement.js';
import { instant, readable } from '../connection/values/readable-instant.js';
import { liesIn, QUEUE_LANES } from '../runs/claim/queue-lanes.js';
import type { WorkerKind } from '../schema/tables.js';

const MAX_WORKERS = 200;
/** Runs of a worker that are listed; all are counted. */
const MAX_LISTED = 6;
/** Runs that are looked at, shared among the queue lanes: running ones are the first there. */
const MAX_EXAMINED = 10_000;
const MIN_EXAMINED = 20;

export interface RunOfWorker {
  readonly id: string;
  readonly job: string;
  readonly definition: string | null;
  readonly startedAt: Date | null;
  /** From 0 to 1; null: not reported. */
  readonly fraction: number | null;
}

export interface WorkerLoad {
  readonly id: string;
  readonly kind: WorkerKind;
  readonly host: string;
  readonly pid: number;
  /** Whose jobs it executes; empty: of the service without a name. */
  readonly service: string;
  /** The most runs at once. */
  readonly capacity: number;
  readonly startedAt: Date;
  readonly seenAt: Date;
  readonly heartbeatMs: number;
  readonly isDraining: boolean;
  /** It has missed two heartbeats. */
  readonly isSilent: boolean;
  /** What its process asked of its host between its last two heartbeats; null: it had none yet. */
  readonly load: ProcessLoad | null;
  readonly running: number;
  /** The first six, those that run longest. */
  readonly runs: readonly RunOfWorker[];
}

interface StoredRun extends Omit<RunOfWorker, 'startedAt'> {
  readonly startedAt: string | null;
}

/** Running runs with their workers, as CTEs. */
const RUNNING = `${QUEUE_LANES}, running as materialized (
  select x.* from queue_lanes p cross join lateral (
    select r.id, r.job, r.definition_id, r.status, r.started_at, r.progress, r.locked_by, r.locked_until
    from tock.job_runs_live r where ${liesIn('r', 'p')} and r.blocked_on is null
    order by r.run_at, r.id
    limit (select greatest(${MIN_EXAMINED}, ${MAX_EXAMINED} / greatest(count(*), 1)) from queue_lanes)) x
  where x.status = 'running'
)`;

const READ_WORKER_LOAD = statement<
  object,
  Omit<WorkerLoad, 'runs'> & { readonly runs: readonly StoredRun[] }
>(
  'read-worker-load',
  `
with ${RUNNING}
select w.id, w.kind, w.host, w.pid, w.service, w.capacity, ${instant(readable('w.started_at'))} as "startedAt", ${instant(readable('w.seen_at'))} as "seenAt",
  coalesce(w.heartbeat_ms, 15000) as "heartbeatMs", w.draining as "isDraining",
  w.seen_at not between tock.now() - coalesce(w.heartbeat_ms, 15000) * interval '2.5 milliseconds'
    and tock.now() + coalesce(w.heartbeat_ms, 15000) * interval '2.5 milliseconds' as "isSilent",
  case when w.cpu is not null then jsonb_build_object('cpu', w.cpu, 'memoryBytes', w.memory_bytes, 'loopDelayMs', w.loop_delay_ms) end as load,
  (select count(*)::integer from running r where r.locked_by = w.id) as running,
  coalesce((select jsonb_agg(to_jsonb(l)) from (
    select r.id::text as id, r.job, d.name as definition, ${readable('r.started_at')} as "startedAt",
      case jsonb_typeof(r.progress -> 'fraction') when 'number' then r.progress -> 'fraction' end as fraction
    from running r left join tock.job_definitions d on d.id = r.definition_id where r.locked_by = w.id
    order by r.started_at, r.id limit ${MAX_LISTED}) l), '[]') as runs
from (select * from tock.workers order by host, started_at, id limit ${MAX_WORKERS}) w
order by w.host, w.started_at, w.id`,
);

/** The first 200, by host. */
export async function readWorkerLoad(session: Session): Promise<WorkerLoad[]> {
  const rows = await READ_WORKER_LOAD.run(session, {});
  return rows.map(row => ({
    ...row,
    runs: row.runs.map(run => ({
      ...run,
      startedAt: run.startedAt === null ? null : new Date(run.startedAt),
    })),
  }));
}

/** Runs that are leased to workers that are gone: they are taken back when their leases expire. */
export interface Orphans {
  readonly count: number;
  /** When the last of their leases expires; null: there are none. */
  readonly until: Date | null;
}

const READ_ORPHANS = statement<object, Orphans>(
  'read-orphans',
  `
with ${RUNNING}
select count(*)::integer as count, ${instant(readable('max(r.locked_until)'))} as until from running r
where not exists (select from tock.workers w where w.id = r.locked_by)`,
);

export async function readOrphans(session: Session): Promise<Orphans> {
  return (await READ_ORPHANS.first(session, {})) ?? { count: 0, until: null };
}
