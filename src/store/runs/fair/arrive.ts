// Runs of fair keys have come, or may start now: their keys are ready.
//
//   caller                                        worker
//   run 1, blocked on ~mail//17, and a row        looks at the key 17, finds no run
//   in the outbox that names the key; commits
//                                                 the key is empty: not ready any more; commits
//   outbox: the key is ready, one arrival more
//
// The other way round, the worker's statement finds one arrival more under the lock of the key than its
// snapshot has, and leaves the key ready: the runs may be there. So whoever enqueues locks no key.
import type { Session } from '../../connection/database.js';
import { opaqueToPlanner, statement } from '../../connection/statement.js';

/** The names of all fair keys begin with it: they sort after the keys of slots. */
export const FAIR = '~';

/** Whether a run of this key starts only once the run before it has ended: it keeps its slot until then. */
export const isStrict = (name: string) => `${name} like '${FAIR}!%'`;

/** Whether a key is a fair key. */
export const isFair = (key: string) => key.startsWith(FAIR);

/** The parts of a fair key's name, in SQL. */
const queueOf = (name: string) => `ltrim(split_part(${name}, '/', 1), '~!')`;
export const jobOf = (name: string) => `split_part(${name}, '/', 2)`;
export const keyOf = (name: string) => `regexp_replace(${name}, '^[^/]*/[^/]*/', '')`;

/** To be joined to a set with the columns queue and job: `f`, what these say of their keys. */
export const joinScope = (set: string) =>
  `left join tock.fair_scopes f on f.queue = case when ${set}.job = '' then ${set}.queue else '' end and f.job = ${set}.job`;

/** The most runs of a key at once: as `o`, its row of key_settings, says, else its scope. Null: no limit. */
export const slotLimit = (name: string, scope = 'f') =>
  `case when ${isStrict(name)} then 1 else coalesce(o.slot_limit, ${scope}.slot_limit) end`;

/** The same of its rate: the milliseconds between two starts, and how many it may save up. Null: no rate. */
export const rateStep = (scope = 'f') =>
  `coalesce(o.rate_period_ms::float8 / o.rate_count, ${scope}.rate_period_ms::float8 / ${scope}.rate_count)`;
export const rateBurst = (scope = 'f') => `coalesce(o.rate_burst, ${scope}.rate_burst)`;

/** The least tag of the ready keys beside this one; null: there are none. */
const leastTag = (queue: string, job: string) =>
  `(select p.tag from tock.fair_keys p where p.queue = ${queue} and p.job = ${job} and p.is_ready order by p.tag limit 1)`;

/**
 * The tag of a key that comes: with the ready keys beside it. Where none is ready, with the last of the
 * others: they come back with their tags, and it is not to be served alone until it has reached those.
 */
export const startTag = (queue: string, job: string) =>
  `coalesce(${leastTag(queue, job)},
    (select p.tag from tock.fair_keys p where p.queue = ${queue} and p.job = ${job} and not p.is_ready order by p.tag desc limit 1), 0)`;

/** So many turns a key may be behind that it missed for another limit: as many as a large claim takes. */
const OWED = 32;

/** The tag of a key `k` that may be served again: `start` is that of one that comes. */
export const tagAgain = (k: string, start: string) =>
  `case when ${k}.is_ready then ${k}.tag when ${k}.held_on is null then greatest(${k}.tag, ${start}) else greatest(${k}.tag, ${start} - ${OWED}) end`;

/** So many keys are woken by one end, the least served first: each of thousands might want its one slot. */
const MOST_WOKEN = 32;

/** The columns name, queue, job, key and tag of a key that comes. */
export const arrivingColumns = (name: string) =>
  `${name}, ${queueOf(name)}, ${jobOf(name)}, ${keyOf(name)}, ${startTag(queueOf(name), jobOf(name))}`;

/** When a key `k` may be served at the earliest, as far as it is closed or its rate says so; null: now. */
const NOT_BEFORE = 'greatest(k.closed_until, k.rate_next_at)';

/**
 * Inserts or updates the keys of a set with the column `name`. Sorted, so that two never wait in a circle.
 * The tag is read once for all keys of a queue and job, before the first is inserted: beside thousands of
 * rows that the statement does not see yet, each look-up would take longer than the one before.
 */
export const arriveFrom = (names: string) => `
insert into tock.fair_keys as k (name, queue, job, key, tag)
select n.name, s.queue, s.job, ${keyOf('n.name')}, s.tag
from (select distinct name from ${names}) n join (
  select d.queue, d.job, ${startTag('d.queue', 'd.job')} as tag
  from (select distinct ${queueOf('name')} as queue, ${jobOf('name')} as job from ${names}) d offset 0
) s on s.queue = ${queueOf('n.name')} and s.job = ${jobOf('n.name')}
order by n.name
on conflict (name) do update set arrivals = k.arrivals + 1, held_on = null, tag = ${tagAgain('k', 'excluded.tag')},
  is_ready = coalesce(${NOT_BEFORE} <= tock.now(), true), ready_at = case when ${NOT_BEFORE} > tock.now() then ${NOT_BEFORE} end`;

