// Room: engine. Whether and how this process can give a handler a process of its own.
// In: the jobs, and what createTock was told. Out: an Isolation, or null where there can be none and no job asks for it.
import { existsSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import type pg from 'pg';
import { TockError } from '../../../model/errors.js';
import { readIsolate } from '../../../model/job/isolate.js';
import type { Registry } from '../../../model/job/registry.js';
import { quote } from '../../../model/names.js';
import { type Connection, connectionOf } from '../../../store/connection/connection.js';

export interface Isolation {
  /** The script that a child runs. */
  readonly entry: string;
  /** The module whose `jobs` holds the handlers. */
  readonly jobsModule: string;
  readonly connection: Connection;
}

export interface IsolationOptions {
  readonly jobsModule?: string | URL;
  readonly connectionString?: string;
  readonly pool?: pg.Pool;
}

/**
 * Checks that isolated jobs can be executed. A child process knows no closures of its parent: it must load the
 * handlers from a module and open a connection of its own. Runs of other jobs are isolated too, where that is possible,
 * once they are suspected of having ended a process.
 *
 * @throws TockError TOCK_BAD_OPTION that names the job and the mend, where a job asks for isolation
 */
export function readIsolation(
  registry: Registry,
  entry: string,
  options: IsolationOptions,
): Isolation | null {
  const job = [...registry.jobs.values()].find(each => readIsolate(each.isolate) !== null);
  if (job === undefined) return isolationForSuspects(entry, options);
  if (options.jobsModule === undefined) {
    throw bad(
      `job ${job.name} has isolate, so a child process must load it: pass jobsModule to createTock, the path or URL of a compiled module that exports the array \`jobs\` and does nothing else`,
    );
  }
  const jobsModule = pathOf(options.jobsModule);
  if (!existsSync(jobsModule))
    throw bad(`jobsModule names ${quote(jobsModule)}, which is not there; build it, or mend the path`);
  if (!existsSync(entry)) {
    throw bad(
      `job ${job.name} has isolate, but ${entry}, which its child process runs, is not there; do not bundle pg-tock into your app, or build it (npm run build)`,
    );
  }
  return { entry, jobsModule, connection: connectionOf(options) };
}

function isolationForSuspects(entry: string, options: IsolationOptions): Isolation | null {
  if (options.jobsModule === undefined) return null;
  const jobsModule = pathOf(options.jobsModule);
  if (!existsSync(jobsModule) || !existsSync(entry)) return null;
  try {
    return { entry, jobsModule, connection: connectionOf(options) };
  } catch {
    // A pool whose password is a function: no job needs what it cannot hand on.
    return null;
  }
}

function pathOf(module: string | URL): string {
  const text = String(module);
  return path.resolve(text.startsWith('file:') ? fileURLToPath(text) : text);
}

function bad(message: string): TockError {
  return new TockError('TOCK_BAD_OPTION', message);
}
