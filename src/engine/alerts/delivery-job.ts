// The job that delivers alerts: an ordinary one, with retries, in the history. Registered where alerts are
// configured.

import { ALERT_QUEUE } from '../../model/alerts/alert-queue.js';
import type { Alerting } from '../../model/alerts/read-alerts.js';
import { WEBHOOK_QUEUE, webhooksOf } from '../../model/changes/webhook.js';
import { defineJob } from '../../model/job/define-job.js';
import type { AnyJob } from '../../model/job/job.js';
import { DEFAULT_QUEUE, defaultQueue } from '../../model/planning/services.js';
import { RetryLater } from '../../model/run/retry.js';
import { DELIVERY_JOB } from '../../store/runs/alert-events.js';
import type { Engine } from '../engine.js';

/** With the backoff below, for about a day and a half. */
export const DELIVERY_ATTEMPTS = 40;

/**
 * Every process has it, since any may claim a delivery; one without the channel leaves it to the others.
 * @param schema of Tock's tables
 */
export function deliveryJob(alerting: Alerting | undefined, schema: string): AnyJob {
  return defineJob({
    name: DELIVERY_JOB,
    description: 'Notifies a channel of alerts that have flipped.',
    queue: ALERT_QUEUE,
    retry: { maxAttempts: DELIVERY_ATTEMPTS, backoff: 'exponential', base: '10s', max: '1h' },
    timeout: '2m',
    async run(ctx, payload) {
      const { channel: name } = payload as { readonly channel?: unknown };
      const channel = alerting?.channels.get(String(name));
      if (channel === undefined)
        throw new RetryLater(
          '20s',
          `this process has no channel ${String(name)} among its alerts: another may, or it was renamed`,
        );
      const { deliverFlips } = await import('./deliver.js');
      return await deliverFlips(ctx, channel, { schema, dashboard: alerting?.dashboard ?? null });
    },
  });
}

/**
 * The queues of a worker, which delivers alerts and changes too; `default` stands for its service's own, too.
 * One without any job of its own, as where the job module is the wrong one, delivers alerts only: it would
 * give back whatever else it claims.
 */
export function queuesOfWorker(
  queues: readonly string[] | undefined,
  { registry, alerting, settings }: Pick<Engine, 'registry' | 'alerting' | 'settings'>,
): readonly string[] | undefined {
  if (registry.jobs.size === 0) return [ALERT_QUEUE];
  if (queues === undefined) return queues;
  const hasAlerts = alerting !== undefined && alerting.rules.length > 0;
  const own = [
    ...(queues.includes(DEFAULT_QUEUE) ? [defaultQueue(settings.service)] : []),
    ...(hasAlerts ? [ALERT_QUEUE] : []),
    ...(webhooksOf(registry).length > 0 ? [WEBHOOK_QUEUE] : []),
  ];
  return [...queues, ...own.filter(queue => !queues.includes(queue))];
}
