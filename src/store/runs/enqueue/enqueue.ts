// Puts runs into the queue, under their keys.
//
//   app A, in its transaction               app B
//   enqueue, key k: run 1
//                                           enqueue, key k: waits for A
//   commits
//                                           key k is taken, by a run that B's statement does not see;
//                                           the same row once more: run 1
//
// Had A rolled back, B's row would have its own run.
//
// The statements are functions of the schema that run with its owner's rights: an app that enqueues needs to
// execute them, and no right on any table. Any client must be able to send them: the parameters are text,
// since some drivers make JSON of JSON; ids come back as text; the columns are single words, which no client
// renames.
import type { Session } from '../../connection/database.js';
import { statement } from '../../connection/statement.js';
import { enqueueLiveRuns } from './enqueue-live.js';
import { type EnqueuedRow, type EnqueuedRun, type RunShape, withoutNulls } from './enqueued-run.js';

const ENQUEUE = statement<
  { readonly payloads: string; readonly shapes: string },
  { readonly ids: string; readonly refused: string | null }
>('enqueue', 'select ids, refused from tock.enqueue_many(:payloads::text, :shapes::text)', {
  prepared: true,
});

type OneRun = Record<
  | 'job'
  | 'payload'
  | 'at'
  | 'delayMs'
  | 'queue'
  | 'priority'
  | 'maxAttempts'
  | 'trigger'
  | 'traceparent'
  | 'tags',
  string | null
>;
const ENQUEUE_ONE = statement<OneRun, { readonly id: string }>(
  'enqueue-one',
  `
select tock.enqueue_one(:job::text, :payload::text::jsonb, :at::text::timestamptz, :delayMs::text::float8, :queue::text,
  :priority::text::integer, :maxAttempts::text::integer, :trigger::text, :traceparent::text, string_to_array(:tags::text, ','))::text as id`,
  { prepared: true },
);

/** What a definition says of the runs of its job. */
export interface JobDefaults {
  readonly name: string;
  readonly queue: string;
  readonly priority: number;
  readonly attempts: number;
  readonly tags: readonly string[] | null;
  readonly changes: boolean;
}

/** Of jobs that other services execute. Those that no service has registered are left out. */
export const readJobDefaults = statement<{ readonly names: string }, JobDefaults>(
  'job-defaults',
  `select name, queue, priority, attempts, tags, changes
from tock.job_defaults(array(select jsonb_array_elements_text(:names::text::jsonb))) order by name`,
);

/** How often a row is sent whose key another session took at that very moment. */
const MAX_TRIES = 5;

/** There is a run of its key, and it is not known which. */
const UNKNOWN: EnqueuedRun = { id: '', made: false, replaced: false };

/**
 * Enqueues a batch in one statement; one more for rows whose keys are in it twice, or that another session
 * used at this very moment: it sees the run of the key, or makes one where that has ended. The answers are in
 * the order of the rows.
 */
export async function enqueueRuns(session: Session, rows: readonly EnqueuedRow[]): Promise<EnqueuedRun[]> {
  const enqueued = await enqueueOnce(session, rows);
  for (let tries = 1; tries < MAX_TRIES; tries++) {
    const unanswered = [...enqueued.keys()].filter(place => enqueued[place]?.id === '');
    if (unanswered.length === 0) break;
    const again = await enqueueOnce(
      session,
      unanswered.flatMap(place => rows[place] ?? []),
    );
    for (const [index, place] of unanswered.entries()) enqueued[place] = again[index] ?? UNKNOWN;
  }
  return enqueued;
}

async function enqueueOnce(session: Session, rows: readonly EnqueuedRow[]): Promise<EnqueuedRun[]> {
  const [only] = rows;
  if (
    only &&
    rows.length === 1 &&
    only.key === null &&
    only.shape.slot_limit === null &&
    !only.shape.keeps_changes
  )
    return await enqueueOne(session, only);
  return rows.some(row => row.shape.is_live)
    ? await enqueueLiveRuns(session, rows)
    : await enqueueSegments(session, rows);
}

async function enqueueOne(session: Session, { shape, payload }: EnqueuedRow): Promise<EnqueuedRun[]> {
  const made = await ENQUEUE_ONE.run(session, {
    job: shape.job,
    payload,
    at: shape.at,
    delayMs: shape.delay_ms === null ? null : String(shape.delay_ms),
    queue: shape.queue,
    priority: String(shape.priority),
    maxAttempts: String(shape.max_attempts),
    trigger: shape.trigger,
    traceparent: shape.traceparent ?? null,
    // No tag has a comma.
    tags: shape.tags?.join(',') ?? null,
  });
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
  const answer = await ENQUEUE.first(session, {
    payloads: segments.map(each => each.payloads.join('\n')).join('\n\n'),
    shapes: segments
      .map(({ shape, keys, hasKeys }) =>
        JSON.stringify({ ...withoutNulls(shape), ...(hasKeys ? { keys } : {}) }),
      )
      .join('\n'),
  });
  // By the id that a row would have had: the run that has its key; empty where the statement could not see
  // it.
  const refused = new Map(answer?.refused?.split(',').map(each => each.split(':') as [string, string]));
  return (answer?.ids.split(',') ?? []).map(id => {
    const other = refused.get(id);
    return other === undefined ? { id, made: true, replaced: false } : { ...UNKNOWN, id: other };
  });
}
