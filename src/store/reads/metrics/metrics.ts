// What metrics are made of, apart from the figures of ended runs: what waits, schedules, the server.
import type { MetricsData, ScheduleState } from '../../../model/metrics/metrics.js';
import { windowOf } from '../../../model/planning/window.js';
import type { Session } from '../../connection/database.js';
import { statement } from '../../connection/statement.js';
import { readable } from '../../connection/values/readable-instant.js';
import { IS_FROZEN } from '../../definitions/freeze/frozen.js';
import { liesIn, QUEUE_LANES } from '../../runs/claim/queue-lanes.js';
import { statuses } from '../../runs/transition.js';
import { isWorkerAlive } from '../../runs/workers/alive.js';
import { OLDEST_SNAPSHOT } from '../figures.js';

const seconds = (instant: string) => `extract(epoch from ${instant})::float8`;
const isWaiting = (run: string) => `${run}.run_at <= tock.now() and ${run}.status in (${statuses('claim')})`;

/** Runs that wait for a slot, and are looked at for the oldest. */
const MAX_BLOCKED = 10_000;

// One scan of at most a million live runs: by the index of the claim each costs four times as much. Which run
// is the oldest of a queue, that index says.
const WAITING = statement<{ limit: number }, MetricsData['queues'][number]>(
  'count-waiting-runs',
  `
with ${QUEUE_LANES}, counts as (
  select r.queue, count(*) as count from (
    select l.queue, l.status, l.run_at from tock.job_runs_live l limit :limit) r
  where ${isWaiting('r')} group by r.queue
), oldest as (
  select p.queue, d.run_at from queue_lanes p cross join lateral (
    select r.run_at from tock.job_runs_live r where r.blocked_on is null and ${liesIn('r', 'p')} and ${isWaiting('r')}
    order by r.run_at, r.id limit 1) d
  union all
  select b.queue, min(b.run_at) from (
    select r.queue, r.run_at from tock.job_runs_live r where r.blocked_on is not null and ${isWaiting('r')}
    order by r.blocked_on, r.queue, r.priority, r.run_at, r.id limit ${MAX_BLOCKED}) b
  group by b.queue
)
select o.queue, greatest(coalesce(max(c.count), 0), 1)::float8 as waiting,
  coalesce(greatest(${seconds(`tock.now() - ${readable('min(o.run_at)')}`)}, 0), 0) as "oldestSeconds"
from oldest o left join counts c on c.queue = o.queue group by o.queue order by o.queue`,
);

const MAX_COUNTED = 1_000_000;

/** What waits in each queue, and for how long. */
export async function readWaiting(session: Session): Promise<MetricsData['queues']> {
  return await WAITING.run(session, { limit: MAX_COUNTED });
}

/** How many of a definition's last runs are looked through for a success. */
const LOOKED_BACK = 200;

/**
 * The last success of a chosen definition `c` among its runs that fulfil a condition, and its place among
 * these: the latest is 1.
 */
const lastSuccess = (condition: string) => `
  select f.finished_at, f.scheduled_for, f.place from (
    select r.status, r.finished_at, r.scheduled_for, row_number() over (order by r.scheduled_for desc) as place
    from tock.job_runs_finished r
    where r.definition_id = c.id and r.scheduled_for is not null and ${condition}
    order by r.scheduled_for desc limit ${LOOKED_BACK}) f
  where f.status = 'succeeded' order by f.scheduled_for desc limit 1`;

// What should succeed next: the first occurrence after the last success that waits, runs or is dead; else the
// next. Most succeeded within two days, so for most only the latest partitions are looked at; and most with
// their latest run, so that none after it can be dead.
const SCHEDULES = statement<
  { limit: number },
  ScheduleState & { readonly active_window: string | null; readonly timezone: string }
>(
  'read-schedule-states',
  `
with chosen as materialized (
  select d.id, d.name, d.paused_at, d.pause_reason, d.broken_at, d.active_window, d.timezone,
    case when d.paused_at is null and d.broken_at is null and isfinite(d.next_at) then d.next_at end as next_at
  from tock.job_definitions d
  where num_nonnulls(d.cron, d.every_ms, d.at, d.after) = 1 and d.vanished_at is null
  order by d.origin <> 'code', d.id limit :limit
)
select c.name as schedule, c.broken_at is null and coalesce(c.pause_reason, '') not like 'paused by itself%' as "isUp",
  ${seconds('l.finished_at')} as "lastSuccess", ${seconds('c.next_at')} as next,
  ${seconds('case when c.paused_at is null and c.broken_at is null then least(m.scheduled_for, w.scheduled_for, c.next_at) end')} as "expectedBy",
  c.active_window, c.timezone
from chosen c
left join lateral (${lastSuccess(`r.finished_at > tock.now() - interval '2 days'`)}) recent on true
left join lateral (${lastSuccess('recent.finished_at is null')}) older on true
cross join lateral (select coalesce(recent.finished_at, older.finished_at) as finished_at,
  coalesce(recent.scheduled_for, older.scheduled_for, '-infinity') as scheduled_for) l
cross join lateral (
  select min(f.scheduled_for) as scheduled_for from (
    select r.status, r.scheduled_for from tock.job_runs_finished r
    where r.definition_id = c.id and r.scheduled_for > l.scheduled_for and r.finished_at >= l.scheduled_for
      and not coalesce(recent.place = 1 and recent.scheduled_for > tock.now() - interval '2 days', false)
    order by r.scheduled_for desc limit ${LOOKED_BACK}) f
  where f.status = 'dead') m
cross join lateral (
  select min(r.scheduled_for) as scheduled_for from tock.job_runs_live r
  where r.definition_id = c.id and r.scheduled_for > l.scheduled_for) w
order by c.name`,
);

