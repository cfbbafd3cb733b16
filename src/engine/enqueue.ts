// Puts one-off runs into the queue, perhaps in the caller's own transaction.

import { TockError } from '../model/errors.js';
import { isJob } from '../model/job/define-job.js';
import type { ChildOptions, EnqueueCallOptions, QueryClient } from '../model/job/enqueue-options.js';
import type { AnyJob, NewRun } from '../model/job/job.js';
import { payloadText } from '../model/job/payload/payload.js';
import { findJob, notRegisteredError, parsePayloadFor } from '../model/job/registry.js';
import type { Enqueued, EnqueuedOr } from '../model/job/run-id.js';
import { checkKey, checkName, quote } from '../model/names.js';
import { checkList, checkOptions, optionNames } from '../model/options.js';
import { jobLimit, type Limit, slotOf } from '../model/run/limits.js';
import { checkedPriority, checkTime, checkTrigger, checkUniqueness } from '../model/run/new-run.js';
import { checkMaxAttempts } from '../model/run/retry.js';
import { joinTags } from '../model/run/tags.js';
import { isPool } from '../store/connection/connection.js';
import type { Session } from '../store/connection/database.js';
import { enqueueRuns, type JobDefaults, readJobDefaults } from '../store/runs/enqueue/enqueue.js';
import type { EnqueuedRow, RunShape } from '../store/runs/enqueue/enqueued-run.js';
import { audit } from './audit.js';
import type { Engine } from './engine.js';
import type { Batch } from './tracing/tracing.js';

const RUN_OPTIONS = {
  key: true,
  unique: true,
  replace: true,
  debounce: true,
  runAt: true,
  delay: true,
  queue: true,
  priority: true,
  maxAttempts: true,
  tags: true,
  trigger: true,
} as const;
const ENQUEUE_OPTIONS = optionNames<EnqueueCallOptions>({ ...RUN_OPTIONS, client: true, details: true });
const NEW_RUN_OPTIONS = optionNames<ChildOptions>(RUN_OPTIONS);
const NEW_RUN = optionNames<NewRun>({ ...RUN_OPTIONS, job: true, payload: true });

/**
 * Enqueues one run and returns its id, or with `details` what became of the call. With a key that was used
 * before, the id of that key's run.
 *
 * Checked before anything is written: the job's name, the payload as JSON and by the job's schema, the key,
 * the times. With `client`, the run commits or rolls back with the caller's transaction.
 * @throws TockError TOCK_UNKNOWN_JOB, TOCK_BAD_PAYLOAD, TOCK_BAD_KEY, TOCK_BAD_TIME, TOCK_BAD_OPTION
 */
export async function enqueue<Details extends boolean = false, Output = unknown>(
  engine: Engine,
  job: string | AnyJob,
  payload?: unknown,
  options: EnqueueCallOptions<Details> = {},
): Promise<EnqueuedOr<Details, Output>> {
  checkOptions(options, ENQUEUE_OPTIONS, `enqueue of job ${quote(nameOf(job))}`);
  const { client, details, ...rest } = options;
  const [enqueued] = await enqueueMany(engine, [{ ...rest, job, payload }], client);
  if (!enqueued) throw new TockError('TOCK_BAD_STATE', 'nothing was enqueued');
  return (details === true ? enqueued : enqueued.id) as EnqueuedOr<Details, Output>;
}

/** The options of a child. @throws TockError TOCK_BAD_OPTION */
export function checkChildOptions(job: string | AnyJob, options: ChildOptions = {}): ChildOptions {
  checkOptions(options, NEW_RUN_OPTIONS, `enqueue of job ${quote(nameOf(job))}`);
  return options;
}

/** Enqueues many runs in one statement, all or none. The answers are in the order of the input. */
export async function enqueueMany(
  engine: Engine,
  runs: readonly NewRun[],
  client?: QueryClient,
): Promise<Enqueued[]> {
  if (checkList(runs, 'enqueueMany').length === 0) return [];
  const write = await enqueueing(engine, runs);
  // What an app enqueues by itself is no operator's action.
  if (engine.operator === null)
    return await write(client === undefined ? engine.database : sessionOfClient(engine, client));
  const writeAudited = async (session: Session) => {
    const enqueued = await write(session);
    const jobs = [...new Set(runs.map(({ job }) => findJob(engine.registry, job).name))];
    const targets = enqueued.filter(({ isNew, isReplaced }) => isNew || isReplaced).map(({ id }) => id);
    await audit(session, engine, {
      action: 'enqueue',
      targets,
      details: { job: jobs.slice(0, 10).join(', ') },
    });
    return enqueued;
  };
  if (client !== undefined) return await writeAudited(sessionOfClient(engine, client));
  return await engine.database.transaction(writeAudited);
}

