// Notes that a page could not be visited: its run has ended dead, and the crawl must not wait for it.
import { defineJob } from 'pg-tock';
import { z } from 'zod';

export const giveUpPage = defineJob({
  name: 'give-up-page',
  payload: z.object({ payload: z.object({ crawl: z.string(), url: z.string() }) }),
  async run(ctx, { payload: { crawl, url } }) {
    await ctx.db
      .updateTable('pages')
      .set({ status: 0 })
      .where('crawl', '=', crawl)
      .where('url', '=', url)
      .where('status', 'is', null)
      .execute();
  },
});
