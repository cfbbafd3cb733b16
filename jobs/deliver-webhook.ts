// Delivers one event to a URL, signed (WEBHOOK_SECRET) as the Standard Webhooks specification says. Anyone
// who may enqueue it can reach what this host can reach: check URLs that customers give before enqueueing.
import { createHmac } from 'node:crypto';
import { sql } from 'kysely';
import { z } from 'zod';
import { Dead, defineJob, type JobContext, retryAfter, Snooze } from '../src/index.js';

const TIMEOUT_MS = 10_000;
const MIN_WAIT_MS = 10_000;
const MAX_WAIT_MS = 3_600_000;
/** A receiver that is busy for longer is down. */
const GIVE_UP_AFTER = '1d';
const EXCERPT_CHARACTERS = 500;

export default defineJob({
  name: 'deliver-webhook',
  description: 'Posts a signed event to a URL, and tries again while the receiver is down or busy.',
  payload: z.object({
    url: z
      .url({ protocol: /^https?$/ })
      // Asked also of what is no URL.
      .refine(url => !URL.canParse(url) || new URL(url).username === '', 'must not hold a user name'),
    /** Type of the event, such as `invoice.paid`. */
    event: z.string().min(1),
    /** What happened; posted as `{ type: event, data: body }`. */
    body: z.json(),
    /** How the receiver recognizes a repeated delivery. Default: the idempotency key, else the run's id. */
    id: z.string().min(1).optional(),
  }),
  retry: { maxAttempts: 8, backoff: 'exponential', base: MIN_WAIT_MS, max: MAX_WAIT_MS },
  timeout: '1m',
  async run(ctx, { url, event, body, id }) {
    const secret = process.env['WEBHOOK_SECRET'];
    if (!secret)
      throw new Dead("WEBHOOK_SECRET is not set: set it to the receiver's, then `tock retry` this run");
    // Of the path nothing is ever logged or kept: with many receivers it is a secret.
    const { host } = new URL(url);
    const nowMs = await readClock(ctx.db);
    // A header is ASCII; a key need not be.
    const webhookId = encodeURI(id ?? ctx.idempotencyKey ?? ctx.runId);
    const timestamp = Math.floor(nowMs / 1000);
    const content = JSON.stringify({ type: event, data: body });

    const headers = {
      'content-type': 'application/json',
      'user-agent': 'tock-deliver-webhook',
      'webhook-id': webhookId,
      'webhook-timestamp': String(timestamp),
      'webhook-signature': `v1,${sign(secret, `${webhookId}.${timestamp}.${content}`)}`,
    };
    const tooLong = AbortSignal.timeout(TIMEOUT_MS);
    const signal = AbortSignal.any([ctx.signal, tooLong]);
    const startedAt = performance.now();
    const { response, excerpt } = await post(url, { headers, body: content, signal }).catch(
      (error: unknown) => {
        ctx.signal.throwIfAborted();
        const reason = tooLong.aborted ? `${TIMEOUT_MS / 1000} s have passed` : reasonOf(error);
        throw new Error(`no answer from ${host}: ${reason}`, { cause: error });
      },
    );
    const { status, ok } = response;
    if (ok) return { status, durationMs: Math.round(performance.now() - startedAt) };

    const answer = `${host} answered ${status}: ${excerpt}`;
    const asked = status === 429 || status === 503 ? retryAfter(response) : null;
    if (asked !== null)
      throw new Snooze(Math.min(Math.max(asked, MIN_WAIT_MS), MAX_WAIT_MS), {
        reason: answer,
        giveUpAfter: GIVE_UP_AFTER,
      });
    if ([408, 425, 429].includes(status) || status >= 500) throw new Error(answer);
    throw new Dead(answer);
  },
});

/** The database's time: hosts may disagree on theirs, and receivers refuse a stamp that is minutes off. */
async function readClock(db: JobContext['db']): Promise<number> {
  const query = sql<{ ms: number }>`select extract(epoch from now())::float8 * 1000 as ms`;
  const { rows } = await query.execute(db);
  return rows[0]?.ms ?? Number.NaN;
}

/** HMAC-SHA-256 in base64. A secret of the form `whsec_…` is base64 itself, as the specification has it. */
function sign(secret: string, content: string): string {
  const key = secret.startsWith('whsec_') ? Buffer.from(secret.slice(6), 'base64') : secret;
  return createHmac('sha256', key).update(content).digest('base64');
}

async function post(url: string, request: RequestInit): Promise<{ response: Response; excerpt: string }> {
  // A redirect would carry the signed event to another host.
  const response = await fetch(url, { ...request, method: 'POST', redirect: 'manual' });
  return { response, excerpt: await readExcerpt(response) };
}

/** The first characters of the response, without reading what comes after them. */
async function readExcerpt(response: Response): Promise<string> {
  if (response.ok || response.body === null) {
    await response.body?.cancel();
    return '';
  }
  const decoder = new TextDecoder();
  let text = '';
  // Leaving the loop closes the stream.
  for await (const chunk of response.body) {
    text += decoder.decode(chunk, { stream: true });
    if (text.length >= EXCERPT_CHARACTERS) break;
  }
  return text.slice(0, EXCERPT_CHARACTERS);
}

/** fetch says "fetch failed"; what failed is in the cause. */
function reasonOf(error: unknown): string {
  const { cause = error } = error as { cause?: unknown };
  const { code, message } = cause as { code?: string; message?: string };
  return code ?? message ?? String(cause);
}
