// Visits one page, and adds those that it links to.
import { Cancel, defineJob } from 'pg-tock';
import { fromKysely } from 'pg-tock/adapters';
import { z } from 'zod';
import { fetchPage } from '../lib/fetch-page.js';
import { addPages, countPages } from '../lib/tables.js';
import { giveUpPage } from './give-up-page.js';

const MAX_PAGES = 1000;

export const crawlPage = defineJob({
  name: 'crawl-page',
  payload: z.object({ crawl: z.string(), url: z.url() }),
  queue: 'crawl',
  concurrency: { limit: 2, key: ({ url }) => new URL(url).host },
  retry: { maxAttempts: 4, base: '5s' },
  timeout: '30s',
  logs: { level: 'warn' },
  onDead: giveUpPage,
  async run(ctx, { crawl, url }) {
    const { is_cancelled: isCancelled } = await ctx.db
      .selectFrom('crawls')
      .select('is_cancelled')
      .where('crawl', '=', crawl)
      .executeTakeFirstOrThrow();
    if (isCancelled) throw new Cancel('its crawl was cancelled');
    const { status, title, links } = await fetchPage(url, ctx.signal);
    // That it was visited, and the runs for its links: all of it or nothing.
    return await ctx.transaction(async trx => {
      await trx
        .updateTable('pages')
        .set({ status, title })
        .where('crawl', '=', crawl)
        .where('url', '=', url)
        .execute();
      const client = fromKysely(trx);
      const { all } = await countPages(trx, crawl);
      const added = await addPages(trx, {
        crawl,
        urls: links.slice(0, Math.max(0, MAX_PAGES - all)),
        enqueue: page => ctx.enqueue('crawl-page', page, { key: `page:${crawl}:${page.url}`, client }),
      });
      return { status, added };
    });
  },
});
