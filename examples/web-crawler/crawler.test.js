// The real engine with a worker, and a small web site.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { openTestTock } from 'pg-tock/testing';
import { jobs, queues } from './jobs/index.js';
import { openSmallSite } from './lib/small-site.js';
import { TABLES } from './lib/tables.js';

/** @param now absent: the clock runs, at real time */
async function open(t, options, now) {
  const site = await openSmallSite(options);
  process.env.REPORT_URL = `${site.url}report`;
  const kit = await openTestTock({ jobs, queues, ...(now && { now }) });
  t.after(async () => {
    await kit.close();
    site.close();
  });
  await kit.sql(TABLES);
  return { site, kit };
}

test('visits each page once, two at a time, and reports once', async t => {
  const { site, kit } = await open(t, { pages: 30 });
  await kit.tock.start({ concurrency: 10 });
  const id = await kit.tock.enqueue('crawl-site', { url: site.url });
  const run = await kit.tock.runs.wait(id);
  assert.equal(run.status, 'succeeded');
  assert.deepEqual(run.output, { pages: 30 });
  assert.equal(run.progress.stage, '30 of 30 pages');
  assert.equal(site.visits.size, 30);
  assert.deepEqual([...new Set(site.visits.values())], [1]);
  assert.ok(site.mostAtOnce() <= 2);
  assert.deepEqual(site.reports, [{ crawl: id, url: site.url, pages: 30 }]);
});

test('gives up a page that stays broken, so that its crawl can finish', async t => {
  const { site, kit } = await open(t, { pages: 3, broken: ['/page/2'] }, '2026-03-02T12:00:00Z');
  const url = `${site.url}page/2`;
  await kit.sql("insert into crawls values ('1')");
  await kit.sql('insert into pages values ($1, $2)', ['1', url]);
  await kit.tock.enqueue('crawl-page', { crawl: '1', url });
  const ended = await kit.advanceTo('2026-03-02T13:00:00Z');
  assert.deepEqual(
    ended.map(({ job, status }) => `${job} ${status}`),
    ['crawl-page dead', 'give-up-page succeeded'],
  );
  assert.equal(site.visits.get('/page/2'), 4);
  assert.deepEqual(await kit.sql('select status from pages'), [{ status: 0 }]);
});

test('a crawl that is cancelled visits no more pages, and reports nothing', async t => {
  const { site, kit } = await open(t, { pages: 400, delayMs: 200 });
  await kit.tock.start({ concurrency: 10 });
  const id = await kit.tock.enqueue('crawl-site', { url: site.url });
  while (site.visits.size < 5) await sleep(20);
  await kit.tock.runs.cancel(id);
  assert.equal((await kit.tock.runs.wait(id)).status, 'cancelled');
  while ((await kit.tock.runs.list({ job: 'crawl-page', status: ['queued', 'running'] })).length > 0)
    await sleep(20);
  assert.ok(site.visits.size < 200);
  assert.deepEqual(site.reports, []);
});

test('a crawl goes on after its worker has died', async t => {
  const { site, kit } = await open(t, { pages: 15 });
  let deaths = 1;
  kit.changeContext('crawl-site', ctx => ({
    step: async (name, work) => {
      const result = await ctx.step(name, work);
      if (deaths-- > 0) await kit.loseLease(ctx.runId);
      return result;
    },
  }));
  await kit.tock.start({ concurrency: 10 });
  const id = await kit.tock.enqueue('crawl-site', { url: site.url });
  const run = await kit.tock.runs.wait(id);
  assert.equal(run.status, 'succeeded');
  assert.equal(run.attempts, 2);
  assert.deepEqual([...new Set(site.visits.values())], [1]);
  assert.equal(site.reports.length, 1);
});
