// Posts changes to a webhook, one after another, in the order of their positions, and notes each that the
// receiver has taken. After a crash between the two, the next attempt posts that change again, with the same
// id.
import { cursorAt } from '../../model/changes/cursor.js';
import {
  goneMessage,
  messageOf,
  type WebhookedJob,
  type WebhookMessage,
} from '../../model/changes/webhook.js';
import { TockError } from '../../model/errors.js';
import { httpError } from '../../model/http/ending.js';
import type { HttpSpec } from '../../model/http/job-options.js';
import type { JobContext, Json } from '../../model/job/job.js';
import { numberAllChanges, readChangesPage } from '../../store/reads/changes/changes.js';
import { moveWebhook, readWebhookPlace } from '../../store/reads/changes/webhooks.js';
import { databaseOf } from '../execute/context.js';
import { runHttpJob } from '../execute/http/http-job.js';

const PAGE = 100;
/** Then another run goes on: a tick waits for this one. */
const ENOUGH_MS = 45_000;

/**
 * Delivers what there is, for a while, and what comes meanwhile. Resolves to how many were delivered.
 * @throws what hinders a request, never for good: the next attempt begins at the change that was refused
 */
export async function deliverChanges(ctx: JobContext, { job, names, webhook }: WebhookedJob): Promise<Json> {
  const database = databaseOf(ctx);
  const spec: HttpSpec = { ...webhook, method: 'POST', body: undefined, success: null };
  const post = async ({ id, body }: WebhookMessage) => {
    ctx.signal.throwIfAborted();
    await runHttpJob(spec, ctx, body, { timeoutMs: webhook.timeoutMs, id }).catch(refuseForNow);
  };
  /** Where the webhook is then: elsewhere, if a look or a worker that has lost its lease has moved it. */
  const move = async (from: number, to: number) =>
    (await moveWebhook.first(database, { job, from, to })) ??
    (await readWebhookPlace.first(database, { job }));
  let delivered = 0;
  let gone: { after: string; until: string } | null = null;
  const result = (more: object = {}): Json => ({ delivered, ...(gone === null ? {} : { gone }), ...more });

  let place = await readWebhookPlace.first(database, { job });
  const begunAt = place?.now ?? 0;
  // No row: the job has another name now.
  while (place !== undefined) {
    ctx.signal.throwIfAborted();
    const { position: after } = place;
    const deliveredBefore = delivered;
    const last = await numberAllChanges(database);
    const question = { after, limit: PAGE, jobs: names, run: null };
    const { head, changes, end } = await readChangesPage(database, question);
    if (after < head.keptAfter) {
      gone = { after: cursorAt(head.origin, after), until: cursorAt(head.origin, head.keptAfter) };
      ctx.log.error(
        { event: 'webhook.gone', ...gone },
        `changes were deleted before they could be delivered, of which some of job ${job} may be missing`,
      );
      await post(goneMessage(job, gone.after, gone.until, place.now));
      place = await move(after, head.keptAfter);
      continue;
    }
    let at: number = after;
    for (const { position, change } of changes) {
      if (webhook.kinds !== null && !webhook.kinds.includes(change.kind)) continue;
      if (place.now - begunAt >= ENOUGH_MS) return result({ note: 'another run goes on' });
      await post(messageOf(change));
      delivered++;
      place = await move(at, position);
      if (place?.position !== position) break;
      at = position;
    }
    if (place?.position !== at) continue;
    if (at < end) place = await move(at, end);
    if (end >= last && delivered === deliveredBefore) return result();
  }
  return result();
}

/** What ends an HTTP job for good is tried again here: the receiver will be put right, or the options. */
function refuseForNow(error: unknown): never {
  throw error instanceof TockError ? httpError(error.code, error.message, false) : error;
}
