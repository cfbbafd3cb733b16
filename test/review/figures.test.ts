// Review: figures that disagree with the rows that they count.
import { beforeAll, expect, it } from 'vitest';
import { defineJob } from '../../src/index.js';
import { type Pages, pagesOf, words } from '../dashboard/runs-kit.js';
import { storeTest } from '../support/open.js';
import { addRuns } from '../support/runs.js';
import { reuseTestTock } from '../support/test-tock.js';

const NOW = '2026-03-02T12:00:00Z';
const mail = defineJob({ name: 'mail', run: () => undefined });
const { test } = storeTest(NOW, () => reuseTestTock([mail]));
let pages: Pages;
beforeAll(() => {
  pages = pagesOf(test.tock, { role: 'admin' });
});

it('"Dead, 24 h" leads to the runs that it counts', async () => {
  const dead = { job: 'mail', status: 'dead', attempts: 1, max_attempts: 1 };
  await addRuns(
    test,
    { ...dead, finished_at: '2026-02-20T12:00:00Z', run_at: '2026-02-20T12:00:00Z' },
    { ...dead, finished_at: '2026-03-02T11:00:00Z' },
  );
  // So that there is something to show.
  await addRuns(test, { job: 'mail' });
  const { text } = await pages.get('/');
  const [, href = '', figure] =
    /<a href="([^"]*)"><span class="name">Dead, 24 h<\/span><span class="value bad">(\d+)</.exec(text) ?? [];
  expect(figure).toBe('1');
  expect(words((await pages.get(href.replaceAll('&amp;', '&'))).text)).toMatch(/\b1 dead run\b/);
});

it('status counts no schedule as paused or broken that was removed', async () => {
  await test.tock.schedules.upsert({ name: 'nightly', job: 'mail', cron: '0 3 * * *' });
  await test.tock.schedules.pause('nightly');
  await test.sql(
    `update tock.job_definitions set broken_at = tock.now(), broken_reason = 'x' where name = 'nightly'`,
  );
  await test.tock.schedules.remove('nightly');
  expect((await test.tock.status()).definitions).toMatchObject({ paused: 0, broken: 0 });
});

it('health names no schedule that was removed', async () => {
  await test.tock.tick();
  const before = await test.tock.health();
  await test.tock.schedules.upsert({ name: 'nightly', job: 'mail', cron: '0 3 * * *' });
  await test.sql(
    `update tock.job_definitions set broken_at = tock.now(), broken_reason = 'x' where name = 'nightly'`,
  );
  await test.tock.schedules.remove('nightly');
  expect((await test.tock.health()).level).toBe(before.level);
  const { status, text } = await pages.get('/healthz');
  expect([status, text]).toEqual([200, expect.anything()]);
});

it('a group of retrying runs on Errors leads to the runs that it counts', async () => {
  const failed = {
    job: 'mail',
    status: 'failed',
    attempts: 1,
    max_attempts: 3,
    run_at: '2026-03-02T13:00:00Z',
    errors: JSON.stringify([{ name: 'Error', code: null, message: 'disk full', attempt: 1, at: NOW }]),
  };
  await addRuns(
    test,
    { ...failed, started_at: '2026-02-20T12:00:00Z' },
    { ...failed, started_at: '2026-03-02T11:00:00Z' },
  );
  const { text } = await pages.get('/errors?of=failing');
  expect(words(text)).toContain('disk full');
  const count = /<div class="e-count"><b>(\d+)/.exec(text)?.[1];
  const href = /<p class="e-message"><a href="([^"]*)"/.exec(text)?.[1]?.replaceAll('&amp;', '&') ?? '';
  const listed = (await pages.get(href)).text.match(/<tr id="run-\d+"/g)?.length;
  expect([count, String(listed)]).toEqual(['1', '1']);
});
