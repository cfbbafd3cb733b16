// What there is to do, and when something will be due next: how long a daemon sleeps, and whether a tick can
// leave. By the database's clock.
import { SQL_RELAY } from '../../model/queue/queue-limits.js';
import { ALERTS_DUE, type AlertLimits, NEXT_ALERT } from '../alerts/conditions.js';
import type { Session } from '../connection/database.js';
import { opaqueToPlanner, statement } from '../connection/statement.js';
import { msBetween } from '../connection/values/readable-instant.js';
import { FROZEN_UNTIL, IS_FROZEN, NOT_BEFORE } from '../definitions/freeze/frozen.js';
import { noteKeptFrom, noteTickFrom, type Ticker } from '../definitions/ticks.js';
import {
  closesAt,
  isClaimable,
  isLeft,
  isNamed,
  isQueueOpen,
  liesIn,
  openQueueLanes,
  opensAt,
  QUEUE_LANES,
  QUEUE_LANES_WITH_WATERMARKS,
  type Watermark,
  type WatermarkParameters,
  watermarkParameters,
} from '../runs/claim/queue-lanes.js';
import { WAITS_FOR_CODE } from '../runs/claim/waiting/claim-waiting.js';
import { IS_FAIR_DUE, NEXT_FAIR, READY_SCOPES } from '../runs/fair/ready.js';
import { HAS_OFFERABLE } from '../runs/hand-off/offers.js';
import { NEEDS_REAPING } from '../runs/reap/reapable.js';
import { isWorkerAlive } from '../runs/workers/alive.js';
import { IS_COPY } from '../schema/database-identity.js';

const IS_PLANNED = `next_at is not null and paused_at is null and broken_at is null and vanished_at is null`;
const msFromNow = (instant: string) => msBetween('tock.now()', instant);

/** When the first of what is held back may start; null: nothing is. */
const NEXT_OPENING = `least((select min(q.rate_next_at) from tock.job_queues q where q.rate_count is not null and q.rate_next_at > tock.now()),
    (select min(q.closed_until) from tock.job_queues q where q.closed_until > tock.now()), ${NEXT_FAIR}, ${FROZEN_UNTIL})`;

interface PollQuestion {
  readonly queues: readonly string[] | null;
  readonly ownService: string;
  readonly checksReaping: boolean;
}

const NEXT_DUE = statement<PollQuestion & WatermarkParameters, NextDue>(
  'next-due',
  `
with ${QUEUE_LANES_WITH_WATERMARKS}, ${READY_SCOPES}, ${openQueueLanes('1', true)}, fair as materialized (select ${IS_FAIR_DUE} as is_due)
select
  ${msFromNow(`greatest((select min(next_at) from tock.job_definitions where ${IS_PLANNED}), ${NOT_BEFORE})`)} as "occurrenceMs",
  ${msFromNow(`least((select min(f.run_at) from queue_lanes p cross join lateral (
    select r.run_at from tock.job_runs_live r where r.blocked_on is null and ${liesIn('r', 'p')}
      and r.run_at > tock.now()
    order by r.run_at, r.id limit 1) f where case when ${opaqueToPlanner('queues', 'text[]')} is null
      then not exists (select from tock.job_queues q where q.name = p.queue and q.relayed_to <> '${SQL_RELAY}') else ${isNamed('p.queue')} end and not ${isLeft('p.queue')}),
    ${NEXT_OPENING})`)} as "runMs",
  exists (select from open) or (select is_due from fair) as "isOverdue", (select is_due from fair) as "isFairDue", ${WAITS_FOR_CODE} as "waitsForCode",
  case when ${opaqueToPlanner('queues', 'text[]')} is null then ${HAS_OFFERABLE} else false end as "isOfferDue",
  case when ${opaqueToPlanner('checksReaping', 'boolean')} then ${NEEDS_REAPING} else false end as "needsReaping",
  (select count(*)::integer from tock.workers where kind in ('daemon', 'relay')) as daemons`,
  { prepared: true },
);

/** Milliseconds until the next occurrence, and until the next waiting run is due. */
export interface NextDue {
  /** Negative if it is overdue. Null: there is no next occurrence. */
  readonly occurrenceMs: number | null;
  /** Null: no run waits for a time in the future. The lease of a run that is handed off ends then. */
  readonly runMs: number | null;
  /** Runs are due and could be claimed now. */
  readonly isOverdue: boolean;
  /** Fair keys are ready: a part of `isOverdue`. */
  readonly isFairDue: boolean;
  /** Runs wait for code that has their jobs. */
  readonly waitsForCode: boolean;
  /** Runs are due in queues that are relayed to sql, and this process offers them. */
  readonly isOfferDue: boolean;
  /** Reaping would find an expired lease, or what a dead process left undone. False if not checked. */
  readonly needsReaping: boolean;
  /** How many daemons have a row in `workers`. */
  readonly daemons: number;
}

