// Room: store. Puts runs into the queue some of which have a key that is unique only while its run is live.
// In: rows as the engine has checked them, and any client. Out: which run each row stands for.
import type { Session } from './database.js';
import { PREPARED } from './prepared.js';
import { type EnqueuedRow, type EnqueuedRun, type RunShape, withoutNulls } from './run-shape.js';

// One statement, however many rows, of any kind. The keys go in sorted, so that two batches never wait in a circle. A key
// that is already there, or twice in the batch, gives the id of the run that has it. Of several rows with one key that is
// unique while live, the first counts, or the last where it replaces. For its parameter and columns see enqueue-runs.ts.
const ENQUEUE_LIVE = `
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
), replacing as materialized (
  -- By key, to be found without a search through all rows for each.
  select jsonb_object_agg(key, most_ms) as bounds from chosen where replaces
), live as (
  insert into tock.job_runs_live as r (id, job, payload, idempotency_key, live_key, run_at, queue, priority, max_attempts, trigger, slot_keys, slot_limits, status)
  select id, job, payload, key, key, run_at, queue, priority, max_attempts, trigger, slot_keys, slot_limits, 'queued'
  from chosen order by key
  on conflict (live_key) where live_key is not null do update
  set payload = excluded.payload, priority = excluded.priority, slot_keys = excluded.slot_keys, slot_limits = excluded.slot_limits,
    blocked_on = null, run_at = least(excluded.run_at,
      r.created_at + ((select bounds from replacing) ->> excluded.live_key)::float8 * interval '1 millisecond')
  where r.status = 'queued' and r.attempts = 0 and r.job = excluded.job and (select bounds from replacing) -> excluded.live_key is not null
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

/**
 * Enqueues a batch in one statement. The answers are in the order of the rows; an id is empty where somebody else used the
 * key at this very moment: in the snapshot of the statement there is none of it.
 */
export async function enqueueLiveRuns(
  session: Session,
  rows: readonly EnqueuedRow[],
): Promise<EnqueuedRun[]> {
  const shapes = new Map<RunShape, string>();
  const fieldsOf = (shape: RunShape) => {
    const known = shapes.get(shape);
    if (known !== undefined) return known;
    const fields = JSON.stringify(withoutNulls(shape)).slice(1, -1);
    shapes.set(shape, fields);
    return fields;
  };
  const texts = rows.map(
    ({ shape, payload, key }, place) =>
      `{"place":${place},"key":${JSON.stringify(key)},"payload":${payload},${fieldsOf(shape)}}`,
  );
  const enqueued = await session.run<Omit<EnqueuedRun, 'id'> & { readonly id: string | null }>(
    ENQUEUE_LIVE,
    [`[${texts.join()}]`],
    PREPARED,
  );
  return enqueued.map(({ id, made, replaced }) => ({ id: id ?? '', made, replaced }));
}
