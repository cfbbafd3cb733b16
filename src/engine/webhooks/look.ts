// Sees to it that changes of jobs with a webhook are delivered: by one run for each of them, which reads what
// there is.
//
//   look                              the run                       receiver
//   numbers; charge is at 7 of 9
//   enqueues tock:webhook:charge,
//   unless such a run is live
//                                     reads 8 and 9 after 7
//                                     posts 8                       200
//                                     charge is at 8
//                                     posts 9                       503
//                                     fails: a later attempt begins after 8
import { WEBHOOK_PREFIX } from '../../model/changes/changes-option.js';
import { WEBHOOK_QUEUE, webhookJobName, webhooksOf } from '../../model/changes/webhook.js';
import { numberAllChanges } from '../../store/reads/changes/changes.js';
import { lookAtWebhooks } from '../../store/reads/changes/webhooks.js';
import type { Engine } from '../engine.js';
import { enqueueMany } from '../enqueue.js';

export interface LookedAtWebhooks {
  /** How many runs were enqueued. */
  readonly enqueued: number;
  /** Such a run waits or executes, and may end before it has read everything: look again. */
  readonly isBusy: boolean;
}

const NOTHING: LookedAtWebhooks = { enqueued: 0, isBusy: false };

/**
 * Enqueues a run for each webhook of this process's jobs that has changes to deliver, and no live run. A
 * webhook that no process has looked at begins now. Without webhooks it sends nothing. Never throws: what
 * fails is logged, and done by the next look.
 */
export async function lookForWebhooks(engine: Engine): Promise<LookedAtWebhooks> {
  const webhooks = webhooksOf(engine.registry);
  if (webhooks.length === 0) return NOTHING;
  try {
    const { database } = engine;
    const asked = webhooks.map(({ webhook: { kinds }, ...names }) => ({ ...names, kinds }));
    const last = await numberAllChanges(database);
    const pending = await lookAtWebhooks(database, asked, last, WEBHOOK_PREFIX);
    const due = pending.filter(({ run }) => run === null);
    const live = pending.flatMap(({ job, run }) =>
      run === null ? [] : [{ name: webhookJobName(job), run }],
    );
    const own = live.filter(({ name, run }) => run.job === name);
    for (const { name, run } of live)
      if (run.job !== name)
        engine.logger.warn(
          { event: 'webhook.blocked', runId: run.id, job: run.job },
          `no run of ${name} can be enqueued: run ${run.id} of job ${run.job} has the live key ${name}; cancel it, and enqueue it with another key`,
        );
    const runs = due.map(({ job }) => {
      const name = webhookJobName(job);
      return { job: name, key: name, unique: 'live', queue: WEBHOOK_QUEUE } as const;
    });
    const results = await enqueueMany({ ...engine, operator: null }, runs);
    const enqueued = results.filter(({ isNew }) => isNew).length;
    const isBusy = own.some(({ run: { status } }) => status === 'queued' || status === 'running');
    return { enqueued, isBusy: enqueued > 0 || isBusy };
  } catch (error) {
    engine.logger.warn(
      { event: 'webhooks.failed', error: String(error) },
      `whether changes are to be delivered could not be found out: ${String(error)}; the next look does it`,
    );
    return NOTHING;
  }
}
