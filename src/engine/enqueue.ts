// Room: engine. Puts one-off runs into the queue.
// In: jobs and payloads, by object or by name; perhaps the caller's own transaction. Out: the runs' ids, in order.

import { checkPriority } from '../model/define-job.js';
import { type Duration, parseDuration } from '../model/duration.js';
import { TockError } from '../model/errors.js';
import type { AnyJob, EnqueueOptions, QueryClient } from '../model/job.js';
import { checkKey, checkName, quote } from '../model/names.js';
import { acceptPayload, findJob } from '../model/registry.js';
import { checkMaxAttempts } from '../model/retry.js';
import { TRIGGERS } from '../model/states.js';
import type { Session } from '../store/database.js';
import type { Engine } from './engine.js';

export interface NewRun extends Omit<EnqueueOptions, 'client'> {
  readonly job: string | AnyJob;
  readonly payload?: unknown;
}

/** What became of one enqueued run: `isNew` is false where its key had been used before. */
export interface Enqueued {
  readonly id: string;
  readonly isNew: boolean;
}

// One statement, however many rows. The keys go in sorted, so that two batches never wait in a circle. A key that
// is already there, or twice in the batch, gives the id of the run that has it.
// Any client must be able to send it: the only parameter is text and says so, lest a driver that asks the server for
// the type makes JSON of the JSON; ids come back as text; the columns are single words, which nobody renames.
const ENQUEUE = `
with input as materialized (
  select nextval('tock.job_runs_id_seq') as id, i.* from jsonb_to_recordset($1::text::jsonb) as i(
    place integer, job text, payload jsonb, key text, run_at timestamptz, delay_ms float8, queue text, priority integer,
    max_attempts integer, trigger text)
  order by i.place
), keyed as (
  insert into tock.job_keys (idempotency_key, run_id) select key, id from input where key is not null order by key, place
  on conflict do nothing
  returning idempotency_key, run_id
), made as (
  insert into tock.job_runs_live (id, job, payload, idempotency_key, run_at, queue, priority, max_attempts, trigger, status)
  select i.id, i.job, i.payload, i.key, coalesce(i.run_at, tock.now() + i.delay_ms * interval '1 millisecond', tock.now()),
    i.queue, i.priority, i.max_attempts, i.trigger, 'queued'
  from input i left join keyed k on k.run_id = i.id
  where i.key is null or k.run_id is not null
  order by i.id
  returning id, run_at
), told as (
  -- At most once per statement, and only if something can start now.
  select pg_notify('tock', 'queued') from (select from made where run_at <= tock.now() limit 1) due
)
select i.place, m.id is not null as made, coalesce(m.id, k.run_id, old.run_id)::text as id, (select count(*) from told)::text as told
from input i
left join made m on m.id = i.id
left join keyed k on k.idempotency_key = i.key
left join tock.job_keys old on old.idempotency_key = i.key
order by i.place`;

// A key whose first transaction committed while our statement waited for it is not in the statement's snapshot.
const FIND_KEYS = `select idempotency_key as key, run_id::text as id from tock.job_keys
   where idempotency_key = any(array(select jsonb_array_elements_text($1::text::jsonb)))`;

/**
 * Enqueues one run and returns its id. With a key that was used before, the id of the run that has it.
 *
 * Checked before anything is written: the job's name, the payload as JSON and by the job's schema, the key, the
 * times. With `client`, the run is part of the caller's transaction and comes and goes with it.
 *
 * @throws TockError TOCK_UNKNOWN_JOB, TOCK_BAD_PAYLOAD, TOCK_BAD_KEY, TOCK_BAD_TIME, TOCK_BAD_OPTION
 */
export async function enqueue(
  engine: Engine,
  job: string | AnyJob,
  payload?: unknown,
  options: EnqueueOptions = {},
): Promise<string> {
  const { client, ...rest } = options;
  const [made] = await enqueueAll(engine, [{ ...rest, job, payload }], client);
  if (!made) throw new TockError('TOCK_BAD_STATE', 'nothing was enqueued');
  return made.id;
}

