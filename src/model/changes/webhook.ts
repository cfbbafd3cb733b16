// The webhooks of a process's jobs, and the job of Tock's own that delivers each.
import type { AnyJob } from '../job/job.js';
import type { Registry } from '../job/registry.js';
import type { Change } from './change.js';
import { readChangesOption, WEBHOOK_PREFIX, type Webhook } from './changes-option.js';

/** One of its own: no backlog of another queue holds them up, and a pause of it holds up all of them. */
export const WEBHOOK_QUEUE = 'tock:webhooks';

/** Each webhook has a job of its own, so that alerts tell them apart. */
export const webhookJobName = (job: string) => `${WEBHOOK_PREFIX}${job}`;

/** The job whose changes a job of Tock's own delivers; null: it is no such name. */
export const followedBy = (name: string) =>
  name.startsWith(WEBHOOK_PREFIX) ? name.slice(WEBHOOK_PREFIX.length) : null;

/** A job whose changes are posted. */
export interface WebhookedJob {
  readonly job: string;
  /** The job's name and its aliases, which its runs may have. */
  readonly names: readonly string[];
  readonly webhook: Webhook;
}

/** Null: it has none. */
export function webhookOf({ name, aliases = [], changes }: AnyJob): WebhookedJob | null {
  const webhook = readChangesOption(changes, name)?.webhook ?? null;
  return webhook && { job: name, names: [name, ...aliases], webhook };
}

/** In the order of their names. Mostly none. */
export function webhooksOf({ jobs }: Pick<Registry, 'jobs'>): WebhookedJob[] {
  const found: WebhookedJob[] = [];
  for (const job of jobs.values()) {
    if (job.changes === undefined || typeof job.changes === 'boolean') continue;
    const webhooked = webhookOf(job);
    if (webhooked !== null) found.push(webhooked);
  }
  return found.sort((a, b) => (a.job < b.job ? -1 : 1));
}

/** What is posted: `type`, `timestamp` and `data`, as the Standard Webhooks specification has it. */
export interface WebhookMessage {
  /** The same whenever it is sent. */
  readonly id: string;
  readonly body: { readonly type: string; readonly timestamp: string; readonly data: object };
}

/** A fail-over may give a position again, to another change: so the id has its time too. */
export function messageOf(change: Change): WebhookMessage {
  return {
    id: `${change.cursor}-${change.at.getTime().toString(36)}`,
    body: { type: 'tock.change', timestamp: change.at.toISOString(), data: change },
  };
}

/**
 * Says that the changes between two cursors were deleted, among which some of the job may have been that were
 * to be delivered. The id has the job: the webhooks of several may have one receiver.
 * @param at epoch milliseconds
 */
export function goneMessage(job: string, after: string, until: string, at: number): WebhookMessage {
  return {
    id: `${until}-gone-${job}`,
    body: {
      type: 'tock.changes.gone',
      timestamp: new Date(at).toISOString(),
      data: { job, after, until },
    },
  };
}
