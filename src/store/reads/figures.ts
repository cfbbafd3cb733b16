// Figures of the scheduler, by the database's clock: how much waits, since when, what ended how.
import { readFrozen, type StoredFreeze } from '../../model/freeze/freeze.js';
import { HANDED_OFF } from '../../model/run/states.js';
import type { RunReport, SchedulerStatus } from '../../model/scheduler-view.js';
import type { Database } from '../connection/database.js';
import { statement } from '../connection/statement.js';
import { readable } from '../connection/values/readable-instant.js';
import { FREEZE_JSON, frozenMsSince } from '../definitions/freeze/frozen.js';
import { DEPLOYED_BY } from '../definitions/registrations.js';
import { lastTickOf } from '../definitions/ticks.js';
import { isAheadByZone } from '../definitions/zones/zones.js';
import { AWAITED_KEYS, isOfCode } from '../runs/claim/waiting/claim-waiting.js';
import { FAIR } from '../runs/fair/arrive.js';
import { claimsFrom, isWorkerAlive } from '../runs/workers/alive.js';
import { IS_COPY } from '../schema/database-identity.js';
import { REPLICA_LAG_MS } from './replica-lag.js';
import { OVERLOOKED_RUNS, overlookedOfJson, type StoredOverlooked } from './runs/overlooked.js';

/** Instants as JSON has them. */
type StatusRow = Omit<SchedulerStatus, 'frozen' | 'overlooked'> & {
  readonly at: string;
  readonly workers: readonly { readonly seenAt: string }[];
  readonly ticks: readonly {
    readonly firstAt: string;
    readonly at: string;
    readonly stoppedAt: string | null;
    readonly asleepUntil: string | null;
  }[];
  readonly partitions: { readonly end: string };
  readonly frozen: StoredFreeze | null;
  readonly overlooked: readonly StoredOverlooked[];
};

/**
 * The session of this database with the oldest snapshot, and its age; of several, that which began first.
 * Those of other roles may be hidden.
 */
export const OLDEST_SNAPSHOT = `select a.pid, extract(epoch from clock_timestamp() - coalesce(a.xact_start, a.query_start)) * 1000 as age_ms
  from pg_stat_activity a
  where a.datname = current_database() and a.pid <> pg_backend_pid() and (a.backend_xmin is not null or a.backend_xid is not null)
  order by age(coalesce(a.backend_xmin, a.backend_xid)) desc, coalesce(a.xact_start, a.query_start) limit 1`;

/** Keys that block most runs. */
const MAX_KEYS = 5;
/** Runs of an awaited job that are counted. */
const MAX_AWAITED = 1000;

/** For how long something has been due, in milliseconds; without time in which everything was frozen. */
const waitMs = (since: string) =>
  `round(((extract(epoch from tock.now()) - extract(epoch from ${readable(since)})) * 1000 - ${frozenMsSince(since)})::numeric)`;

