import { defineJob, Snooze } from 'pg-tock';
import { post, webhook } from '../lib/post.js';

/** Customers take turns. One that answers 429 gets nothing, from any host, until the time that it names. */
export const deliverWebhook = defineJob({
  name: 'deliver-webhook',
  queue: 'webhooks',
  payload: webhook,
  fair: { key: '$.customer' },
  rate: { limit: 50, per: '1s' },
  timeout: '30s',
  async run(ctx, payload) {
    const waitMs = await post(payload, ctx.signal);
    if (waitMs === null) return;
    await ctx.closeUntil(waitMs);
    throw new Snooze(waitMs, { reason: `${payload.customer} has answered 429` });
  },
});
