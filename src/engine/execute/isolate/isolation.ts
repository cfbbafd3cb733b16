// Whether and how this process can execute a handler in a child process.
import { existsSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import type * as pg from 'pg';
import type { CurrentUrl } from '../../../model/database/current-url.js';
import { TockError } from '../../../model/errors.js';
import { readIsolate } from '../../../model/job/isolate.js';
import type { Registry } from '../../../model/job/registry.js';
import { quote } from '../../../model/names.js';
import { type Connection, connectionOf } from '../../../store/connection/connection.js';

export interface Isolation {
  /** The script of a child process. */
  readonly entry: string;
  /** The module whose `jobs` holds the handlers. */
  readonly jobsModule: string;
  /** As it is now. */
  readonly connection: () => Connection;
}

export interface IsolationOptions {
  readonly jobsModule?: string | URL;
  readonly connectionString?: CurrentUrl;
  readonly pool?: pg.Pool;
}

/**
 * Null if isolation is impossible and no job asks for it. A child process has none of its parent's closures:
 * it must load the handlers from a module and open its own connection. Runs of other jobs are isolated too,
 * if possible, once they are suspected of having ended a process.
 * @param entry the script of a child process; null if this package is bundled into an app
 * @throws TockError TOCK_BAD_OPTION that names the job and the fix, if a job asks for isolation
 */
export function readIsolation(
  registry: Registry,
  entry: string | null,
  options: IsolationOptions,
): Isolation | null {
  const job = [...registry.jobs.values()].find(candidate => readIsolate(candidate.isolate) !== null);
  if (job === undefined) return isolationForSuspects(entry, options);
  if (options.jobsModule === undefined) {
    throw badOption(
      `job ${job.name} has isolate, so a child process must load it: pass jobsModule to createTock, the path or URL of a compiled module that exports the array \`jobs\` and does nothing else`,
    );
  }
  const jobsModule = pathOf(options.jobsModule);
  if (!existsSync(jobsModule))
    throw badOption(
      `jobsModule names ${quote(jobsModule)}, which does not exist; build it, or correct the path`,
    );
  if (entry === null)
    throw badOption(
      `job ${job.name} has isolate, whose child process runs a file of pg-tock, but pg-tock is bundled into this app; leave it out of the bundle (esbuild: --external:pg-tock)`,
    );
  if (!existsSync(entry))
    throw badOption(
      `job ${job.name} has isolate, but ${entry}, which its child process runs, does not exist; build it (npm run build)`,
    );
  return { entry, jobsModule, connection: reaching(options) };
}

/** @throws TockError TOCK_BAD_OPTION at once, where a child process could not connect */
function reaching(options: IsolationOptions): () => Connection {
  connectionOf(options);
  return () => connectionOf(options);
}

function isolationForSuspects(entry: string | null, options: IsolationOptions): Isolation | null {
  if (entry === null || options.jobsModule === undefined) return null;
  const jobsModule = pathOf(options.jobsModule);
  if (!existsSync(jobsModule) || !existsSync(entry)) return null;
  try {
    return { entry, jobsModule, connection: reaching(options) };
  } catch {
    // A password that is a function cannot be passed on; no job asks for isolation, so none misses it.
    return null;
  }
}

function pathOf(module: string | URL): string {
  const text = String(module);
  return path.resolve(text.startsWith('file:') ? fileURLToPath(text) : text);
}

function badOption(message: string): TockError {
  return new TockError('TOCK_BAD_OPTION', message);
}