/**
 * What enqueues these runs in a session, once they are checked. `hasWaiters`: others are to wait for them.
 * @throws TockError as {@link enqueue} does
 */
export async function enqueueing(
  engine: Engine,
  runs: readonly NewRun[],
  hasWaiters = false,
): Promise<(session: Session) => Promise<Enqueued[]>> {
  const given = runs.map(run => checkRun(engine, run));
  const limits = given.map(limitOf);
  const known = areKnown(limits) ? limits : await Promise.all(limits.map(wait));
  return async session => {
    const checked = given.some(({ job }) => job.isDeclared) ? await asDefined(session, given) : given;
    const writeUnder = async (traceparent: string | null) =>
      await enqueueRuns(
        session,
        rowsOf(engine, checked, known, { traceparent, ...(hasWaiters ? { has_waiters: true } : {}) }),
      );
    const enqueued = engine.tracing
      ? await engine.tracing.enqueueing(batchOf(checked), writeUnder, made => made.map(({ id }) => id))
      : await writeUnder(null);
    return enqueued.map(({ id, made, replaced }) => ({ id, isNew: made, isReplaced: replaced }));
  };
}

interface CheckedRun {
  readonly run: NewRun;
  readonly job: AnyJob;
  readonly payload: string;
  readonly key: string | null;
}

async function asDefined(session: Session, given: readonly CheckedRun[]): Promise<CheckedRun[]> {
  const jobs = await withDefaults(
    session,
    given.map(({ job }) => job),
  );
  return given.map(run => ({ ...run, job: jobs.get(run.job.name) ?? run.job }));
}

/**
 * What is declared here, with the queue, the priority and so on of its definition; by name.
 * @throws TockError TOCK_UNKNOWN_JOB where no service has registered it
 */
export async function withDefaults(
  session: Session,
  jobs: readonly AnyJob[],
): Promise<ReadonlyMap<string, AnyJob>> {
  const declared = new Map(jobs.flatMap(job => (job.isDeclared ? [[job.name, job] as const] : [])));
  if (declared.size === 0) return declared;
  const rows = await readJobDefaults.run(session, { names: JSON.stringify([...declared.keys()]) });
  const found = new Map(rows.map(row => [row.name, row]));
  const unknown = [...declared.keys()].filter(name => !found.has(name));
  if (unknown.length > 0) throw notRegisteredError(unknown);
  return new Map(
    [...declared].map(([name, job]) => [name, { ...job, ...defaultsOf(found.get(name)) }] as const),
  );
}

const defaultsOf = (row: JobDefaults | undefined): Partial<AnyJob> =>
  row === undefined
    ? {}
    : {
        queue: row.queue,
        priority: row.priority,
        retry: { maxAttempts: row.attempts },
        ...(row.tags === null ? {} : { tags: row.tags }),
        changes: row.changes,
      };

/** For the span of the call. */
function batchOf(checked: readonly CheckedRun[]): Batch {
  return {
    jobs: [...new Set(checked.map(({ job }) => job.name))],
    queues: [...new Set(checked.map(({ run, job }) => run.queue ?? job.queue ?? 'default'))],
    count: checked.length,
  };
}

type Limits = readonly (Limit | null)[];

function checkRun(engine: Engine, run: NewRun): CheckedRun {
  checkNewRun(run);
  const job = jobOf(engine, run);
  return {
    run,
    job,
    payload: payloadText(run.payload ?? {}, engine.settings.maxPayloadBytes),
    key: run.key === undefined ? null : checkKey(run.key),
  };
}

function jobOf({ registry }: Engine, { job }: NewRun): AnyJob {
  try {
    return findJob(registry, job);
  } catch (error) {
    if (!isJob(job)) throw error;
    throw new TockError(
      'TOCK_UNKNOWN_JOB',
      `job ${quote(job.name)} is not among the jobs of this process: add it to jobs, in createTock or in the job module`,
      { cause: error },
    );
  }
}

/** The name is composed only for the message, because there may be thousands of runs. */
function checkNewRun(run: NewRun): void {
  if (typeof run !== 'object' || run === null) checkOptions(run, NEW_RUN, 'a run to enqueue');
  for (const option in run) {
    if (NEW_RUN.has(option) || run[option as keyof NewRun] === undefined) continue;
    if (option === 'client')
      throw new TockError('TOCK_BAD_OPTION', 'client is for all runs: write enqueueMany(runs, { client })');
    checkOptions(run, NEW_RUN, `enqueue of job ${quote(nameOf(run.job))}`);
  }
}

