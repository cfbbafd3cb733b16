// Tock's own job for schedules that were made with a URL: every worker with jobs has it.
import { Dead } from '../model/errors.js';
import { readAllowed } from '../model/http/request-spec.js';
import { readStoredRequest, STORED_REQUEST, URL_JOB } from '../model/http/stored-request.js';
import { defineJob } from '../model/job/define-job.js';
import type { AnyJob } from '../model/job/job.js';

/** Which hosts and networks requests of schedules may reach though they are private, or without TLS. */
const ALLOW_VARIABLE = 'TOCK_HTTP_ALLOW';

export function urlJob(): AnyJob {
  return defineJob({
    name: URL_JOB,
    description: 'Sends the request of a schedule that has a URL in place of a job.',
    payload: STORED_REQUEST,
    async run(ctx, payload) {
      // Who may only enqueue does not choose where this host sends requests: schedules are made by admins.
      if (ctx.definition === null)
        throw new Dead(`${URL_JOB} executes schedules only; write defineHttpJob for requests of your own`);
      const listed = process.env[ALLOW_VARIABLE]?.split(',').map(each => each.trim());
      const allow = readAllowed(listed?.filter(each => each !== '') ?? []);
      const { spec, timeoutMs } = readStoredRequest(payload, allow);
      const { runHttpJob } = await import('../engine/execute/http/http-job.js');
      return await runHttpJob(spec, ctx, null, { timeoutMs });
    },
  });
}
