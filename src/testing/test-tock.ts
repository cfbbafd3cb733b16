// A Tock for one test, with a database and a clock of its own, and ways to make runs fail.
import { type Engine, readSettings } from '../engine/engine.js';
import { reap } from '../engine/reap.js';
import { openWorker } from '../engine/worker/worker.js';
import { systemClock } from '../environment/system-clock.js';
import { TockError } from '../model/errors.js';
import type { EnqueueOptions } from '../model/job/enqueue-options.js';
import type { AnyJob, JobReference, OutputFor, PayloadAndOptions } from '../model/job/job.js';
import type { JobDatabase } from '../model/job/job-database.js';
import { createRegistry, findJob } from '../model/job/registry.js';
import type { EmitOptions } from '../model/job/wait-methods.js';
import type { RunRecord } from '../model/run/run-record.js';
import { isFinished } from '../model/run/states.js';
import { importAppsKysely } from '../store/connection/apps-kysely/apps-kysely.js';
import { openDatabase } from '../store/connection/database.js';
import { createTock } from '../tock/create-tock.js';
import type { TockOptions } from '../tock/options.js';
import type { Tock } from '../tock/types.js';
import { advanceTo, untilNext } from './advance.js';
import { capturingLogger, type LogLine } from './captured-logs.js';
import { CREATE_ENDED_RUNS, type DrainOptions, drain } from './drain.js';
import { type ChangeContext, instrumentJobs, withoutWebhook } from './instrumented-jobs.js';
import { forwardClock, installClock, type TestClock } from './test-clock.js';
import { createTestPlace, type TestServer } from './test-database.js';
import { sharedServer } from './test-server.js';

/** Options of {@link openTestTock}: those of createTock, except for the database and the clock. */
export interface TestTockOptions<Jobs extends readonly AnyJob[] = readonly AnyJob[]>
  extends Omit<TockOptions<Jobs>, 'pool' | 'jobsModule'> {
  /**
   * A server for tests, whose role may create databases, or at least schemas. Default:
   * TOCK_TEST_DATABASE_URL, otherwise an embedded server that all tests of a run share. DATABASE_URL is never
   * used.
   */
  readonly connectionString?: string;
  /** The time at the start. Default: the clock runs, at real time. */
  readonly now?: Date | string;
}

/** Options of {@link TestTock.runOnce}: those of `enqueue`, and a changed context. */
export interface RunOnceOptions extends EnqueueOptions {
  /** Changes the handler's context, in all attempts of this run. */
  readonly context?: ChangeContext;
}

/** `Jobs` are those that it was opened with. */
export interface TestTock<Jobs extends readonly AnyJob[] = readonly AnyJob[]> extends AsyncDisposable {
  /** What an app has: enqueue, schedules, runs, tick, start … */
  readonly tock: Tock<Jobs>;
  readonly clock: TestClock;
  /** Lines that Tock and the handlers logged, at every level. Empty it with `logs.length = 0`. */
  readonly logs: LogLine[];
  /** The test's own database, for the app's code under test. */
  readonly connectionString: string;
  readonly schema: string;
  /** Kysely on that database, like `ctx.db`. */
  readonly db: JobDatabase;
  /**
   * Runs SQL, and returns the rows of a single statement; several take no `values`. `tock.` means the
   * schema.
   */
  readonly sql: <Row = Record<string, unknown>>(text: string, values?: readonly unknown[]) => Promise<Row[]>;
  /** Executes everything due, follow-ups included. Returns the runs that ended, in that order. */
  readonly drain: (options?: DrainOptions) => Promise<RunRecord[]>;
  /**
   * Enqueues one run, executes one attempt of it, and returns the run: succeeded, failed (to be retried),
   * dead … A handler's error is not thrown here. If the `key` names a run that has ended, that run is
   * returned.
   * @throws TockError for a payload or option that `enqueue` refuses; TOCK_BAD_STATE when the run may not
   * start now
   */
  readonly runOnce: <const J extends JobReference<Jobs>>(
    job: J,
    ...rest: PayloadAndOptions<J, RunOnceOptions, Jobs>
  ) => Promise<RunRecord<OutputFor<J, Jobs>>>;
  /** Moves the clock to a definition's next occurrence, and drains. */
  readonly untilNext: (
    definition: string | { readonly name: string },
    options?: DrainOptions,
  ) => Promise<RunRecord[]>;
  /** Emits an event, as `tock.emit` does, and drains: what waits for it goes on. */
  readonly emit: (event: string, options?: EmitOptions & DrainOptions) => Promise<RunRecord[]>;
  /** Moves the clock on to an instant, and drains whenever something is due on the way. */
  readonly advanceTo: (instant: Date | string, options?: DrainOptions) => Promise<RunRecord[]>;
  /** Makes the next attempt of a job fail with an error, before its handler is called. */
  readonly failOnce: (job: string | { readonly name: string }, error?: unknown) => void;
  /** Changes the context of a job's handler, until it is called with null. */
  readonly changeContext: (job: string | { readonly name: string }, change: ChangeContext | null) => void;
  /**
   * Ends the lease of a running run (default: of all), as if its process had died: the run has failed and
   * will be retried, and later writes of its handler are refused. Call it while a handler runs.
   */
  readonly loseLease: (runId?: string) => Promise<void>;
  /** Another Tock on the same database: a second host, or other code. Closed with this one. */
  readonly another: (options?: Omit<TockOptions, 'pool' | 'connectionString' | 'schema'>) => Tock;
  /** Closes everything and drops the database. */
  readonly close: () => Promise<void>;
}

