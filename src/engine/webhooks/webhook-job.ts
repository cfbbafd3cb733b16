// The job that delivers the changes of a job's runs to its webhook: an ordinary one, with retries, in the
// history. It never gives up: what it cannot deliver now, it can once the receiver, or an option, is right.
import { followedBy, WEBHOOK_QUEUE, webhookJobName, webhookOf } from '../../model/changes/webhook.js';
import { defineJob } from '../../model/job/define-job.js';
import type { AnyJob } from '../../model/job/job.js';
import type { Registry } from '../../model/job/registry.js';

/** With the backoff below, for years: changes are kept for a week. */
const MAX_ATTEMPTS = 1_000_000;

/** Undefined: it is no such name, or this process does not have the job whose changes it delivers. */
export function webhookJob(
  { jobs, aliases }: Pick<Registry, 'jobs' | 'aliases'>,
  name: string,
): AnyJob | undefined {
  const followed = followedBy(name);
  if (followed === null) return undefined;
  const job = jobs.get(followed) ?? aliases?.get(followed);
  if (job === undefined) return undefined;
  const webhooked = webhookOf(job);
  return defineJob({
    name,
    description: `Posts what becomes of the runs of ${followed} to its webhook.`,
    queue: WEBHOOK_QUEUE,
    retry: { maxAttempts: MAX_ATTEMPTS, backoff: 'exponential', base: '5s', max: '10m' },
    logs: { level: 'warn' },
    async run(ctx) {
      if (webhooked === null) return { delivered: 0, note: `job ${followed} has no webhook any more` };
      if (job.name !== followed)
        return {
          delivered: 0,
          note: `${followed} is job ${job.name} now: ${webhookJobName(job.name)} goes on`,
        };
      const { deliverChanges } = await import('./deliver.js');
      return await deliverChanges(ctx, webhooked);
    },
  });
}
