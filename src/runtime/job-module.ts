// Loads the project's job module.
import { existsSync } from 'node:fs';
import { pathToFileURL } from 'node:url';
import { projectFolder } from '../environment/paths.js';
import type { AlertOptions } from '../model/alerts/options.js';
import { formatDuration } from '../model/duration.js';
import { TockError } from '../model/errors.js';
import { isJob } from '../model/job/define-job.js';
import type { Hooks } from '../model/job/hooks.js';
import type { AnyJob } from '../model/job/job.js';
import { editDistance } from '../model/nearest.js';
import type { DefinedQueue } from '../model/queue/define-queue.js';
import type { RetentionOptions } from '../model/scheduler-view.js';
import { findJobModule, JOB_MODULES } from './job-module-path.js';

export interface JobModule {
  readonly jobs: readonly AnyJob[];
  /** Undefined if the module exports none. */
  readonly queues: readonly DefinedQueue[] | undefined;
  /** Empty if the module exports none. */
  readonly hooks: Hooks;
  /** Undefined if the module exports none. */
  readonly alerts: AlertOptions | undefined;
  /** Undefined if the module exports none. */
  readonly retention: RetentionOptions | false | undefined;
  /** Exports that nothing reads, and that look like misspelt ones; null: there are none. */
  readonly misspelt: string | null;
}

const EXPORTS = ['jobs', 'queues', 'hooks', 'alerts', 'retention'];

/** A module may fetch its configuration before it exports jobs. */
const MAX_LOAD_MS = 30_000;

/**
 * @param modulePath null: none was found
 * @param limitMs how long the module may take to load
 * @throws TockError TOCK_JOBS_NOT_FOUND, or defineJob's error for a bad job, with its file
 */
export async function loadJobModule(modulePath: string | null, limitMs = MAX_LOAD_MS): Promise<JobModule> {
  if (modulePath === null) {
    throw new TockError(
      'TOCK_JOBS_NOT_FOUND',
      `there is no job module in ${projectFolder()} (${JOB_MODULES.join(', ')}): go to the project's folder, or name the module with --jobs FILE or TOCK_JOBS`,
    );
  }
  if (!existsSync(modulePath)) {
    const own = findJobModule(undefined);
    throw new TockError(
      'TOCK_JOBS_NOT_FOUND',
      own === null
        ? `there is no job module at ${modulePath}: build the project (npm run build), or set TOCK_JOBS to a compiled module`
        : `there is no job module at ${modulePath}, but at ${own}: correct TOCK_JOBS or --jobs, or leave it out; or build the project (npm run build)`,
    );
  }
  const loaded = await importModule(modulePath, limitMs);
  const exported: Record<string, unknown> =
    loaded['jobs'] === undefined ? { ...(loaded['default'] as object) } : loaded;
  const { jobs, queues, hooks = {}, alerts, retention } = exported;
  if (typeof hooks !== 'object' || hooks === null)
    throw new TockError(
      'TOCK_JOBS_NOT_FOUND',
      `hooks of ${modulePath} is no object; write: export const hooks = { onDead: run => … }`,
    );
  // What is in it is checked by createTock.
  if (Array.isArray(jobs) && jobs.every(isJob))
    return {
      jobs: jobs as readonly AnyJob[],
      queues: queues as readonly DefinedQueue[] | undefined,
      hooks,
      alerts: alerts as AlertOptions | undefined,
      retention: retention as RetentionOptions | false | undefined,
      misspelt: misspeltExports(modulePath, Object.keys(exported)),
    };
  const { noJobsExported } = await import('./job-module-failure.js');
  throw noJobsExported(modulePath, loaded, jobs);
}

/** A module may have exports of its own, so a name must be near to one that it does not export. */
function misspeltExports(modulePath: string, names: readonly string[]): string | null {
  const absent = EXPORTS.filter(each => !names.includes(each));
  const found = names.flatMap(name => {
    const near = EXPORTS.includes(name) ? undefined : absent.find(each => editDistance(name, each) === 1);
    return near === undefined ? [] : [`${name} (did you mean ${near}?)`];
  });
  return found.length === 0 ? null : `Tock does not read these exports of ${modulePath}: ${found.join(', ')}`;
}

export async function loadJobs(modulePath: string | null): Promise<readonly AnyJob[]> {
  return (await loadJobModule(modulePath)).jobs;
}

async function importModule(modulePath: string, limitMs: number): Promise<Record<string, unknown>> {
  try {
    if (/\.[cm]?ts$/.test(modulePath)) {
      const { loadTypeScriptBy } = await import('./load-typescript.js');
      await loadTypeScriptBy(modulePath);
    }
    const loading = import(pathToFileURL(modulePath).href) as Promise<Record<string, unknown>>;
    return await withinTime(loading, modulePath, limitMs);
  } catch (error) {
    if (error instanceof TockError) throw error;
    const { jobModuleFailure } = await import('./job-module-failure.js');
    throw jobModuleFailure(modulePath, error);
  }
}

/** Gives up when the time is over, or at once when nothing is left that could end the loading. */
async function withinTime<T>(loading: Promise<T>, modulePath: string, limitMs: number): Promise<T> {
  let stop = () => {};
  const tooLong = new Promise<never>((_resolve, reject) => {
    const giveUp = () =>
      reject(
        new TockError(
          'TOCK_JOBS_NOT_FOUND',
          `the job module ${modulePath} does not finish loading: a top-level await, in it or in what it imports, waits for more than ${formatDuration(limitMs)} or for ever; move it into a handler`,
        ),
      );
    const timer = setTimeout(giveUp, limitMs).unref();
    process.once('beforeExit', giveUp);
    stop = () => {
      clearTimeout(timer);
      process.off('beforeExit', giveUp);
    };
  });
  return await Promise.race([loading, tooLong]).finally(stop);
}
