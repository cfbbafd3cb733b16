import { defineJob } from 'pg-tock';
import { z } from 'zod';

/** Ships an order once it is paid. The payment may come first. */
export const shipOrder = defineJob({
  name: 'ship-order',
  payload: z.object({ order: z.string() }),
  async run(ctx, { order }) {
    const { payload } = await ctx.waitFor('paid', { key: order });
    await ctx.once(`ship ${order}`, async trx => {
      await trx.insertInto('shipments').values({ order_id: order, cents: payload.cents }).execute();
    });
  },
});