const ARRIVE = statement<{ readonly names: readonly string[] }, unknown>(
  'fair-keys-arrive',
  arriveFrom(`unnest(${opaqueToPlanner('names', 'text[]')}) u(name)`),
);

/** These keys are ready now, unless they are closed or their rate says otherwise. */
export async function fairKeysArrive(session: Session, names: readonly string[]): Promise<void> {
  if (names.length > 0) await ARRIVE.run(session, { names });
}

const NOTIFY = statement<object, unknown>('notify-fair', `select tock.notify('fair')`);

/** Wakes listening daemons: keys are ready. */
export async function notifyFair(session: Session): Promise<void> {
  await NOTIFY.run(session, {});
}

const SLOTS_FREE = statement<{ readonly keys: readonly string[] }, unknown>(
  'fair-keys-slots-free',
  `
with mine as materialized (
  select k.name from tock.fair_keys k where k.held_on = any(:keys::text[]) order by k.tag limit ${MOST_WOKEN}
)${arriveFrom('mine')}`,
);

/**
 * Slots of these other limits are free: keys whose runs would only have waited for one are ready. The rest is
 * looked at in time.
 */
export async function wakeHeldKeys(session: Session, keys: readonly string[]): Promise<void> {
  if (keys.length > 0) await SLOTS_FREE.run(session, { keys });
}

const ARRIVE_FROM_OUTBOX = statement<{ readonly limit: number }, { readonly taken: number }>(
  'fair-keys-arrive-from-outbox',
  `
with taken as (
  delete from tock.job_outbox o where o.id = any(array(
    select f.id from tock.job_outbox f where f.kind = 'fair' order by f.id limit ${opaqueToPlanner('limit', 'integer')} for update))
  returning o.fair_keys
), arrived as (${arriveFrom('(select unnest(t.fair_keys) as name from taken t) u')})
select (select count(*) from taken)::integer as taken, set_config('synchronous_commit', 'off', true) as commit`,
  { prepared: true },
);

/**
 * Takes keys out of the outbox. Returns how many rows it took. Waits for others that do so: once it returns,
 * the keys are ready that they took.
 */
export async function fairKeysFromOutbox(session: Session, limit: number): Promise<number> {
  return (await ARRIVE_FROM_OUTBOX.first(session, { limit }))?.taken ?? 0;
}

// A rate puts the next start one step ahead; a minute more allows for small corrections of the clock. Later
// than that: the clock was set back since, or the rate was a slower one.
const VOID_RATES = statement<object, unknown>(
  'fair-rates-void',
  `
with void as materialized (
  select k.name from tock.fair_keys k
  left join tock.key_settings o on o.key = k.key ${joinScope('k')}
  where not k.is_ready and k.ready_at > tock.now() + interval '1 minute' and k.rate_next_at > tock.now()
    and k.rate_next_at > tock.now() + interval '1 minute' + coalesce(${rateStep()}, 0) * interval '1 millisecond'
  order by k.name for update of k skip locked
)
update tock.fair_keys k set rate_next_at = null, arrivals = k.arrivals + 1, tag = greatest(k.tag, ${startTag('k.queue', 'k.job')}),
  is_ready = coalesce(k.closed_until <= tock.now(), true), ready_at = case when k.closed_until > tock.now() then k.closed_until end
from void v where k.name = v.name`,
);

// A row is kept until its peers have reached its tag: a key that runs empty and comes again gains nothing.
// And until what its rate allows at once is whole again.
const FORGET = statement<object, unknown>(
  'fair-keys-forget',
  `
with idle as materialized (
  select k.name from tock.fair_keys k
  left join tock.key_settings o on o.key = k.key ${joinScope('k')}
  where not k.is_ready and k.ready_at is null and coalesce(k.closed_until <= tock.now(), true)
    and coalesce(k.rate_next_at + coalesce(${rateBurst()} * ${rateStep()}, 0) * interval '1 millisecond' <= tock.now(), true)
    and k.tag <= coalesce(${leastTag('k.queue', 'k.job')}, 'infinity')
  order by k.name limit 10000 for update of k skip locked
)
delete from tock.fair_keys k where k.name = any(array(select name from idle))`,
);

/**
 * For the reaper: forgets rates that hold a key back for too long, and deletes the rows of keys that have no
 * runs, once nothing depends on them.
 */
export async function forgetFairKeys(session: Session): Promise<void> {
  await VOID_RATES.run(session, {});
  await FORGET.run(session, {});
}
