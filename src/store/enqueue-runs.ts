// Room: store. Puts runs into the queue, under their keys.
// In: rows as the engine has checked them, and any client. Out: which run each row stands for.
import type { Session } from './database.js';
import { enqueueLiveRuns } from './enqueue-live-runs.js';
import { QUEUED_IN } from './notices.js';
import { PREPARED } from './prepared.js';
import { type EnqueuedRow, type EnqueuedRun, type RunShape, withoutNulls } from './run-shape.js';

// One statement, however many rows. It gets segments: a shape, the payloads of the rows that have it, and their keys.
// JSON has no line breaks but those that somebody put there for people, so that a break parts payloads, and an empty
// line segments: parting text is the cheapest that a server can do, parsing one large document is not.
// Segment by segment, line by line, each row gets its id: the ids grow with the rows. The keys go in sorted, so that two
// batches never wait in a circle.
// The planner takes unnest(string_to_array()) for ten rows, and string_to_table() for a thousand: a thousand segments of
// a thousand rows would cost enough for a server with JIT to compile the statement, each time it comes. The parameters
// are behind a select, so that it does not count the rows either: for a few it would plan anew each time.
// Any client must be able to send it: the parameters are text and say so, lest a driver that asks the server for the
// type makes JSON of the JSON; ids come back as text; the columns are single words, which nobody renames.
const ENQUEUE = `
with input as materialized (
  select nextval('tock.job_runs_id_seq') as id, l.payload, l.key, s.job, s.queue, s.priority, s.max_attempts, s.trigger, s.slot_keys, s.slot_limits,
    coalesce(s.at, tock.now() + s.delay_ms * interval '1 millisecond', tock.now()) as run_at
  from rows from (unnest(string_to_array((select $1::text), chr(10) || chr(10))), unnest(string_to_array((select $2::text), chr(10)))) as g(payloads, shape),
    jsonb_to_record(g.shape::jsonb) as s(
      job text, at timestamptz, delay_ms float8, queue text, priority integer, max_attempts integer, trigger text, slot_keys text[], slot_limits integer[], keys jsonb),
    rows from (unnest(string_to_array(g.payloads, chr(10))), jsonb_array_elements_text(s.keys)) as l(payload, key)
), keyed as (
  insert into tock.job_keys (idempotency_key, run_id) select key, id from input where key is not null order by key, id
  on conflict do nothing
  returning run_id
), made as (
  insert into tock.job_runs_live (id, job, payload, idempotency_key, run_at, queue, priority, max_attempts, trigger, slot_keys, slot_limits, status)
  select i.id, i.job, i.payload::jsonb, i.key, i.run_at, i.queue, i.priority, i.max_attempts, i.trigger, i.slot_keys, i.slot_limits, 'queued'
  from input i left join keyed k on k.run_id = i.id
  where i.key is null or k.run_id is not null
  order by i.id
  returning run_at
)
select (select string_agg(id::text, ',' order by id) from input) as ids,
  case when count(*) < (select count(*) from input) then (
    -- One by one, not a join: for that the planner reads all keys there ever were.
    select string_agg(i.id || ':' || coalesce((select old.run_id::text from tock.job_keys old where old.idempotency_key = i.key), ''), ',')
    from input i left join keyed k on k.run_id = i.id
    where i.key is not null and k.run_id is null) end as refused,
  -- At most once per statement, and only if something can start now.
  case when min(run_at) <= tock.now() then tock.notify('queued')::text end as told
from made`;

// One run without a key, as most transactions enqueue: a plain insert, and who listens is told where it is.
const ENQUEUE_ONE = `
with made as (
  insert into tock.job_runs_live (job, payload, run_at, queue, priority, max_attempts, trigger, status)
  values ($1::text, $2::text::jsonb, coalesce($3::text::timestamptz, tock.now() + $4::text::float8 * interval '1 millisecond', tock.now()),
    $5::text, $6::text::integer, $7::text::integer, $8::text, 'queued')
  returning id, run_at
)
select id::text as id,
  case when run_at <= tock.now() then tock.notify(${QUEUED_IN('$5::text', '$6::text')})::text end as told
from made`;

// A statement of its own sees what the other one wrote, and what was committed while that waited. It is planned anew, for tables as
// they are: they grow from nothing faster than their statistics.
const FIND_KEYS = `
select idempotency_key as key, run_id::text as id, false as live from tock.job_keys
where idempotency_key in (select jsonb_array_elements_text($1::text::jsonb))
union all
select live_key, id::text, true from tock.job_runs_live
where live_key in (select jsonb_array_elements_text($2::text::jsonb))`;