/** Enqueues many runs in one statement; all or none. The answers are in the order of the input. */
export async function enqueueAll(
  engine: Engine,
  runs: readonly NewRun[],
  client?: QueryClient,
): Promise<Enqueued[]> {
  if (runs.length === 0) return [];
  const rows = await Promise.all(runs.map((run, place) => rowOf(engine, run, place)));
  const session = client === undefined ? engine.database : sessionOfClient(engine, client);
  const made = await session.run<{ place: number; id: string | null; made: boolean }>(ENQUEUE, [
    JSON.stringify(rows),
  ]);
  const unseen = made.filter(each => each.id === null).map(each => rows[each.place]?.key);
  const late =
    unseen.length === 0
      ? []
      : await session.run<{ key: string; id: string }>(FIND_KEYS, [JSON.stringify(unseen)]);
  const lateIds = new Map(late.map(row => [row.key, row.id]));
  return made.map(({ place, id, made: isNew }) => ({
    id: id ?? lateIds.get(rows[place]?.key ?? '') ?? '',
    isNew,
  }));
}

async function rowOf(engine: Engine, run: NewRun, place: number) {
  const job = findJob(engine.registry, run.job);
  return {
    place,
    job: job.name,
    payload: await acceptPayload(job, run.payload, engine.settings.maxPayloadBytes),
    key: run.key === undefined ? null : checkKey(run.key),
    ...checkTime(run),
    queue: checkName(run.queue ?? job.queue ?? 'default', 'queue'),
    priority: checkedPriority(run.priority) ?? job.priority ?? 0,
    max_attempts: checkMaxAttempts(
      run.maxAttempts ?? job.retry?.maxAttempts ?? engine.settings.retry.maxAttempts ?? 10,
    ),
    trigger: checkTrigger(run.trigger ?? 'api'),
  };
}

function checkedPriority(priority: number | undefined): number | undefined {
  checkPriority(priority);
  return priority;
}

function checkTrigger(trigger: string): string {
  if ((TRIGGERS as readonly string[]).includes(trigger)) return trigger;
  throw new TockError('TOCK_BAD_OPTION', `trigger ${quote(trigger)} is none of ${TRIGGERS.join(', ')}`);
}

/** The years that PostgreSQL and a Date can both hold, and that somebody can mean. */
const LATEST = Date.UTC(9999, 11, 31);

function checkTime({ runAt, delay }: { readonly runAt?: Date | string; readonly delay?: Duration }) {
  if (runAt !== undefined && delay !== undefined)
    throw new TockError('TOCK_BAD_TIME', 'give runAt or delay, not both');
  if (delay !== undefined) return { run_at: null, delay_ms: parseDuration(delay, 'delay') };
  if (runAt === undefined) return { run_at: null, delay_ms: null };
  const ms = runAt instanceof Date || typeof runAt === 'string' ? new Date(runAt).getTime() : Number.NaN;
  if (Number.isNaN(ms) || Math.abs(ms) > LATEST) {
    throw new TockError(
      'TOCK_BAD_TIME',
      `runAt ${quote(String(runAt))} is not a time; write it as 2026-03-08T07:30:00Z`,
    );
  }
  return { run_at: new Date(ms).toISOString(), delay_ms: null };
}

function sessionOfClient(engine: Engine, client: QueryClient): Session {
  // Null too: whoever passes a client wants the run in that transaction, and must not get it outside of one.
  if (typeof (client as QueryClient | null)?.query !== 'function') {
    throw new TockError(
      'TOCK_BAD_OPTION',
      'client has no query(text, values): pass a pg client, or wrap the transaction with fromKysely, fromDrizzle, fromPrisma, fromKnex or fromPostgresJs of pg-tock/adapters',
    );
  }
  return {
    async run<Row>(text: string, values: readonly unknown[] = []) {
      const result = await client.query(engine.database.rewrite(text), [...values]);
      return result.rows as Row[];
    },
  };
}