const EXPIRE = `
update tock.job_runs_live set locked_until = tock.now() - interval '1 millisecond', run_at = least(run_at, tock.now())
where status = 'running' and ($1::bigint is null or id = $1) returning id`;

/** A test's database is its own: other jobs on it are meant, and a leap of the clock must not remove runs. */
const DEFAULTS = { allowVanishing: true, retention: false } as const;

/**
 * Opens a migrated Tock in a database of its own. Its jobs are registered by the first drain.
 * @throws TockError for a bad job or setting; TOCK_NO_EMBEDDED_SERVER, TOCK_EMBEDDED_SERVER_FAILED
 */
export async function openTestTock<const Jobs extends readonly AnyJob[] = readonly AnyJob[]>(
  options: TestTockOptions<Jobs> = {},
): Promise<TestTock<Jobs>> {
  const { connectionString: given, now, logger: next, schema = 'tock', connections, ...rest } = options;
  const logs: LogLine[] = [];
  const listeners = new Set<(line: LogLine) => void>();
  const keep = (line: LogLine) => {
    logs.push(line);
    for (const listener of listeners) listener(line);
  };
  const logger = capturingLogger(keep, next || null);
  const { jobs, ...instruments } = instrumentJobs(rest.jobs ?? []);
  const settings = readSettings(rest);
  const registry = createRegistry(jobs, [], settings.service);

  const place = await createTestPlace(await serverFor(given), schema);
  const reach = { connectionString: place.connectionString, schema: place.schema };
  const database = openDatabase({
    clock: systemClock,
    ...reach,
    ...(connections === undefined ? {} : { connections }),
  });
  const tock = createTock({
    ...DEFAULTS,
    ...rest,
    jobs,
    logger,
    pool: database.pool,
    schema: place.schema,
  });
  const opened = [tock];
  let closed: Promise<void> | undefined;
  const close = async () => {
    await Promise.all(opened.map(other => other.close()));
    await database.close();
    await place.drop();
  };

  let clock: TestClock;
  try {
    await importAppsKysely();
    await tock.migrate();
    clock = await installClock(database);
    if (now !== undefined) await clock.set(now);
    await database.run(CREATE_ENDED_RUNS);
  } catch (error) {
    await close();
    throw error;
  }
  const hooks = rest.hooks ?? {};
  const workers: Engine['workers'] = new Set();
  const engine: Engine = {
    clock: systemClock,
    database,
    registry,
    logger,
    settings,
    isolation: null,
    hooks,
    workers,
    forHandlers: () => tock,
    wakeHost: () => undefined,
    operator: null,
    appName: null,
  };
  const listen = (listener: (line: LogLine) => void) => {
    listeners.add(listener);
    return () => void listeners.delete(listener);
  };
  const kit = { tock, database, clock, listen };
  const knownName = (job: Parameters<typeof nameOf>[0]) => findJob(registry, nameOf(job)).name;

  const test: Omit<TestTock, typeof Symbol.asyncDispose> = {
    tock,
    clock: forwardClock(database, clock),
    logs,
    ...reach,
    get db() {
      return database.handlers.db;
    },
    sql: async <Row>(text: string, values: readonly unknown[] = []) =>
      // For several statements the driver gives no rows.
      ((await database.pool.query(database.rewrite(text), [...values])).rows as Row[] | undefined) ?? [],
    drain: async drainOptions => await drain(kit, drainOptions),
    runOnce: (async (
      job: string | AnyJob,
      payload?: unknown,
      { context, ...enqueueOptions }: RunOnceOptions = {},
    ) => {
      const id = await tock.enqueue<string>(nameOf(job), payload, enqueueOptions);
      if (context) instruments.changeContextOf(id, context);
      return await executeOnce(engine, tock, id);
    }) as TestTock['runOnce'],
    emit: async (event, { key, payload, client, ...drainOptions } = {}) => {
      await tock.emit(event, {
        ...(key === undefined ? {} : { key }),
        ...(client === undefined ? {} : { client }),
        payload,
      });
      return await drain(kit, drainOptions);
    },
    untilNext: async (definition, drainOptions) => await untilNext(kit, nameOf(definition), drainOptions),
    advanceTo: async (instant, drainOptions) => await advanceTo(kit, instant, drainOptions),
    failOnce: (job, error = new Error('injected by failOnce')) => instruments.failOnce(knownName(job), error),
    changeContext: (job, change) => instruments.changeContext(knownName(job), change),
    loseLease: async runId => {
      const lost = await database.run(EXPIRE, [runId ?? null]);
      if (lost.length === 0) {
        throw new TockError(
          'TOCK_NOT_FOUND',
          `${runId === undefined ? 'no run is' : `run ${runId} is not`} running: there is no lease to lose`,
        );
      }
      await reap(engine);
    },
    another: ({ jobs: others, logger: otherLogger, ...more } = {}) => {
      const other = createTock({
        ...DEFAULTS,
        ...rest,
        ...more,
        ...reach,
        jobs: others?.map(withoutWebhook) ?? jobs,
        logger: otherLogger === undefined ? logger : otherLogger,
      });
      opened.push(other);
      return other;
    },
    close: async () => await (closed ??= close()),
  };
  return disposable(test);
}