/** How often a row is sent again whose key was taken when it was sent, and free when its run was looked for. */
const MOST_TRIES = 5;

/** There is a run of its key, and it is not known which. */
const UNKNOWN: EnqueuedRun = { id: '', made: false, replaced: false };

/**
 * Enqueues a batch in one statement; one more for keys that are in it twice, or that somebody else used at this very
 * moment. Where the run that had a key has ended by then, the row is sent again. The answers are in the order of the rows.
 */
export async function enqueueRuns(session: Session, rows: readonly EnqueuedRow[]): Promise<EnqueuedRun[]> {
  const enqueued = await enqueueOnce(session, rows);
  for (let tries = 1; tries < MOST_TRIES; tries++) {
    const open = [...enqueued.keys()].filter(place => enqueued[place]?.id === '');
    if (open.length === 0) break;
    const again = await enqueueOnce(
      session,
      open.flatMap(place => rows[place] ?? []),
    );
    for (const [index, place] of open.entries()) enqueued[place] = again[index] ?? UNKNOWN;
  }
  return enqueued;
}

async function enqueueOnce(session: Session, rows: readonly EnqueuedRow[]): Promise<EnqueuedRun[]> {
  const [only] = rows;
  if (only && rows.length === 1 && only.key === null && only.shape.slot_keys === null)
    return await enqueueOne(session, only);
  const enqueued = rows.some(row => row.shape.is_live)
    ? await enqueueLiveRuns(session, rows)
    : await enqueueSegments(session, rows);
  const unknown = rows.filter((_, place) => enqueued[place]?.id === '');
  if (unknown.length === 0) return enqueued;
  const keysOf = (isLive: boolean) =>
    JSON.stringify(unknown.filter(row => row.shape.is_live === isLive).map(row => row.key));
  const found = await session.run<{ readonly key: string; readonly id: string; readonly live: boolean }>(
    FIND_KEYS,
    [keysOf(false), keysOf(true)],
  );
  // The two kinds of keys have nothing to do with each other.
  const ids = [false, true].map(
    isLive => new Map(found.filter(each => each.live === isLive).map(each => [each.key, each.id])),
  );
  return enqueued.map((each, place) => {
    if (each.id !== '') return each;
    const row = rows[place];
    return { ...each, id: ids[row?.shape.is_live ? 1 : 0]?.get(row?.key ?? '') ?? '' };
  });
}

async function enqueueOne(session: Session, { shape, payload }: EnqueuedRow): Promise<EnqueuedRun[]> {
  const { job, at, delay_ms, queue, priority, max_attempts, trigger } = shape;
  const values = [job, payload, at, delay_ms, queue, priority, max_attempts, trigger];
  const made = await session.run<{ readonly id: string }>(
    ENQUEUE_ONE,
    values.map(value => (value === null ? null : String(value))),
    PREPARED,
  );
  return made.map(({ id }) => ({ id, made: true, replaced: false }));
}

async function enqueueSegments(session: Session, rows: readonly EnqueuedRow[]): Promise<EnqueuedRun[]> {
  const segments: { shape: RunShape; payloads: string[]; keys: (string | null)[]; hasKeys: boolean }[] = [];
  let segment = segments[0];
  for (const { shape, payload, key } of rows) {
    if (segment?.shape !== shape) {
      segment = { shape, payloads: [], keys: [], hasKeys: false };
      segments.push(segment);
    }
    segment.payloads.push(payload);
    segment.keys.push(key);
    segment.hasKeys ||= key !== null;
  }
  const [answer] = await session.run<{ readonly ids: string; readonly refused: string | null }>(
    ENQUEUE,
    [
      segments.map(each => each.payloads.join('\n')).join('\n\n'),
      segments
        .map(({ shape, keys, hasKeys }) =>
          JSON.stringify({ ...withoutNulls(shape), ...(hasKeys ? { keys } : {}) }),
        )
        .join('\n'),
    ],
    PREPARED,
  );
  // Of those that have no run of their own, whose run it is; empty where that was not to be seen.
  const refused = new Map(answer?.refused?.split(',').map(each => each.split(':') as [string, string]));
  return (answer?.ids.split(',') ?? []).map(id => {
    const other = refused.get(id);
    return other === undefined ? { id, made: true, replaced: false } : { ...UNKNOWN, id: other };
  });
}
