// Room: store. Puts runs into the queue, under their keys.
// In: rows as the engine has checked them, and any client. Out: which run each row stands for.
import type { Session } from './database.js';
import { PREPARED } from './prepared.js';

/** A run to be enqueued. Instants as ISO text, durations in milliseconds; one of `at` and `delay_ms`, or neither. */
export interface EnqueuedRow {
  /** Its place in the batch, from 0. */
  readonly place: number;
  readonly job: string;
  readonly payload: unknown;
  readonly key: string | null;
  /** The key is unique among live runs only. */
  readonly is_live: boolean;
  /** With `is_live`: a run that waits under the key is brought to the state of this one. */
  readonly replaces: boolean;
  /** With `replaces`: how long after it was made a run starts at the latest; null: no bound. */
  readonly most_ms: number | null;
  readonly at: string | null;
  readonly delay_ms: number | null;
  readonly queue: string;
  readonly priority: number;
  readonly max_attempts: number;
  readonly trigger: string;
  readonly slot_keys: readonly string[] | null;
  readonly slot_limits: readonly number[] | null;
}

/** What became of a row: `made` a run; or `replaced` one that waited; or there is one of the key already. */
export interface EnqueuedRun {
  readonly place: number;
  readonly id: string;
  readonly made: boolean;
  readonly replaced: boolean;
}

// One statement, however many rows. The keys go in sorted, so that two batches never wait in a circle. A key that
// is already there, or twice in the batch, gives the id of the run that has it. Of several rows with one key that is
// unique while live, the first counts, or the last where it replaces.
// Any client must be able to send it: the only parameter is text and says so, lest a driver that asks the server for
// the type makes JSON of the JSON; ids come back as text; the columns are single words, which nobody renames.
const ENQUEUE = `
with input as materialized (
  select nextval('tock.job_runs_id_seq') as id, i.*, coalesce(i.at, tock.now() + i.delay_ms * interval '1 millisecond', tock.now()) as run_at
  from jsonb_to_recordset($1::text::jsonb) as i(
    place integer, job text, payload jsonb, key text, is_live boolean, replaces boolean, most_ms float8, at timestamptz,
    delay_ms float8, queue text, priority integer, max_attempts integer, trigger text, slot_keys text[], slot_limits integer[])
  order by i.place
), keyed as (
  insert into tock.job_keys (idempotency_key, run_id) select key, id from input where key is not null and not is_live order by key, place
  on conflict do nothing
  returning idempotency_key, run_id
), made as (
  insert into tock.job_runs_live (id, job, payload, idempotency_key, run_at, queue, priority, max_attempts, trigger, slot_keys, slot_limits, status)
  select i.id, i.job, i.payload, i.key, i.run_at, i.queue, i.priority, i.max_attempts, i.trigger, i.slot_keys, i.slot_limits, 'queued'
  from input i left join keyed k on k.run_id = i.id
  where i.key is null or k.run_id is not null
  order by i.id
  returning id, run_at
), chosen as materialized (
  select distinct on (key) * from input where is_live order by key, case when replaces then -place else place end
), live as (
  insert into tock.job_runs_live as r (id, job, payload, idempotency_key, live_key, run_at, queue, priority, max_attempts, trigger, slot_keys, slot_limits, status)
  select id, job, payload, key, key, run_at, queue, priority, max_attempts, trigger, slot_keys, slot_limits, 'queued'
  from chosen order by key
  on conflict (live_key) where live_key is not null do update
  set payload = excluded.payload, priority = excluded.priority, slot_keys = excluded.slot_keys, slot_limits = excluded.slot_limits,
    blocked_on = null, run_at = least(excluded.run_at,
      r.created_at + (select c.most_ms from chosen c where c.key = excluded.live_key) * interval '1 millisecond')
  where r.status = 'queued' and r.attempts = 0 and r.job = excluded.job and (select c.replaces from chosen c where c.key = excluded.live_key)
  returning r.id, r.live_key, r.run_at
), told as (
  -- At most once per statement, and only if something can start now.
  select tock.notify('queued') from (
    select from (select run_at from made union all select run_at from live) m where m.run_at <= tock.now() limit 1) due
)
select i.place, m.id is not null or coalesce(l.id = i.id, false) as made, l.id is not null and not exists (select from input n where n.id = l.id) as replaced,
  coalesce(m.id, l.id, k.run_id, old.run_id, there.id)::text as id, (select count(*) from told)::text as told
from input i
left join made m on m.id = i.id
left join live l on i.is_live and l.live_key = i.key
left join keyed k on not i.is_live and k.idempotency_key = i.key
left join tock.job_keys old on not i.is_live and old.idempotency_key = i.key
left join tock.job_runs_live there on i.is_live and there.live_key = i.key
order by i.place`;

// A key whose first transaction committed while our statement waited for it is not in the statement's snapshot.
const FIND_KEYS = `
with keys as (select jsonb_array_elements_text($1::text::jsonb) as key)
select k.idempotency_key as key, k.run_id::text as id from tock.job_keys k where k.idempotency_key in (select key from keys)
union all
select r.live_key, r.id::text from tock.job_runs_live r where r.live_key in (select key from keys)`;

/** How often a row is sent again whose key was taken when it was sent, and free when its run was looked for. */
const MOST_TRIES = 5;

/**
 * Enqueues a batch in one statement; one more for keys that somebody else used at this very moment. Where the run that
 * had a key has ended by then, the row is sent again.
 */
export async function enqueueRuns(session: Session, rows: readonly EnqueuedRow[]): Promise<EnqueuedRun[]> {
  let enqueued = await enqueueOnce(session, rows);
  for (let tries = 1; tries < MOST_TRIES && enqueued.some(each => each.id === ''); tries++) {
    const again = rows.filter(row => enqueued.some(each => each.place === row.place && each.id === ''));
    const found = new Map((await enqueueOnce(session, again)).map(each => [each.place, each]));
    enqueued = enqueued.map(each => found.get(each.place) ?? each);
  }
  return enqueued;
}

/** What is null need not be sent: a third less to parse. Nulls within the payload are the payload's. */
function withoutNulls(row: EnqueuedRow): Partial<EnqueuedRow> {
  const kept: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(row)) if (value !== null) kept[name] = value;
  return kept;
}

async function enqueueOnce(session: Session, rows: readonly EnqueuedRow[]): Promise<EnqueuedRun[]> {
  const enqueued = await session.run<Omit<EnqueuedRun, 'id'> & { readonly id: string | null }>(
    ENQUEUE,
    [JSON.stringify(rows.map(withoutNulls))],
    PREPARED,
  );
  const keys = new Map(rows.map(row => [row.place, row.key]));
  const unseen = enqueued.filter(each => each.id === null).map(each => keys.get(each.place));
  const late =
    unseen.length === 0
      ? []
      : await session.run<{ key: string; id: string }>(FIND_KEYS, [JSON.stringify(unseen)]);
  const lateIds = new Map(late.map(row => [row.key, row.id]));
  return enqueued.map(each => ({ ...each, id: each.id ?? lateIds.get(keys.get(each.place) ?? '') ?? '' }));
}
