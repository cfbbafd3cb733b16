// Loads the project's job module.
import { existsSync } from 'node:fs';
import { pathToFileURL } from 'node:url';
import { projectFolder } from '../environment/paths.js';
import type { AlertOptions } from '../model/alerts/options.js';
import { TockError } from '../model/errors.js';
import type { Hooks } from '../model/job/hooks.js';
import type { AnyJob } from '../model/job/job.js';
import { JOB_MODULES } from './job-module-path.js';

export interface JobModule {
  readonly jobs: readonly AnyJob[];
  /** Empty if the module exports none. */
  readonly hooks: Hooks;
  /** Undefined if the module exports none. */
  readonly alerts: AlertOptions | undefined;
}

/**
 * @param modulePath null: none was found
 * @throws TockError TOCK_JOBS_NOT_FOUND, or defineJob's error for a bad job, with its file
 */
export async function loadJobModule(modulePath: string | null): Promise<JobModule> {
  if (modulePath === null) {
    throw new TockError(
      'TOCK_JOBS_NOT_FOUND',
      `there is no job module in ${projectFolder()} (${JOB_MODULES.join(', ')}): go to the project's folder, or name the module with --jobs FILE or TOCK_JOBS`,
    );
  }
  if (!existsSync(modulePath)) {
    throw new TockError(
      'TOCK_JOBS_NOT_FOUND',
      `there is no job module at ${modulePath}: build the project (npm run build), or set TOCK_JOBS to a compiled module`,
    );
  }
  const loaded = await importModule(modulePath);
  const exported: Record<string, unknown> =
    loaded['jobs'] === undefined ? { ...(loaded['default'] as object) } : loaded;
  const { jobs, hooks = {}, alerts } = exported;
  if (typeof hooks !== 'object' || hooks === null)
    throw new TockError(
      'TOCK_JOBS_NOT_FOUND',
      `hooks of ${modulePath} is no object; write: export const hooks = { onDead: run => … }`,
    );
  // What is in it is checked by createTock.
  if (Array.isArray(jobs))
    return { jobs: jobs as readonly AnyJob[], hooks, alerts: alerts as AlertOptions | undefined };
  throw new TockError(
    'TOCK_JOBS_NOT_FOUND',
    `${modulePath} exports no array named jobs; write: export const jobs = [ … ]`,
  );
}

export async function loadJobs(modulePath: string | null): Promise<readonly AnyJob[]> {
  return (await loadJobModule(modulePath)).jobs;
}

async function importModule(modulePath: string): Promise<Record<string, unknown>> {
  try {
    return (await import(pathToFileURL(modulePath).href)) as Record<string, unknown>;
  } catch (error) {
    if (error instanceof TockError) throw error;
    throw new TockError(
      'TOCK_JOBS_NOT_FOUND',
      `the job module ${modulePath} cannot be loaded: ${reasonOf(error)}`,
      { cause: error },
    );
  }
}

function reasonOf(error: unknown): string {
  if ((error as NodeJS.ErrnoException | null)?.code === 'ERR_UNKNOWN_FILE_EXTENSION')
    return `this Node (${process.versions.node}) loads no TypeScript: compile it and name the compiled module, or run: node --import tsx …`;
  return error instanceof Error ? error.message : String(error);
}
