// The queues as an operator looks after them: limits, what waits and since when, which slots are held.

import type { QueueRecord } from '../../model/queue-methods.js';
import type { Session } from '../connection/database.js';
import { statement } from '../connection/statement.js';
import { instant, readable } from '../connection/values/readable-instant.js';
import { overridesOf, type StoredOverrides } from '../definitions/queue-rows.js';
import { isClaimable, isRateClockAhead, liesIn, QUEUE_LANES } from '../runs/claim/queue-lanes.js';
import { blockedQueues } from '../runs/claim/waiting/blocked-queues.js';
import { isOfCode } from '../runs/claim/waiting/claim-waiting.js';
import { FAIR } from '../runs/fair/arrive.js';
import { statuses } from '../runs/transition.js';
import { claimsFrom } from '../runs/workers/alive.js';
import { knownQueues } from './queue-names.js';
import { fairOf } from './queues.js';

/** The most runs of one queue that are looked at; there may be more of each kind if this many were. */
export const MAX_COUNTED = 5000;
/** Runs that are looked at for all queues of a page, and of each at least. */
const MAX_SHARED = 25_000;
const MIN_COUNTED = 500;
const MAX_HOLDERS = 6;

/** A run that holds a slot under a limit. */
export interface Holder {
  readonly id: string;
  readonly job: string;
  readonly definition: string | null;
  /** Null: it has ended, and its slot is about to be freed. */
  readonly status: string | null;
  readonly startedAt: Date | null;
  /** Of its worker. */
  readonly host: string | null;
  readonly pid: number | null;
}

export interface QueueLoad extends Omit<QueueRecord, 'waiting' | 'running'> {
  /** Due, not claimed, and not waiting for a slot under another limit. */
  readonly waiting: number;
  readonly running: number;
  /** Due later: a delay, a retry, or an occurrence that is yet to come. */
  readonly later: number;
  /** Waiting for a slot under a limit of its job or definition. */
  readonly blocked: number;
  /** The counts are lower bounds. */
  readonly isCapped: boolean;
  /** Since when the one that waits longest is due; null: none waits. */
  readonly oldestAt: Date | null;
  /** Live workers that claim from it. */
  readonly claimers: number;
  /** Slots of its `concurrency` that are held. */
  readonly held: number;
  /** Who holds them: the first six. */
  readonly holders: readonly Holder[];
  /** When its rate lets the next run start; null: now, or it has none. */
  readonly rateNextAt: Date | null;
}

/** Holders of a key, an SQL expression, as a JSON array. */
const holdersOf = (key: string) => `coalesce((
    select jsonb_agg(to_jsonb(h) order by h.slot) from (
      select s.slot, s.run_id::text as id, r.job, d.name as definition, r.status, ${readable('r.started_at')} as "startedAt", w.host, w.pid
      from tock.job_slots s
      left join tock.job_runs_live r on r.id = s.run_id
      left join tock.job_definitions d on d.id = r.definition_id
      left join tock.workers w on w.id = r.locked_by
      where s.concurrency_key = ${key} order by s.slot limit ${MAX_HOLDERS}) h), '[]')`;

interface StoredHolder extends Omit<Holder, 'startedAt'> {
  readonly startedAt: string | null;
}
type Stored<Row> = Omit<Row, 'holders'> & { readonly holders: readonly StoredHolder[] };

function withDates<Row extends { readonly holders: readonly StoredHolder[] }>(row: Row) {
  const holders = row.holders.map(({ id, job, definition, status, startedAt, host, pid }): Holder => {
    return {
      id,
      job,
      definition,
      status,
      host,
      pid,
      startedAt: startedAt === null ? null : new Date(startedAt),
    };
  });
  return { ...row, holders };
}

const READ_QUEUE_LOAD = statement<
  { name: string | null; after: string | null; limit: number },
  Omit<Stored<QueueLoad>, 'overrides'> & { readonly overrides: StoredOverrides | null }
