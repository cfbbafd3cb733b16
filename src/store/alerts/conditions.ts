// What alerts look for, as SQL over the CTE `queue_lanes`: bounded, and by indexes. Locks nothing.
import { ALERT_QUEUE } from '../../model/alerts/alert-queue.js';
import { msBetween } from '../connection/values/readable-instant.js';
import { frozenMsSince } from '../definitions/freeze/frozen.js';
import { lastTickOf } from '../definitions/ticks.js';
import { isQueueOpen, liesIn } from '../runs/claim/queue-lanes.js';
import { statuses } from '../runs/transition.js';

/** Hosts that have not ticked for longer than this are no longer expected to. */
const FORGOTTEN_AFTER = `interval '7 days'`;
/** A host that has ticked less often may have been somebody's laptop. */
const MIN_TICKS = 10;

/** An order that changes each minute: where there are more than are read, each is read some time. */
export const inTurns = (name: string) => `hashtext(${name} || to_char(tock.now(), 'HH24MI'))`;

/** Runs that are read in each queue lane, the longest due first: running ones are. */
const MAX_LOOKED_AT = 10_000;

const ms = (value: string) => `${value} * interval '1 millisecond'`;

/** Running attempts that have a `max_duration_ms` by their definition; one-off runs by their job's. */
const LONG_RUNS_FROM = `select r.id, r.job, r.definition_id, r.started_at, m.max_ms, r.started_at + ${ms('m.max_ms')} as ends_at
  from queue_lanes p cross join lateral (
    select l.id, l.job, l.definition_id, l.started_at, l.status from tock.job_runs_live l
    where l.blocked_on is null and ${liesIn('l', 'p')} and l.run_at <= tock.now()
    order by l.run_at, l.id limit ${MAX_LOOKED_AT}
  ) r cross join lateral (
    select coalesce((select d.max_duration_ms from tock.job_definitions d where d.id = r.definition_id),
      (select d.max_duration_ms from tock.job_definitions d where d.name = r.job)) as max_ms
  ) m
  where r.status = 'running'`;

/** Those that run for longer. */
export const LONG_RUNS = `${LONG_RUNS_FROM} and r.started_at < tock.now() - ${ms('m.max_ms')}`;

/** When a queue's hours last began; over its row. */
function openedAt(queue: string): string {
  const local = `(tock.now() at time zone ${queue}.timezone)`;
  const from = `split_part(${queue}.active_window, '-', 1)::time`;
  return `((${local}::date + ${from} - case when ${local}::time < ${from} then interval '1 day' else interval '0' end) at time zone ${queue}.timezone)`;
}

/**
 * Queues in which a due run has waited for longer than `limit`, SQL for milliseconds. A queue outside its
 * hours counts from their beginning on; a paused one counts, since the pause may have been forgotten. Runs
 * that wait for a slot do not, nor does time in which everything was frozen.
 * @param only SQL for the names of these queues only; null: all
 */
export const waitingQueues = (
  limit: string,
  only: string,
) => `select p.queue, w.run_at, q.paused_at is not null as is_paused
  from queue_lanes p left join tock.job_queues q on q.name = p.queue cross join lateral (
    select r.run_at from tock.job_runs_live r
    where r.blocked_on is null and ${liesIn('r', 'p')} and r.run_at <= tock.now() - ${ms(limit)} and r.status in (${statuses('claim')})
    order by r.run_at, r.id limit 1
  ) w
  where p.queue <> '${ALERT_QUEUE}' and ${msBetween('w.run_at', 'tock.now()')} - ${frozenMsSince('w.run_at')} >= ${limit} and (${only} is null or p.queue = any(${only})) and (q.paused_at is not null or ${isQueueOpen('q')}
    and (q.active_window is null or ${openedAt('q')} <= tock.now() - ${ms(limit)}))`;

/** Hosts and folders, and when each ticked last, or until when it sleeps. */
const EXPECTED_HOSTS = `select t.host, t.folder, max(${lastTickOf('t')}) as at from tock.ticks t
  where t.tick_count >= ${MIN_TICKS} and t.at > tock.now() - ${FORGOTTEN_AFTER} and t.stopped_at is null
  group by t.host, t.folder`;

/** Hosts and folders whose last tick is longer ago than `limit`, SQL for milliseconds. */
export const silentHosts = (limit: string) =>
  `${EXPECTED_HOSTS} having max(${lastTickOf('t')}) < tock.now() - ${ms(limit)}`;

/** Which conditions the rules ask about. Durations in milliseconds; null: none does. */
export interface AlertLimits {
  readonly waitMs: number | null;
  /** Null: in all queues. */
  readonly waitQueues: readonly string[] | null;
  readonly silentMs: number | null;
  readonly asksDuration: boolean;
  readonly asksLate: boolean;
}

/**
 * Whether alerts are to be evaluated: something has happened, a time has come at which something may be late,
 * or something has been going on for too long. Uses the parameters of {@link AlertLimits}.
 */
export const ALERTS_DUE = `(exists (select from tock.alert_events)
    or not exists (select from tock.alert_clock c where c.check_at > tock.now() and c.checked_at < tock.now() + interval '1 minute')
    or :asksLate::boolean and coalesce((select min(w.check_at) from tock.alert_watches w) <= tock.now(), false)
    or :asksDuration::boolean and exists (${LONG_RUNS} limit 1)
    or :waitMs::float8 is not null and exists (${waitingQueues(':waitMs::float8', ':waitQueues::text[]')} limit 1)
    or :silentMs::float8 is not null and exists (${silentHosts(':silentMs::float8')} limit 1))`;

/**
 * When alerts are to be evaluated next, as far as time alone decides; those that are due are not counted.
 * Null: never. While an alert is down, looks at whether it still is may be rarer. Uses the parameters of
 * {@link AlertLimits}, and :host and :folder, which nobody else need miss.
 */
export const NEXT_ALERT = `least((select c.check_at from tock.alert_clock c where c.check_at > tock.now()
      and not exists (select from tock.alert_states s where s.status = 'down')),
    case when :asksLate::boolean then (select min(w.check_at) from tock.alert_watches w where w.check_at > tock.now()) end,
    case when :asksDuration::boolean then (select min(l.ends_at) from (${LONG_RUNS_FROM}) l where l.ends_at > tock.now()) end,
    (select min(w.waits_until) from (select greatest(r.run_at + ${ms(`(:waitMs::float8 + ${frozenMsSince('r.run_at')})`)},
        case when q.active_window is not null and ${isQueueOpen('q')} then ${openedAt('q')} + ${ms(':waitMs::float8')} end) as waits_until
      from queue_lanes p left join tock.job_queues q on q.name = p.queue cross join lateral (
        select r.run_at from tock.job_runs_live r
        where r.blocked_on is null and ${liesIn('r', 'p')} and r.status in (${statuses('claim')}) and r.run_at <= tock.now()
        order by r.run_at, r.id limit 1) r
      where :waitMs::float8 is not null and p.queue <> '${ALERT_QUEUE}' and (:waitQueues::text[] is null or p.queue = any(:waitQueues::text[]))) w
      where w.waits_until > tock.now()),
    (select min(h.at) + ${ms(':silentMs::float8')} from (${EXPECTED_HOSTS}) h
      where h.at > tock.now() - ${ms(':silentMs::float8')} and (h.host, h.folder) <> (:host, :folder)))`;
