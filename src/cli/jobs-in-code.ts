// The jobs of the job module, for commands that also work without one.
import { existsSync } from 'node:fs';
import type { AnyJob } from '../model/job/job.js';
import type { Shell } from './shell.js';

/** Those that this code executes. Empty without a job module: the database may still know the definitions. */
export async function jobsInCode({ config }: Shell): Promise<readonly AnyJob[]> {
  if (config.jobsModule === null || !existsSync(config.jobsModule)) return [];
  const { loadJobs } = await import('../runtime/job-module.js');
  return (await loadJobs(config.jobsModule)).filter(job => !job.isDeclared);
}
