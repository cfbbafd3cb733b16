import { defineJob } from 'pg-tock';
import { z } from 'zod';

/** A trial ends after 14 days, unless its customer pays before. */
export const trial = defineJob({
  name: 'trial',
  payload: z.object({ customer: z.string() }),
  async run(ctx, { customer }) {
    const paid = await ctx.waitFor('paid', { key: customer, timeout: '14d' });
    if (!paid.timedOut) return 'paid';
    await ctx.db.updateTable('customers').set({ open: false }).where('name', '=', customer).execute();
    return 'ended';
  },
});
