import { defineJob, Snooze } from 'pg-tock';
import { post, webhook } from '../lib/post.js';

/** The same without shares: in the order of arrival, and each run finds out by itself that its customer answers 429. */
export const deliverPlain = defineJob({
  name: 'deliver-plain',
  queue: 'plain-webhooks',
  payload: webhook,
  timeout: '30s',
  async run(ctx, payload) {
    const waitMs = await post(payload, ctx.signal);
    if (waitMs !== null) throw new Snooze(waitMs, { reason: `${payload.customer} has answered 429` });
  },
});
