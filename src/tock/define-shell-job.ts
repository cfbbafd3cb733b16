// defineShellJob: a job whose handler is a command.

import type { OnDeadReference } from '../model/job/dead-run.js';
import { makeJob, namingFile } from '../model/job/define-job.js';
import type { Job } from '../model/job/job.js';
import type { StandardSchemaV1 } from '../model/job/payload/standard-schema.js';
import { readShellOptions, type ShellJobOptions, type ShellOutput } from '../model/job/shell-options.js';

/**
 * Defines a job that runs a command, in a process group of its own. It takes the options of defineJob except
 * `run`; see docs/shell-jobs.md. The command gets its run by environment variables: `TOCK_RUN_ID`,
 * `TOCK_ATTEMPT`, `TOCK_SCHEDULED_FOR`, `TOCK_PAYLOAD` and others.
 * @throws TockError TOCK_BAD_JOB, TOCK_BAD_SCHEDULE or TOCK_BAD_DURATION; the message begins with the file
 */
export function defineShellJob<
  const Schema extends StandardSchemaV1 = StandardSchemaV1,
  const Name extends string = string,
  OnDead extends OnDeadReference = OnDeadReference,
>(options: ShellJobOptions<Schema, Name, OnDead>): Job<Schema, ShellOutput, Name> {
  return namingFile(options, file => {
    const { job, spec } = readShellOptions(options);
    const run: Job<Schema, ShellOutput, Name>['run'] = async (ctx, payload) => {
      // Loaded late: a tick that has nothing to do starts no process.
      const { runShellJob } = await import('../engine/execute/shell/shell-job.js');
      return await runShellJob(spec, ctx, payload);
    };
    return makeJob<Schema, ShellOutput, Name>({ ...job, run }, file);
  });
}