const READ_STATUS = statement<{ countsEnded: boolean }, { status: StatusRow }>(
  'read-status',
  `
with ${AWAITED_KEYS}, groups as materialized (
  -- One pass with few groups: of a long backlog a filter for each count takes three times as long.
  select r.queue, r.status, r.run_at <= tock.now() as is_due, r.locked_by, count(*) as count,
    -- Those that wait for code are told apart.
    min(r.run_at) filter (where (${isOfCode('r.blocked_on')}) is not true) as oldest,
    min(r.run_at) filter (where r.blocked_on is null) as oldest_free,
    max(r.locked_until) as leases_end, count(*) filter (where r.locked_until < tock.now()) as expired
  from tock.job_runs_live r group by 1, 2, 3, 4
), live as (
  select g.queue,
    coalesce(sum(g.count) filter (where g.status in ('queued', 'failed') and g.is_due), 0) as waiting,
    coalesce(sum(g.count) filter (where g.status = 'queued' and not g.is_due), 0) as scheduled,
    coalesce(sum(g.count) filter (where g.status = 'running'), 0) as running,
    coalesce(sum(g.count) filter (where g.status = 'running' and g.locked_by = '${HANDED_OFF}'), 0) as handed_off,
    coalesce(sum(g.count) filter (where g.status = 'failed'), 0) as failed,
    coalesce(sum(g.expired) filter (where g.status = 'running'), 0) as stuck,
    min(g.oldest) filter (where g.status in ('queued', 'failed') and g.is_due) as oldest,
    min(g.oldest_free) filter (where g.status in ('queued', 'failed') and g.is_due) as oldest_free
  from groups g group by g.queue
), finished as (
  select r.status, count(*) as count from tock.job_runs_finished r
  where :countsEnded::boolean and r.finished_at > tock.now() - interval '24 hours' and r.finished_at <= tock.now() and r.status <> 'dead'
  group by r.status
), dead as (
  select count(*) as count, count(*) filter (where r.errors -> -1 ->> 'code' = 'TOCK_BAD_ROW') as set_aside
  from tock.job_runs_finished r
  where r.finished_at > tock.now() - interval '24 hours' and r.finished_at <= tock.now() and r.status = 'dead'
), queues as (
  select coalesce(l.queue, q.name) as queue, coalesce(l.waiting, 0) as waiting, coalesce(l.running, 0) as running,
    coalesce(l.failed, 0) as failed, q.paused_at is not null as paused, q.relayed_to,
    exists (select from tock.workers w where q.name = any(w.queues) and ${isWorkerAlive('w')} and not w.draining) as named,
    exists (select from tock.workers w where ${claimsFrom('w', 'coalesce(l.queue, q.name)', 'q.relayed_to')}) as is_claimed,
    coalesce(${waitMs('l.oldest_free')}, 0) as oldest_wait_ms
  from live l full join tock.job_queues q on q.name = l.queue
), blocking as (
  select r.blocked_on as key, count(*) as count, min(r.run_at) as oldest from tock.job_runs_live r
  -- Fair keys, of which there may be hundreds of thousands, sort after them: their runs wait for a turn.
  where r.blocked_on < '${FAIR}' and not (${isOfCode('r.blocked_on')}) group by 1 order by 2 desc, 1 limit ${MAX_KEYS}
), holders as (
  select w.id, w.kind, w.host, w.pid, w.service, w.seen_at, coalesce(w.heartbeat_ms, 15000) as heartbeat_ms,
    w.seen_at not between tock.now() - coalesce(w.heartbeat_ms, 15000) * interval '2.5 milliseconds'
      and tock.now() + coalesce(w.heartbeat_ms, 15000) * interval '2.5 milliseconds' as is_silent,
    coalesce(l.running, 0) as running, l.leases_end_ms
  from tock.workers w left join (
    select g.locked_by, sum(g.count) as running, round(extract(epoch from max(g.leases_end) - tock.now()) * 1000) as leases_end_ms
    from groups g where g.status = 'running' group by g.locked_by) l on l.locked_by = w.id
), sets as materialized (
  -- Older than a deploy takes.
  select w.service, w.fingerprint, w.host || ' pid ' || w.pid as who from tock.workers w
  where w.fingerprint is not null and w.started_at < ${DEPLOYED_BY} and not w.draining and ${isWorkerAlive('w')}
  union
  select t.service, t.fingerprint, t.host || ' in ' || t.folder from tock.ticks t
  where t.kind <> 'daemon' and t.fingerprint <> '' and t.set_at < ${DEPLOYED_BY} and ${lastTickOf('t')} > tock.now() - interval '3 minutes'
), split as (
  select s.service, array_agg(s.who order by s.who) filter (where g.fingerprint is not null) as in_force,
    array_agg(s.who order by s.who) filter (where g.fingerprint is null) as others
  from sets s left join tock.registrations g on g.service = s.service and g.fingerprint = s.fingerprint and g.is_current
  group by s.service having count(distinct s.fingerprint) > 1
), snapshot as (
  ${OLDEST_SNAPSHOT}
)
select jsonb_build_object(
  'at', tock.now(),
  'isCopy', ${IS_COPY},
  'replicaLagMs', ${REPLICA_LAG_MS},
  'definitions', (select jsonb_build_object(
    'scheduled', count(*) filter (where next_at is not null),
    'due', count(*) filter (where next_at <= tock.now() and paused_at is null and broken_at is null),
    'paused', count(*) filter (where paused_at is not null),
    'broken', count(*) filter (where broken_at is not null),
    'ahead', count(*) filter (where cursor > tock.now() + interval '1 minute' and next_at is not null
      and not ${isAheadByZone('job_definitions')}),
    'aheadMs', greatest(0, round(extract(epoch from max(cursor) filter (where next_at is not null) - tock.now()) * 1000)),
    'overdueMs', coalesce(${waitMs(`min(next_at) filter (where next_at <= tock.now() and isfinite(next_at)
      and paused_at is null and broken_at is null)`)}, 0)) from tock.job_definitions where vanished_at is null),
  'runs', (select jsonb_build_object(
    'waiting', coalesce(sum(waiting), 0), 'scheduled', coalesce(sum(scheduled), 0), 'running', coalesce(sum(running), 0),
    'handedOff', coalesce(sum(handed_off), 0), 'failed', coalesce(sum(failed), 0), 'stuck', coalesce(sum(stuck), 0)) from live),
  'frozen', ${FREEZE_JSON},
  'oldestWaitMs', coalesce((select ${waitMs('min(oldest)')} from live), 0),
  'lastDay', jsonb_build_object('succeeded', 0, 'dead', 0, 'cancelled', 0, 'skipped', 0)
    || coalesce((select jsonb_object_agg(status, count) from finished), '{}')
    || (select jsonb_build_object('dead', count, 'setAside', set_aside) from dead),
  'workers', coalesce((select jsonb_agg(jsonb_build_object('id', id, 'kind', kind, 'host', host, 'pid', pid, 'service', service, 'seenAt', ${readable('seen_at')}, 'silent', is_silent,
    'heartbeatMs', heartbeat_ms, 'running', running, 'leasesEndMs', leases_end_ms) order by host, pid) from holders), '[]'),
  'ticks', coalesce((select jsonb_agg(jsonb_build_object('host', host, 'folder', folder, 'kind', kind, 'service', service, 'firstAt', ${readable('first_at')},
    'at', ${readable('at')}, 'count', tick_count, 'version', version, 'node', node, 'zoneData', zone_data, 'clockMs', clock_ms,
    'stoppedAt', ${readable('stopped_at')}, 'asleepUntil', ${readable('asleep_until')}) order by ${lastTickOf('t')} desc, host, folder)
    from (select * from tock.ticks t order by ${lastTickOf('t')} desc limit 100) t), '[]'),
  'splitServices', coalesce((select jsonb_agg(jsonb_build_object('service', s.service, 'inForce', coalesce(s.in_force, '{}'), 'others', coalesce(s.others, '{}'),
    'vanished', array(select d.name from tock.job_definitions d where d.service = s.service and d.origin = 'code' and d.vanished_at > tock.now() - interval '1 day'
      order by d.name limit 10)) order by s.service) from split s), '[]'),
  'queues', coalesce((select jsonb_agg(jsonb_build_object('queue', queue, 'waiting', waiting, 'running', running, 'failed', failed,
    'paused', paused, 'relayedTo', relayed_to, 'named', named, 'isClaimed', is_claimed, 'oldestWaitMs', oldest_wait_ms) order by queue) from queues), '[]'),
  'blockingKeys', coalesce((select jsonb_agg(jsonb_build_object('key', b.key, 'definition', d.name, 'runs', b.count,
    'waitMs', greatest(0, coalesce(${waitMs('b.oldest')}, 0))) order by b.count desc, b.key)
    from blocking b left join tock.job_definitions d on 'definition:' || d.id = b.key), '[]'),
  'awaitedJobs', coalesce((select jsonb_agg(to_jsonb(j) order by j.runs desc, j.job) from (
    select substr(a.key, 6) as job, least(w.runs, ${MAX_AWAITED}) as runs, w.runs > ${MAX_AWAITED} as "isCapped",
      greatest(0, coalesce(${waitMs('w.oldest')}, 0)) as "waitMs",
      exists (select from tock.job_definitions d where d.name = substr(a.key, 6) and d.origin = 'code' and d.vanished_at is null) as "isKnown"
    from awaited a cross join lateral (
      select count(*) as runs, ${readable('min(run_at)')} as oldest from (
        select r.run_at from tock.job_runs_live r where r.blocked_on = a.key order by r.priority, r.run_at, r.id limit ${MAX_AWAITED + 1}) r) w
    order by w.runs desc, a.key limit 100) j), '[]'),
  'overlooked', ${OVERLOOKED_RUNS},
  'oldestSnapshot', (select jsonb_build_object('ageMs', round(age_ms), 'pid', pid) from snapshot),
  'partitions', jsonb_build_object('end', partitions.until, 'unit', partitions.unit,
    'runningOut', partitions.until < tock.now() + case partitions.unit when 'day' then interval '3 days' else interval '10 days' end),
  'deadRows', coalesce((select n_dead_tup from pg_stat_user_tables where relid = 'tock.job_runs_live'::regclass), 0)
) as status
from (select tock.partitions_end() as until, tock.partition_unit() as unit) partitions`,
);

