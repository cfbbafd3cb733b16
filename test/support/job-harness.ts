// Room: test support. Runs a job's handler without the engine, on a real PostgreSQL.
// In: a job, a payload, and what the test wants otherwise. Out: the handler's output, its log and its progress.
// `once` and `step` keep a ledger table in the test's own database, with the engine's promise: one transaction
// for the work and its row.
import { Kysely, PostgresDialect, sql, type Transaction } from 'kysely';
import { Pool } from 'pg';
import type {
  AnyDatabase,
  AnyJob,
  JobContext,
  Json,
  Logger,
  RunReport,
  SchedulerStatus,
  SchedulerView,
} from '../../src/index.js';
import { createTestDatabase } from './embedded-database.js';

export interface LogLine {
  readonly level: 'debug' | 'info' | 'warn' | 'error';
  readonly fields: Readonly<Record<string, unknown>>;
  readonly message: string | undefined;
}

export interface HandlerResult {
  readonly output: unknown;
  readonly logged: readonly LogLine[];
  readonly progress: readonly { readonly fraction: number; readonly stage: string | undefined }[];
}

export interface HandlerOverrides extends Partial<Omit<JobContext, 'scheduler'>> {
  readonly scheduler?: Partial<SchedulerView>;
  /** Called with the key when the work of `once` is done but not committed; throwing rolls it back. */
  readonly beforeCommit?: (key: string) => void;
  /** Called with the key after a new ledger row was committed; throwing kills the handler there. */
  readonly afterCommit?: (key: string) => void;
}

export interface JobHarness {
  readonly db: Kysely<AnyDatabase>;
  /** Checks the payload by the job's schema, as the engine does, and runs the handler once. */
  runHandler(job: AnyJob, payload?: unknown, overrides?: HandlerOverrides): Promise<HandlerResult>;
  /** The ledger's keys, sorted. */
  ledger(): Promise<string[]>;
  close(): Promise<void>;
}

/** The moment at which every figure below was taken: a Monday. */
export const NOW = new Date('2026-03-09T07:00:00Z');

/** Figures of a scheduler that has nothing to complain of. */
export const CALM_STATUS: SchedulerStatus = {
  at: NOW,
  definitions: { scheduled: 5, due: 0, paused: 0, broken: 0, overdueMs: 0 },
  runs: { waiting: 0, scheduled: 2, running: 1, failed: 0, stuck: 0 },
  oldestWaitMs: 0,
  lastDay: { succeeded: 1440, dead: 0, cancelled: 0, skipped: 0 },
  workers: [],
  queues: [],
  oldestSnapshot: null,
  deadRows: 0,
};

/** A report on a time in which nothing happened. */
export const EMPTY_REPORT: RunReport = { from: NOW, to: NOW, jobs: [], days: [], errors: [] };

/** Opens a database of its own with a ledger in it. Close it when the file's tests are done. */
export async function openJobHarness(): Promise<JobHarness> {
  const database = await createTestDatabase();
  const pool = new Pool({ connectionString: database.url, max: 4 });
  // Dropping the database ends idle sessions; that is no news.
  pool.on('error', () => undefined);
  const db = new Kysely<AnyDatabase>({ dialect: new PostgresDialect({ pool }) });
  await sql`create table ledger (key text primary key, result jsonb)`.execute(db);
  return {
    db,
    runHandler: (job, payload = {}, overrides = {}) => runHandler(db, job, payload, overrides),
    ledger: async () => {
      const { rows } = await sql<{ key: string }>`select key from ledger order by key collate "C"`.execute(
        db,
      );
      return rows.map(row => row.key);
    },
    close: async () => {
      await db.destroy();
      await database.drop();
    },
  };
}

async function runHandler(
  db: Kysely<AnyDatabase>,
  job: AnyJob,
  payload: unknown,
  overrides: HandlerOverrides,
): Promise<HandlerResult> {
  const { scheduler, beforeCommit, afterCommit, ...context } = overrides;
  const logged: LogLine[] = [];
  const progress: { fraction: number; stage: string | undefined }[] = [];
  const runId = context.runId ?? '1';
  const once = onceIn(db, beforeCommit, afterCommit);
  const ctx: JobContext = {
    runId,
    job: job.name,
    definition: job.name,
    attempt: 1,
    maxAttempts: job.retry?.maxAttempts ?? 10,
    fence: 1,
    scheduledFor: null,
    dataInterval: null,
    occurrenceCount: 1,
    idempotencyKey: null,
    trigger: 'manual',
    signal: new AbortController().signal,
    log: collectingLogger(logged),
    db,
    scheduler: {
      status: () => Promise.resolve(CALM_STATUS),
      report: () => Promise.resolve(EMPTY_REPORT),
      prune: () => Promise.reject(new Error('this test gave no prune')),
      ...scheduler,
    },
    progress: (fraction: number, stage?: string) => void progress.push({ fraction, stage }),
    step: (name, work) => once(`step:${runId}:${name}`, () => work()),
    once,
    transaction: work => db.transaction().execute(async trx => work(trx)),
    enqueue: () => Promise.reject(new Error('this test gave no enqueue')),
    ...context,
  };
  const output: unknown = await job.run(ctx, await checked(job, payload));
  return { output, logged, progress };
}

async function checked(job: AnyJob, payload: unknown): Promise<unknown> {
  const result = await job.payload?.['~standard'].validate(payload);
  if (result === undefined) return payload;
  if (result.issues)
    throw new TypeError(result.issues.map((each: { message: string }) => each.message).join('; '));
  return result.value;
}

function onceIn(
  db: Kysely<AnyDatabase>,
  beforeCommit?: (key: string) => void,
  afterCommit?: (key: string) => void,
): JobContext['once'] {
  return async <T extends Json | void>(
    key: string,
    work: (trx: Transaction<AnyDatabase>) => Promise<T> | T,
  ) => {
    let isNew = false;
    const result = await db.transaction().execute(async trx => {
      // A second caller with the key waits here until the first one's transaction has ended.
      const added = await sql`insert into ledger (key) values (${key}) on conflict do nothing`.execute(trx);
      isNew = added.numAffectedRows === 1n;
      if (!isNew) {
        const kept = await sql<{ result: T }>`select result from ledger where key = ${key}`.execute(trx);
        return kept.rows[0]?.result as T;
      }
      const done = await work(trx);
      await sql`update ledger set result = ${JSON.stringify(done ?? null)}::jsonb where key = ${key}`.execute(
        trx,
      );
      beforeCommit?.(key);
      return done;
    });
    if (isNew) afterCommit?.(key);
    return result;
  };
}

function collectingLogger(lines: LogLine[], bound: Readonly<Record<string, unknown>> = {}): Logger {
  const at = (level: LogLine['level']) => (fields: Readonly<Record<string, unknown>>, message?: string) => {
    lines.push({ level, fields: { ...bound, ...fields }, message });
  };
  return {
    debug: at('debug'),
    info: at('info'),
    warn: at('warn'),
    error: at('error'),
    child: fields => collectingLogger(lines, { ...bound, ...fields }),
  };
}
