// A crawl: begins with one page, shows how far it is, and reports the result once all pages are done.
import { setTimeout as sleep } from 'node:timers/promises';
import { Cancel, defineJob } from 'pg-tock';
import { fromKysely } from 'pg-tock/adapters';
import { z } from 'zod';
import { addPages, countPages } from '../lib/tables.js';

const LOOK_MS = 250;

export const crawlSite = defineJob({
  name: 'crawl-site',
  payload: z.object({ url: z.url({ protocol: /^https?$/ }) }),
  retry: { maxAttempts: 20, base: '1s', max: '1m' },
  timeout: '1h',
  async run(ctx, { url }) {
    // The run's id names the crawl, so a second attempt goes on with it.
    const crawl = ctx.runId;
    await ctx.once(`crawl:${crawl}`, async trx => {
      await trx.insertInto('crawls').values({ crawl }).execute();
      const client = fromKysely(trx);
      await addPages(trx, {
        crawl,
        urls: [new URL(url).href],
        enqueue: page => ctx.enqueue('crawl-page', page, { key: `page:${crawl}:${page.url}`, client }),
      });
    });
    try {
      const pages = await untilAllAreDone(ctx, crawl);
      await ctx.step('report', () => report({ crawl, url, pages }, ctx.signal));
      return { pages };
    } catch (error) {
      // Those of its pages that still wait end when they are claimed.
      if (ctx.signal.reason instanceof Cancel)
        await ctx.db.updateTable('crawls').set({ is_cancelled: true }).where('crawl', '=', crawl).execute();
      throw error;
    }
  },
});

/** @returns how many there are */
async function untilAllAreDone(ctx, crawl) {
  for (;;) {
    const { all, done } = await countPages(ctx.db, crawl);
    ctx.progress(done / all, `${done} of ${all} pages`);
    if (done === all) return all;
    await sleep(LOOK_MS, undefined, { signal: ctx.signal });
  }
}

/** The receiver may get it twice if the process dies before the step is kept: the key says that it is the same. */
async function report(result, signal) {
  const address = process.env.REPORT_URL;
  if (!address) return;
  const response = await fetch(address, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'idempotency-key': `crawl:${result.crawl}` },
    body: JSON.stringify(result),
    signal,
  });
  if (!response.ok) throw new Error(`the report was answered with ${response.status}`);
}
