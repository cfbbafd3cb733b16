// Room: store. Puts runs into the queue, under their keys.
// In: rows as the engine has checked them, and any client. Out: which run each row stands for.
import type { Session } from '../connection/database.js';
import { PREPARED } from '../connection/prepared.js';
import { enqueueLiveRuns } from './enqueue-live.js';
import { type EnqueuedRow, type EnqueuedRun, type RunShape, withoutNulls } from './enqueued-run.js';

// The statements are functions of the schema (migrations/), which run with the owner's rights: who enqueues needs the right
// to execute them, and none on any table. Any client must be able to send them: the parameters are text and say so, lest a
// driver that asks the server for the type makes JSON of the JSON; ids come back as text; the columns are single words,
// which nobody renames.
const ENQUEUE = 'select ids, refused from tock.enqueue_many($1::text, $2::text)';
const ENQUEUE_ONE = `
select tock.enqueue_one($1::text, $2::text::jsonb, $3::text::timestamptz, $4::text::float8, $5::text, $6::text::integer, $7::text::integer, $8::text)::text as id`;
const FIND_KEYS = 'select key, id, live from tock.find_keys($1::text, $2::text)';

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
  if (only && rows.length === 1 && only.key === null && only.shape.slot_limit === null)
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