/**
 * One index look-up for the occurrences, and a few for each queue lane. Locks nothing.
 * @param checksReaping whether to check for work to reap too: a few look-ups more, over all due runs
 * @param watermarks due runs below them are not counted. None: whatever claims have passed is found too
 * @param ownService runs in the default queues of other services, which their workers claim, are not counted
 */
export async function readNextDue(
  session: Session,
  queues: readonly string[] | null,
  checksReaping: boolean,
  watermarks: readonly Watermark[] = [],
  ownService = '',
): Promise<NextDue> {
  const question = { queues, ownService, checksReaping };
  const due = await NEXT_DUE.first(session, { ...question, ...watermarkParameters(watermarks) });
  return (
    due ?? {
      occurrenceMs: null,
      runMs: null,
      isOverdue: false,
      isFairDue: false,
      waitsForCode: false,
      isOfferDue: false,
      needsReaping: false,
      daemons: 0,
    }
  );
}

// Other versions of the definitions, a missing migration and a clock that was set back count as something to
// do. The registration is written only when others would soon consider it old, not with every tick of every
// host; the tick of this host, at most once in half a minute. What a crash of the server may lose of these is
// written again by the next tick, so the commit waits neither for the disk nor for a standby.
const isIdle = (more: string) => `
with ${QUEUE_LANES}, ${READY_SCOPES}, ${openQueueLanes('1')}, seen as (
  update tock.registrations set seen_at = tock.now()
  where service = :service and fingerprint = :fingerprint and is_current and seen_at < tock.now() - interval '30 seconds'
), question as materialized (
  select not exists (select from unnest(:migrations::text[]) n(name) where n.name not in (select m.name from tock.migrations m))
    and exists (select from tock.registrations
      where service = :service and fingerprint = :fingerprint and is_current and seen_at <= tock.now() + interval '1 minute')
    and not ${IS_COPY} and not exists (select from tock.zones z where z.zone_data < nullif(:zoneData, 'unknown'))
    and not exists (select from tock.job_definitions where next_at <= tock.now() and ${IS_PLANNED} and not ${IS_FROZEN})
    and not exists (select from open) and not ${IS_FAIR_DUE} and not ${NEEDS_REAPING}${more}
    and case when :queues::text[] is null then not ${HAS_OFFERABLE} else true end as is_idle
), kept as (${noteKeptFrom('question', 'is_idle')}
), noted as (${noteTickFrom('question', 'is_idle')}
)
select is_idle as "isIdle", set_config('synchronous_commit', 'off', true) as "commit" from question`;

type Asked = Omit<IdleQuestion, 'alerts'> & Ticker & { readonly ownService: string };
const IS_IDLE = statement<Asked, { readonly isIdle: boolean }>('is-idle', isIdle(''));
const IS_IDLE_WITH_ALERTS = statement<Asked & AlertLimits, { readonly isIdle: boolean }>(
  'is-idle-with-alerts',
  isIdle(` and not ${ALERTS_DUE}`),
);

export interface IdleQuestion {
  readonly queues: readonly string[] | null;
  /** The migrations that must have been applied. */
  readonly migrations: readonly string[];
  /** What alerts ask about. Default: this process evaluates none. */
  readonly alerts?: AlertLimits | null;
}

/**
 * Whether a tick would find nothing to do: nothing to migrate, register, reap, materialize, claim or alert.
 * One statement, which may run under any isolation and locks no row of another host. Like registering, it
 * notes that the definitions were seen; if there is nothing to do, it notes the tick too.
 */
export async function askWhetherIdle(
  session: Session,
  question: IdleQuestion,
  ticker: Ticker,
): Promise<boolean> {
  const { alerts = null, ...asked } = { ...question, ...ticker, ownService: ticker.service };
  const answer =
    alerts === null
      ? await IS_IDLE.first(session, asked)
      : await IS_IDLE_WITH_ALERTS.first(session, { ...asked, ...alerts });
  return answer?.isIdle === true;
}

// For how long a process can send no statement and miss nothing: until the first thing that time alone makes
// due.

