// pg-boss and graphile-worker, whose tables the imports read. They ask for a newer Node than Tock does, so they are no
// dependencies of its own: those of the benchmarks are used.
import { createRequire } from 'node:module';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { lacks } from './needs.js';

type SchedulerName = 'pg-boss' | 'graphile-worker';

/** What the tests use of pg-boss. */
export interface PgBoss {
  start(): Promise<unknown>;
  stop(options: { readonly graceful: boolean }): Promise<void>;
  createQueue(name: string, options: object): Promise<void>;
  schedule(name: string, cron: string, data: object | null, options: object): Promise<void>;
}

interface PgBossModule {
  readonly PgBoss: new (options: {
    readonly connectionString: string;
    readonly schedule: boolean;
    readonly supervise: boolean;
  }) => PgBoss;
}

interface CrontabItem {
  readonly task: string;
  readonly identifier: string;
  readonly payload: unknown;
  readonly options: { readonly backfillPeriod: number; readonly maxAttempts?: number };
  match(minute: Readonly<Record<'min' | 'hour' | 'date' | 'month' | 'dow', number>>): boolean;
}

/** What the tests use of graphile-worker. */
export interface GraphileWorker {
  parseCrontab(text: string): readonly CrontabItem[];
  runMigrations(options: { readonly connectionString: string }): Promise<void>;
  run(options: {
    readonly connectionString: string;
    readonly taskList: Readonly<Record<string, () => void>>;
    readonly crontab: string;
    readonly noHandleSignals: boolean;
  }): Promise<{ stop(): Promise<void> }>;
}

const FOLDER = path.resolve('bench');

/** For `describe.skipIf`. */
export const hasNoScheduler = () => lacks('bench packages');

export const loadPgBoss = async () => (await load('pg-boss')) as PgBossModule;
export const loadGraphileWorker = async () => (await load('graphile-worker')) as GraphileWorker;

async function load(name: SchedulerName): Promise<unknown> {
  const file = createRequire(path.join(FOLDER, 'package.json')).resolve(name);
  return await import(pathToFileURL(file).href);
}
