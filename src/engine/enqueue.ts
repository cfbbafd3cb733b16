// Room: engine. Puts one-off runs into the queue.
// In: jobs and payloads, by object or by name; perhaps the caller's own transaction. Out: the runs' ids, in order.

import { checkPriority } from '../model/define-job.js';
import { parseDuration } from '../model/duration.js';
import { TockError } from '../model/errors.js';
import type { AnyJob, EnqueueOptions, QueryClient } from '../model/job.js';
import { jobLimit } from '../model/limits.js';
import { checkKey, checkName, quote } from '../model/names.js';
import { acceptPayload, findJob, parsePayload } from '../model/registry.js';
import { checkMaxAttempts } from '../model/retry.js';
import { TRIGGERS } from '../model/states.js';
import type { Session } from '../store/database.js';
import type { Engine } from './engine.js';

export interface NewRun extends Omit<EnqueueOptions, 'client'> {
  readonly job: string | AnyJob;
  readonly payload?: unknown;
}

/** What became of one enqueued run: `isNew` is false where its key had been used before, or is in use. */
export interface Enqueued {
  readonly id: string;
  readonly isNew: boolean;
  /** A run that waited under this key was brought to the latest state. */
  readonly isReplaced: boolean;
}

// One statement, however many rows. The keys go in sorted, so that two batches never wait in a circle. A key that
// is already there, or twice in the batch, gives the id of the run that has it. Of several rows with one key that is
// unique while live, the first counts, or the last where it replaces.
const ENQUEUE = `
with input as materialized (
  select nextval('tock.job_runs_id_seq') as id, i.*, coalesce(i.at, tock.now() + i.delay_ms * interval '1 millisecond', tock.now()) as run_at
  from jsonb_to_recordset($1::jsonb) as i(
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
  select pg_notify('tock', 'queued') from (
    select from (select run_at from made union all select run_at from live) m where m.run_at <= tock.now() limit 1) due
)
select i.place, m.id is not null or coalesce(l.id = i.id, false) as is_new, l.id is not null and not exists (select from input n where n.id = l.id) as is_replaced,
  coalesce(m.id, l.id, k.run_id, old.run_id, there.id) as id, (select count(*) from told) as told
from input i
left join made m on m.id = i.id
left join live l on i.is_live and l.live_key = i.key
left join keyed k on not i.is_live and k.idempotency_key = i.key
left join tock.job_keys old on not i.is_live and old.idempotency_key = i.key
left join tock.job_runs_live there on i.is_live and there.live_key = i.key
order by i.place`;

// A key whose first transaction committed while our statement waited for it is not in the statement's snapshot.
const FIND_KEYS = `
select idempotency_key as key, run_id as id from tock.job_keys where idempotency_key = any($1::text[])
union all
select live_key, id from tock.job_runs_live where live_key = any($1::text[])`;

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
  const session = client ? sessionOfClient(engine, client) : engine.database;
  const made = await session.run<Made>(ENQUEUE, [JSON.stringify(rows)]);
  const unseen = made.filter(each => each.id === null).map(each => rows[each.place]?.key);
  const late = unseen.length === 0 ? [] : await session.run<{ key: string; id: string }>(FIND_KEYS, [unseen]);
  const lateIds = new Map(late.map(row => [row.key, row.id]));
  return made.map(({ place, id, is_new, is_replaced }) => ({
    id: id ?? lateIds.get(rows[place]?.key ?? '') ?? '',
    isNew: is_new,
    isReplaced: is_replaced,
  }));
}

interface Made {
  readonly place: number;
  readonly id: string | null;
  readonly is_new: boolean;
  readonly is_replaced: boolean;
}

async function rowOf(engine: Engine, run: NewRun, place: number) {
  const job = findJob(engine.registry, run.job);
  const payload = await acceptPayload(job, run.payload, engine.settings.maxPayloadBytes);
  const limit = job.concurrency === undefined ? null : jobLimit(job, await parsePayload(job, payload));
  return {
    place,
    job: job.name,
    payload,
    ...checkUniqueness(run),
    ...checkTime(run),
    slot_keys: limit && [limit.key],
    slot_limits: limit && [limit.limit],
    queue: checkName(run.queue ?? job.queue ?? 'default', 'queue'),
    priority: checkedPriority(run.priority) ?? job.priority ?? 0,
    max_attempts: checkMaxAttempts(
      run.maxAttempts ?? job.retry?.maxAttempts ?? engine.settings.retry.maxAttempts ?? 10,
    ),
    trigger: checkTrigger(run.trigger ?? 'api'),
  };
}

/** How often a run may be put off by `debounce`: so many times as long as one delay, in all. */
const MOST_DEBOUNCES = 10;

function checkUniqueness({ key, unique, replace, debounce }: NewRun) {
  if (unique !== undefined && unique !== 'ever' && unique !== 'live')
    throw new TockError('TOCK_BAD_OPTION', `unique ${quote(unique)} is none of ever, live`);
  if (debounce !== undefined && unique === 'ever')
    throw new TockError('TOCK_BAD_OPTION', "debounce goes with unique: 'live', not with 'ever'");
  const isLive = unique === 'live' || debounce !== undefined;
  if (isLive && key === undefined)
    throw new TockError(
      'TOCK_BAD_OPTION',
      `${debounce === undefined ? "unique: 'live'" : 'debounce'} needs a key: what must not be there twice`,
    );
  if (replace && !isLive)
    throw new TockError(
      'TOCK_BAD_OPTION',
      "replace needs unique: 'live': a key that is used up for good keeps its run as it was",
    );
  return {
    key: key === undefined ? null : checkKey(key),
    is_live: isLive,
    replaces: replace === true || debounce !== undefined,
    most_ms: debounce === undefined ? null : MOST_DEBOUNCES * parseDuration(debounce, 'debounce'),
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

function checkTime({ runAt, delay, debounce }: Pick<NewRun, 'runAt' | 'delay' | 'debounce'>) {
  if (debounce !== undefined && (runAt !== undefined || delay !== undefined))
    throw new TockError('TOCK_BAD_TIME', 'debounce says when; leave runAt and delay out');
  if (debounce !== undefined) return { at: null, delay_ms: parseDuration(debounce, 'debounce') };
  if (runAt !== undefined && delay !== undefined)
    throw new TockError('TOCK_BAD_TIME', 'give runAt or delay, not both');
  if (delay !== undefined) return { at: null, delay_ms: parseDuration(delay, 'delay') };
  if (runAt === undefined) return { at: null, delay_ms: null };
  const ms = runAt instanceof Date || typeof runAt === 'string' ? new Date(runAt).getTime() : Number.NaN;
  if (Number.isNaN(ms) || Math.abs(ms) > LATEST) {
    throw new TockError(
      'TOCK_BAD_TIME',
      `runAt ${quote(String(runAt))} is not a time; write it as 2026-03-08T07:30:00Z`,
    );
  }
  return { at: new Date(ms).toISOString(), delay_ms: null };
}

function sessionOfClient(engine: Engine, client: QueryClient): Session {
  return {
    async run<Row>(text: string, values: readonly unknown[] = []) {
      const result = await client.query(engine.database.rewrite(text), [...values]);
      return result.rows as Row[];
    },
  };
}