/**
 * Whether a transaction that has written to Tock's tables is still open, or prepared: its commit will wake
 * nobody who sleeps by then. A vacuum takes the same lock on indexes, which are left out.
 */
const IS_WRITTEN = statement<object, { readonly isWritten: boolean }>(
  'is-written',
  `select exists (select from pg_locks l join pg_class c on c.oid = l.relation
    where l.locktype = 'relation' and l.mode = 'RowExclusiveLock' and l.pid is distinct from pg_backend_pid()
      and l.database = (select d.oid from pg_database d where d.datname = current_database())
      and c.relkind in ('r', 'p') and c.relnamespace = (select n.relnamespace from pg_class n where n.oid = 'tock.job_runs_live'::regclass)) as "isWritten"`,
);

/** What of the process that may sleep decides. */
export interface WakeQuestion extends Pick<Ticker, 'host' | 'folder'> {
  /** From which it claims; null: all. */
  readonly queues: readonly string[] | null;
  readonly ownService: string;
  /** What its alerts ask about; null: it evaluates none. */
  readonly alerts: AlertLimits | null;
}

type WakeAsked = Omit<WakeQuestion, 'alerts'> & AlertLimits & { readonly asksAlerts: boolean };

/**
 * When workers of other services, to which due runs are left, may be taken for dead; null: none are left.
 * This process executes these runs from then on.
 */
const LEFT_UNTIL = `case when exists (select from queue_lanes p cross join lateral (
      select from tock.job_runs_live r where ${liesIn('r', 'p')} and ${isClaimable('r')} order by r.run_at, r.id limit 1) d where ${isLeft('p.queue')})
      or exists (select from ready_scopes s where ${isLeft('s.queue')})
    then (select min(w.seen_at + coalesce(w.heartbeat_ms, 15000) * interval '2.5 milliseconds') from tock.workers w
      where w.service <> :ownService and ${isWorkerAlive('w')}) end`;

const NEXT_WAKE = statement<WakeAsked, { readonly ms: number | null }>(
  'next-wake',
  `
with ${QUEUE_LANES}, ${READY_SCOPES}
select ${msFromNow(`least(
    greatest((select min(next_at) from tock.job_definitions where ${IS_PLANNED}), ${NOT_BEFORE}),
    (select min(f.run_at) from queue_lanes p cross join lateral (
      select r.run_at from tock.job_runs_live r where r.blocked_on is null and ${liesIn('r', 'p')} and r.run_at > tock.now()
      order by r.run_at, r.id limit 1) f),
    (select min(l.locked_until) from queue_lanes p cross join lateral (
      select r.locked_until from tock.job_runs_live r where r.blocked_on is null and ${liesIn('r', 'p')}
        and r.run_at <= tock.now() and r.status = 'running') l),
    (select min(least(q.override_ends_at, q.paused_until)) from tock.job_queues q),
    (select min(case when not (${isQueueOpen('q')}) then ${opensAt('q')} when q.relayed_to = '${SQL_RELAY}' then ${closesAt('q')} end)
      from tock.job_queues q where q.active_window is not null),
    ${LEFT_UNTIL},
    (select min(d.paused_until) from tock.job_definitions d where d.paused_until is not null),
    ${NEXT_OPENING}, (select u.at from tock.upkeep u where u.kind = 'retention' and u.at > tock.now()),
    case when :asksAlerts::boolean then ${NEXT_ALERT} end)`)} as ms`,
);

const NO_LIMITS: AlertLimits = {
  waitMs: null,
  waitQueues: null,
  silentMs: null,
  asksDuration: false,
  asksLate: false,
};

/**
 * For how many milliseconds nothing becomes due, if nothing is due now and nobody commits anything: until the
 * next occurrence, the next run's time, the end of a lease, of a pause or a freeze, the next start that a
 * rate allows, the opening of a queue, the next check of alerts, the next turn to prune. In every queue, also
 * of those that this process leaves to others. Infinity: there is no such time. Zero while a transaction has
 * written and has not ended.
 */
export async function readNextWake(session: Session, { alerts, ...who }: WakeQuestion): Promise<number> {
  // In a statement of its own, before: the next one sees all that was committed until then.
  if ((await IS_WRITTEN.first(session, {}))?.isWritten !== false) return 0;
  const asked = { ...who, asksAlerts: alerts !== null, ...(alerts ?? NO_LIMITS) };
  return (await NEXT_WAKE.first(session, asked))?.ms ?? Number.POSITIVE_INFINITY;
}