/**
 * Schedules, those in code first, then the oldest. A success is looked for among the last 200 ended runs of
 * each. Nothing is expected before the definition's window opens.
 * @param limit how many are read
 */
export async function readScheduleStates(session: Session, limit: number): Promise<ScheduleState[]> {
  const rows = await SCHEDULES.run(session, { limit });
  return rows.map(({ active_window, timezone, ...state }) => {
    const window = windowOf({ active_window, timezone });
    if (window === null || state.expectedBy === null) return state;
    return { ...state, expectedBy: window.opening(state.expectedBy * 1000) / 1000 };
  });
}

const CODE_JOBS = statement<object, { job: string; queue: string }>(
  'read-code-jobs',
  `select distinct d.job, d.queue from tock.job_definitions d where d.origin = 'code' and d.vanished_at is null order by 1, 2`,
);

const SCHEDULER = statement<
  object,
  { schedules: number; overdueSeconds: number; isFrozen: boolean; oldestSnapshotSeconds: number | null }
>(
  'read-scheduler-state',
  `
select (select count(*)::integer from tock.job_definitions d
    where num_nonnulls(d.cron, d.every_ms, d.at, d.after) = 1 and d.vanished_at is null) as schedules,
  coalesce((select ${seconds('tock.now() - min(d.next_at)')} from tock.job_definitions d
    where d.next_at <= tock.now() and isfinite(d.next_at) and d.paused_at is null and d.broken_at is null
      and d.vanished_at is null), 0) as "overdueSeconds",
  ${IS_FROZEN} as "isFrozen",
  case when pg_has_role('pg_read_all_stats', 'usage') then coalesce((select s.age_ms from (${OLDEST_SNAPSHOT}) s), 0)::float8 / 1000 end
    as "oldestSnapshotSeconds"`,
);

// A daemon that was stopped in order is not missed, nor one that sleeps until it is to wake.
const TICKS = statement<object, MetricsData['ticks'][number]>(
  'read-last-ticks',
  `
select t.host, ${seconds(`max(greatest(t.at, least(t.asleep_until, tock.now())))`)} as at from tock.ticks t
where t.stopped_at is null and t.at > tock.now() - interval '30 days' group by t.host order by t.host`,
);

/** The last tick of each host within 30 days. */
export async function readLastTicks(session: Session): Promise<MetricsData['ticks']> {
  return await TICKS.run(session, {});
}

// A process may have several workers, which report the same.
const LOADS = statement<object, MetricsData['loads'][number]>(
  'read-loads-of-hosts',
  `
select p.host, sum(p.cpu)::float8 as cpu, sum(p.memory_bytes)::float8 as "memoryBytes", max(p.loop_delay_ms)::float8 / 1000 as "loopDelaySeconds"
from (
  select w.host, max(w.cpu) as cpu, max(w.memory_bytes) as memory_bytes, max(w.loop_delay_ms) as loop_delay_ms from tock.workers w
  where w.cpu is not null and ${isWorkerAlive('w')} group by w.host, w.pid, w.process) p
group by p.host order by p.host`,
);

/** What the workers of each host asked of it at their last heartbeats. */
export async function readLoadsOfHosts(session: Session): Promise<MetricsData['loads']> {
  return await LOADS.run(session, {});
}

const NO_JIT = statement<object, unknown>('metrics-without-jit', 'set local jit = off');

/**
 * Turns JIT off until the transaction ends: the planner takes queues and partitions for more than there are,
 * and would compile each statement.
 */
export async function withoutJit(session: Session): Promise<void> {
  await NO_JIT.run(session, {});
}

/** Jobs in code, how many schedules there are, and the state of scheduler and server. */
export async function readSchedulerState(session: Session): Promise<
  Pick<MetricsData, 'jobs' | 'overdueSeconds' | 'isFrozen' | 'oldestSnapshotSeconds'> & {
    readonly schedules: number;
  }
> {
  const row = await SCHEDULER.first(session, {});
  if (!row) throw new Error('the state of the scheduler gave no row');
  return { ...row, jobs: await CODE_JOBS.run(session, {}) };
}