async function serverFor(given: string | undefined): Promise<TestServer> {
  if (given !== undefined) return { url: given, namedBy: 'connectionString' };
  const url = process.env['TOCK_TEST_DATABASE_URL'];
  return url
    ? { url, namedBy: 'TOCK_TEST_DATABASE_URL' }
    : { url: await sharedServer(), namedBy: 'TOCK_TEST_DATABASE_URL' };
}

async function executeOnce(engine: Engine, tock: Tock, id: string): Promise<RunRecord> {
  const before = await tock.runs.get(id);
  if (before && isFinished(before.status)) return before;
  const worker = openWorker(engine, { kind: 'manual', concurrency: 1 });
  let isClaimed = false;
  try {
    isClaimed = await worker.claimOne(id);
    await worker.idle();
  } finally {
    await worker.stop();
  }
  const run = await tock.runs.get(id);
  if (isClaimed && run) return run;
  throw new TockError(
    'TOCK_BAD_STATE',
    `run ${id} is ${run?.status ?? 'gone'} and could not be started: it is due ${run?.runAt.toISOString() ?? 'never'}, in queue ${run?.queue ?? ''}; move the clock, or see whether the queue is paused or a limit reached`,
  );
}

const nameOf = (named: string | { readonly name: string }) =>
  typeof named === 'string' ? named : named.name;

/** For `await using`. Older runtimes lack the symbol. */
function disposable(test: Omit<TestTock, typeof Symbol.asyncDispose>): TestTock {
  const symbol: symbol | undefined = Symbol.asyncDispose;
  return (symbol === undefined ? test : { ...test, [symbol]: test.close }) as TestTock;
}
