// Room: store. Queues: their limits and pauses, and what is in them.
// In: a name and what to change. Out: rows in the words of the public API.
import type { Session } from '../connection/database.js';
import { readable } from '../connection/readable-instant.js';
import { statuses } from '../runs/transition.js';

/** A queue as the API and `--json` show it. Limits hold over all hosts. */
export interface QueueRecord {
  readonly name: string;
  /** Most runs at once; null: no limit. */
  readonly concurrency: number | null;
  /** Most starts per period, spread evenly over it; null: no limit. */
  readonly rate: { readonly count: number; readonly perMs: number } | null;
  /** Local hours in which its runs may start; null: all. */
  readonly window: string | null;
  readonly timezone: string;
  readonly pausedAt: Date | null;
  readonly pauseReason: string | null;
  /** Due and not claimed, those that wait for a place included. */
  readonly waiting: number;
  readonly running: number;
}

const LIST = `
with live as (
  select r.queue, count(*) filter (where r.status = 'running')::integer as running,
    count(*) filter (where r.status in (${statuses('claim')}) and r.run_at <= tock.now())::integer as waiting
  from tock.job_runs_live r where $1::text is null or r.queue = $1 group by r.queue
)
select coalesce(q.name, l.queue) as name, q.concurrency,
  case when q.rate_count is not null then jsonb_build_object('count', q.rate_count, 'perMs', q.rate_period_ms) end as rate,
  q.active_window as "window", coalesce(q.timezone, 'UTC') as timezone, ${readable('q.paused_at')} as "pausedAt", q.pause_reason as "pauseReason",
  coalesce(l.waiting, 0) as waiting, coalesce(l.running, 0) as running
from tock.job_queues q full join live l on l.queue = q.name
where $1::text is null or coalesce(q.name, l.queue) = $1
order by coalesce(q.name, l.queue)`;

/** The queues that have a row, or runs that are live. */
export async function listQueues(session: Session, name: string | null = null): Promise<QueueRecord[]> {
  return await session.run<QueueRecord>(LIST, [name]);
}

/** Columns of job_queues to write; what is left out stays as it is. */
export interface QueueColumns {
  readonly concurrency?: number | null;
  readonly rate_count?: number | null;
  readonly rate_period_ms?: number | null;
  readonly active_window?: string | null;
  readonly timezone?: string;
}

// A new rate begins at once: what was saved up, or owed, under the old one is forgotten.
const SET = `
insert into tock.job_queues (name, concurrency, rate_count, rate_period_ms, active_window, timezone)
select $1, n.concurrency, n.rate_count, n.rate_period_ms, n.active_window, coalesce(n.timezone, 'UTC')
from jsonb_populate_record(null::tock.job_queues, $2::jsonb) n
on conflict (name) do update set
  concurrency = case when $2::jsonb ? 'concurrency' then excluded.concurrency else job_queues.concurrency end,
  rate_count = case when $2::jsonb ? 'rate_count' then excluded.rate_count else job_queues.rate_count end,
  rate_period_ms = case when $2::jsonb ? 'rate_count' then excluded.rate_period_ms else job_queues.rate_period_ms end,
  rate_next_at = case when $2::jsonb ? 'rate_count' then null else job_queues.rate_next_at end,
  active_window = case when $2::jsonb ? 'active_window' then excluded.active_window else job_queues.active_window end,
  timezone = case when $2::jsonb ? 'timezone' then excluded.timezone else job_queues.timezone end,
  updated_at = tock.now()`;

/** Writes limits of a queue, and makes its row where it has none. */
export async function setQueue(session: Session, name: string, columns: QueueColumns): Promise<void> {
  await session.run(SET, [name, JSON.stringify(columns)]);
}

/** Pauses a queue, or ends its pause. Whoever waits for work is told. */
export async function pauseQueue(session: Session, name: string, note: string | null): Promise<void> {
  await session.run(
    `insert into tock.job_queues (name, paused_at, pause_reason) values ($1, tock.now(), $2)
     on conflict (name) do update set paused_at = coalesce(job_queues.paused_at, tock.now()),
       pause_reason = coalesce(excluded.pause_reason, job_queues.pause_reason), updated_at = tock.now()`,
    [name, note],
  );
}

/** Ends a queue's pause. */
export async function resumeQueue(session: Session, name: string): Promise<void> {
  await session.run(
    `update tock.job_queues set paused_at = null, pause_reason = null, updated_at = tock.now() where name = $1`,
    [name],
  );
}

/** Removes a queue's row, and with it all limits and its pause. Whether there was one. */
export async function removeQueue(session: Session, name: string): Promise<boolean> {
  const rows = await session.run('delete from tock.job_queues where name = $1 returning name', [name]);
  return rows.length > 0;
}

/** Wakes the daemons that listen: more may be claimed now. */
export async function tellQueued(session: Session): Promise<void> {
  await session.run(`select tock.notify('queued')`);
}
