// defineHttpJob: a job whose handler is an HTTP request.

import type { HttpOutput } from '../model/http/ending.js';
import { type HttpJobOptions, readHttpOptions } from '../model/http/job-options.js';
import type { OnDeadReference } from '../model/job/dead-run.js';
import { makeJob, namingFile } from '../model/job/define-job.js';
import type { Job } from '../model/job/job.js';
import type { StandardSchemaV1 } from '../model/job/payload/standard-schema.js';

/**
 * Defines a job that sends a request and judges the answer. It takes the options of defineJob except `run`;
 * see docs/http-jobs.md. Only public addresses are connected to, over TLS, and those that `allow` lists.
 * @throws TockError TOCK_BAD_JOB, TOCK_BAD_SCHEDULE or TOCK_BAD_DURATION; the message begins with the file
 */
export function defineHttpJob<
  const Schema extends StandardSchemaV1 = StandardSchemaV1,
  const Name extends string = string,
  OnDead extends OnDeadReference = OnDeadReference,
>(options: HttpJobOptions<Schema, Name, OnDead>): Job<Schema, HttpOutput, Name> {
  return namingFile(options, file => {
    const { job, spec } = readHttpOptions(options);
    const run: Job<Schema, HttpOutput, Name>['run'] = async (ctx, payload) => {
      // Loaded late: a tick that has nothing to do sends nothing.
      const { runHttpJob } = await import('../engine/execute/http/http-job.js');
      return await runHttpJob(spec, ctx, payload);
    };
    return makeJob<Schema, HttpOutput, Name>({ ...job, run }, file);
  });
}