function nameOf(job: unknown): unknown {
  return typeof job === 'object' && job !== null ? (job as { readonly name?: unknown }).name : job;
}

/**
 * Applies the schema to the payload as it is stored, and asks the job for the run's limit. Rejects instead of
 * throwing, so that no promise of another row is left with an unhandled error.
 */
function limitOf({ job, payload }: CheckedRun): Limit | null | Promise<Limit | null> {
  if (job.payload === undefined && job.concurrency?.key === undefined) return jobLimit(job, undefined);
  try {
    return parsePayloadFor(job, JSON.parse(payload), parsed => jobLimit(job, parsed));
  } catch (error) {
    return Promise.reject(error);
  }
}

const areKnown = (limits: readonly (Limit | null | Promise<Limit | null>)[]): limits is Limits =>
  !limits.some(limit => limit !== null && 'then' in limit);

const wait = async (limit: Limit | null | Promise<Limit | null>) => await limit;

/** Rows that share all but payload and key share one shape, which is checked and sent once. */
function rowsOf(
  engine: Engine,
  checked: readonly CheckedRun[],
  limits: Limits,
  ofAll: Pick<RunShape, 'traceparent' | 'has_waiters'>,
): EnqueuedRow[] {
  const latest = new Map<AnyJob, { run: NewRun; limit: Limit | null; shape: RunShape }>();
  return checked.map(({ run, job, payload, key }, place) => {
    const limit = limits[place] ?? null;
    const like = latest.get(job);
    if (
      like !== undefined &&
      like.limit?.key === limit?.key &&
      isShapedLike(run, like.run) &&
      // A row without a key that must have one is refused below.
      (key !== null || !like.shape.is_live)
    )
      return { shape: like.shape, payload, key };
    const shape = { ...shapeOf(engine, run, job, limit), ...ofAll };
    latest.set(job, { run, limit, shape });
    return { shape, payload, key };
  });
}

function isShapedLike(run: NewRun, other: NewRun): boolean {
  return (
    run.queue === other.queue &&
    run.priority === other.priority &&
    run.maxAttempts === other.maxAttempts &&
    haveSameTags(run.tags, other.tags) &&
    run.trigger === other.trigger &&
    run.runAt === other.runAt &&
    run.delay === other.delay &&
    run.unique === other.unique &&
    run.replace === other.replace &&
    run.debounce === other.debounce
  );
}

const haveSameTags = (tags: NewRun['tags'], others: NewRun['tags']) =>
  tags === others ||
  (Array.isArray(tags) &&
    Array.isArray(others) &&
    tags.length === others.length &&
    tags.every((tag, place) => tag === others[place]));

function shapeOf(engine: Engine, run: NewRun, job: AnyJob, limit: Limit | null): RunShape {
  return {
    job: job.name,
    ...checkUniqueness(run),
    ...checkTime(run),
    slot: limit && slotOf(job.name, limit.key),
    slot_limit: limit && limit.limit,
    queue: checkName(run.queue ?? job.queue ?? 'default', 'queue'),
    priority: checkedPriority(run.priority) ?? job.priority ?? 0,
    max_attempts: checkMaxAttempts(
      run.maxAttempts ?? job.retry?.maxAttempts ?? engine.settings.retry.maxAttempts ?? 10,
    ),
    trigger: checkTrigger(run.trigger ?? 'api'),
    tags: joinTags(job.tags, run.tags),
    ...(job.changes ? { keeps_changes: true } : {}),
  };
}

/** The caller's own transaction. @throws TockError TOCK_BAD_OPTION */
export function sessionOfClient(engine: Engine, client: QueryClient): Session {
  requireClient(client);
  return {
    async run<Row>(text: string, values: readonly unknown[] = []) {
      const result = await client.query(engine.database.rewrite(text), [...values]);
      return result.rows as Row[];
    },
  };
}

/** @throws TockError TOCK_BAD_OPTION */
export function requireClient(client: QueryClient): QueryClient {
  // Null is refused too: a caller that passes a client must not get the run outside of its transaction.
  if (typeof (client as QueryClient | null)?.query === 'function') {
    if (!isPool(client)) return client;
    throw new TockError(
      'TOCK_BAD_OPTION',
      'client is a pool, each statement of which is on its own, outside of your transaction: pass what pool.connect() gives, after its begin; or leave client out',
    );
  }
  throw new TockError(
    'TOCK_BAD_OPTION',
    'client has no query(text, values): pass a pg client, or wrap the transaction with fromKysely, fromDrizzle, fromPrisma, fromKnex or fromPostgresJs of pg-tock/adapters',
  );
}