>(
  'read-queue-load',
  `
with ${QUEUE_LANES}, blocked as materialized (
  select r.queue, count(*)::integer as count from (
    select queue from tock.job_runs_live where blocked_on is not null order by blocked_on limit ${MAX_COUNTED + 1}) r group by r.queue
), names as (${knownQueues('blocked')}
), chosen as (
  select n.name from names n
  where (:name::text is null or n.name = :name) and (:after::text is null or n.name > :after)
  order by n.name limit :limit
), cap as materialized (
  select least(${MAX_COUNTED}, greatest(${MIN_COUNTED}, ${MAX_SHARED} / greatest(count(*), 1) / 500 * 500))::integer as size from chosen
)
select c.name, q.concurrency,
  case when q.rate_count is not null then jsonb_build_object('count', q.rate_count, 'perMs', q.rate_period_ms) end as rate,
  q.active_window as window, coalesce(q.timezone, 'UTC') as timezone, ${instant(readable('q.paused_at'))} as "pausedAt", ${instant(readable('q.paused_until'))} as "pausedUntil", q.pause_reason as "pauseReason", q.relayed_to as "relayedTo",
  q.in_code as "inCode", q.overrides,
  ${instant(`case when q.closed_until > tock.now() then q.closed_until end`)} as "closedUntil", ${fairOf('c.name')} as fair,
  least(counts.waiting, cap.size) as waiting, least(counts.running, cap.size) as running, least(counts.later, cap.size) as later,
  coalesce(b.count, 0) as blocked, counts.examined > cap.size as "isCapped",
  ${instant('oldest.at')} as "oldestAt",
  (select count(*)::integer from tock.workers w where ${claimsFrom('w', 'c.name', 'q.relayed_to')}) as claimers,
  case when q.concurrency is null then 0
    else (select count(*)::integer from tock.job_slots s where s.concurrency_key = 'queue:' || q.name) end as held,
  case when q.concurrency is null then '[]' else ${holdersOf("'queue:' || q.name")} end as holders,
  case when q.rate_next_at > tock.now() and q.rate_count is not null and not ${isRateClockAhead('q')} then ${instant('q.rate_next_at')} end as "rateNextAt"
from chosen c
cross join cap
left join tock.job_queues q on q.name = c.name
left join blocked b on b.queue = c.name
cross join lateral (
  select count(*)::integer as examined,
    (count(*) filter (where r.status in (${statuses('claim')}) and r.run_at <= tock.now()))::integer as waiting,
    (count(*) filter (where r.status in (${statuses('claim')}) and r.run_at > tock.now()))::integer as later,
    (count(*) filter (where r.status = 'running'))::integer as running
  from (
    select l.status, l.run_at from tock.job_runs_live l where l.queue = c.name and l.blocked_on is null
    order by l.queue, l.priority, l.run_at, l.id limit cap.size + 1) r
) counts
cross join lateral (
  -- In each priority the first that can be claimed: they are sorted by run_at.
  select ${readable('min(f.run_at)')} as at from queue_lanes p cross join lateral (
    select r.run_at from tock.job_runs_live r where ${liesIn('r', 'p')} and ${isClaimable('r')} order by r.run_at limit 1) f
  where p.queue = c.name
) oldest
order by c.name`,
);

/** A page of queues, by name. @param filter `name`: only this one; `after`: only names beyond it */
export async function readQueueLoad(
  session: Session,
  { name = null, after = null, limit = 100 }: { name?: string | null; after?: string | null; limit?: number },
): Promise<QueueLoad[]> {
  const rows = await READ_QUEUE_LOAD.run(session, { name, after, limit });
  return rows.map(row => ({ ...withDates(row), overrides: overridesOf(row.overrides) }));
}

/** A key under which runs wait for a slot. */
export interface BlockingKey {
  readonly key: string;
  /** How many slots there are. */
  readonly limit: number | null;
  readonly held: number;
  /** The first six. */
  readonly holders: readonly Holder[];
  /** Runs that wait for a slot, and have none of their own under the key. */
  readonly waiting: number;
  /** There are more than `waiting`. */
  readonly isCapped: boolean;
  /** Since when the one that waits longest is due, of those that are counted. */
  readonly oldestAt: Date;
  /** The next that gets a slot. */
  readonly first: {
    readonly id: string;
    readonly job: string;
    readonly definition: string | null;
    readonly queue: string;
  };
}

/** Keys that are looked at, and runs that are counted for each. */
const MAX_KEYS = 200;
export const MAX_BLOCKED = 500;

const READ_BLOCKING_KEYS = statement<{ queue: string | null; limit: number }, Stored<BlockingKey>>(
  'read-blocking-keys',
  `
with recursive keys as (
  (select blocked_on as key, 1 as number from tock.job_runs_live where blocked_on < '${FAIR}' order by blocked_on limit 1)
  union all
  select n.key, k.number + 1 from keys k cross join lateral (
    select r.blocked_on as key from tock.job_runs_live r where r.blocked_on > k.key and r.blocked_on < '${FAIR}'
    order by r.blocked_on limit 1) n
  where k.number < ${MAX_KEYS}
), ${blockedQueues('keys k')}
select k.key, f."limit", h.count as held, ${holdersOf('k.key')} as holders, least(w.count, ${MAX_BLOCKED}) as waiting,
  w.count > ${MAX_BLOCKED} as "isCapped", ${instant('w.at')} as "oldestAt", f.first
from keys k
cross join lateral (
  select count(*)::integer as count, ${readable('min(r.run_at)')} as at from (
    select run_at from tock.job_runs_live where blocked_on = k.key order by blocked_on, queue, priority, run_at, id limit ${MAX_BLOCKED + 1}) r
) w
cross join lateral (
  select p.slot_limit as "limit",
    jsonb_build_object('id', r.id::text, 'job', r.job, 'definition', d.name, 'queue', r.queue) as first, r.queue
  from blocked_queues p join tock.job_runs_live r on r.id = p.id left join tock.job_definitions d on d.id = r.definition_id
  where p.key = k.key order by p.priority, p.run_at, p.id limit 1
) f
cross join lateral (select count(*)::integer as count from tock.job_slots s where s.concurrency_key = k.key) h
where (:queue::text is null or f.queue = :queue) and not (${isOfCode('k.key')})
order by w.count desc, w.at, k.key limit :limit`,
);

/**
 * Who blocks whom: the keys under which most runs wait, of the first 200.
 * @param queue whose first waiting run is in it
 */
export async function readBlockingKeys(
  session: Session,
  { queue = null, limit = 50 }: { queue?: string | null; limit?: number } = {},
): Promise<BlockingKey[]> {
  return (await READ_BLOCKING_KEYS.run(session, { queue, limit })).map(withDates);
}