/** @param countsEnded false: of the last day only dead runs are counted, by their index */
export async function readStatus(
  database: Database,
  { countsEnded = true } = {},
): Promise<Omit<SchedulerStatus, 'zoneDisagreements' | 'missed' | 'handOffs'>> {
  const row = await READ_STATUS.first(database, { countsEnded });
  if (!row) throw new Error('the status query gave no row');
  const { status } = row;
  return {
    ...status,
    at: new Date(status.at),
    oldestWaitMs: Math.round(status.oldestWaitMs),
    frozen: readFrozen(status.frozen),
    overlooked: status.overlooked.map(overlookedOfJson),
    partitions: { ...status.partitions, end: new Date(status.partitions.end) },
    workers: status.workers.map(worker => ({ ...worker, seenAt: new Date(worker.seenAt) })),
    ticks: status.ticks.map(tick => ({
      ...tick,
      firstAt: new Date(tick.firstAt),
      at: new Date(tick.at),
      stoppedAt: tick.stoppedAt === null ? null : new Date(tick.stoppedAt),
      asleepUntil: tick.asleepUntil === null ? null : new Date(tick.asleepUntil),
    })),
  };
}

const IN_SPAN = `r.finished_at >= :from and r.finished_at < :to`;

const READ_REPORT = statement<{ from: Date; to: Date }, { report: Omit<RunReport, 'from' | 'to'> }>(
  'read-report',
  `
select jsonb_build_object(
  'jobs', coalesce((select jsonb_agg(to_jsonb(j) order by j.job) from (
    select r.job,
      count(*) filter (where r.status = 'succeeded') as succeeded, count(*) filter (where r.status = 'dead') as dead,
      count(*) filter (where r.status = 'cancelled') as cancelled, count(*) filter (where r.status = 'skipped') as skipped,
      coalesce(sum(greatest(r.attempts - 1, 0)), 0) as retries,
      round((avg(extract(epoch from r.finished_at - ${readable('r.started_at')})) filter (where r.status = 'succeeded') * 1000)::numeric, 1) as "meanMs",
      round((percentile_cont(0.95) within group (order by extract(epoch from r.finished_at - ${readable('r.started_at')}))
        filter (where r.status = 'succeeded') * 1000)::numeric, 1) as "p95Ms"
    from tock.job_runs_finished r where ${IN_SPAN} group by r.job) j), '[]'),
  'days', coalesce((select jsonb_agg(to_jsonb(d) order by d.day) from (
    select to_char(r.finished_at at time zone 'UTC', 'YYYY-MM-DD') as day,
      count(*) filter (where r.status = 'succeeded') as succeeded, count(*) filter (where r.status = 'dead') as dead,
      count(*) filter (where r.status = 'skipped') as skipped
    from tock.job_runs_finished r where ${IN_SPAN} group by 1) d), '[]'),
  'errors', coalesce((select jsonb_agg(to_jsonb(e) order by e.count desc, e.job) from (
    select r.job, e.value ->> 'name' as name, left(e.value ->> 'message', 300) as message, count(*) as count
    from tock.job_runs_finished r cross join lateral jsonb_array_elements(case jsonb_typeof(r.errors) when 'array' then r.errors else '[]' end) e
    where ${IN_SPAN} group by 1, 2, 3 order by count(*) desc limit 20) e), '[]')
) as report`,
);

/** The runs that ended in [from, to), by job and by UTC day, with the most frequent errors. */
export async function readReport(database: Database, from: Date, to: Date): Promise<RunReport> {
  const row = await READ_REPORT.first(database, { from, to });
  if (!row) throw new Error('the report query gave no row');
  return { from, to, ...row.report };
}
