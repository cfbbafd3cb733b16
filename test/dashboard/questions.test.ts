// What a question shows is what its button does.
import { beforeAll, expect, it } from 'vitest';
import { defineJob } from '../../src/index.js';
import { storeTest } from '../support/open.js';
import { addRuns } from '../support/runs.js';
import { reuseTestTock } from '../support/test-tock.js';
import { type Pages, pagesOf, words } from './runs-kit.js';

const NOW = '2026-03-02T12:00:00Z';
const mail = defineJob({ name: 'mail', run: () => undefined });
const { test } = storeTest(NOW, () => reuseTestTock([mail]));
let pages: Pages;
beforeAll(() => {
  pages = pagesOf(test.tock, { role: 'admin' });
});

const statuses = async () =>
  (await test.sql<{ status: string }>('select status from tock.job_runs order by id')).map(row => row.status);
const hidden = (html: string) =>
  Object.fromEntries(
    [...html.matchAll(/<input type="hidden" name="([^"]*)" value="([^"]*)"/g)].map(
      ([, name = '', value = '']) => [name, value],
    ),
  );

it('"Cancel 1 run" cancels none that was enqueued after the question', async () => {
  await addRuns(test, { job: 'mail' });
  const { text } = await pages.get('/runs/cancel-all?job=mail');
  expect(words(text)).toContain('Cancel 1 run?');
  await addRuns(test, { job: 'mail' }, { job: 'mail' });
  await pages.post('/runs/cancel-all', hidden(text));
  expect(await statuses()).toEqual(['cancelled', 'queued', 'queued']);
});

it('times of a question, such as an hour ago, do not move on until its button is pressed', async () => {
  await addRuns(
    test,
    { job: 'mail', run_at: '2026-03-02T10:59:00Z' },
    { job: 'mail', run_at: '2026-03-02T11:30:00Z' },
  );
  const { text } = await pages.get('/runs/cancel-all?to=-1h');
  expect(words(text)).toContain('Cancel 1 run?');
  expect(hidden(text)).toMatchObject({ to: '2026-03-02T11:00:00.000Z' });
});

it('figures of a day on Now lead to the runs that they count', async () => {
  const ended = { job: 'mail', attempts: 1, max_attempts: 1 };
  for (const status of ['dead', 'skipped', 'succeeded'])
    await addRuns(
      test,
      { ...ended, status, finished_at: '2026-02-20T12:00:00Z', run_at: '2026-02-20T12:00:00Z' },
      { ...ended, status, finished_at: '2026-03-02T11:00:00Z' },
    );
  await addRuns(test, { job: 'mail' });
  const { text } = await pages.get('/');
  const figures = [...text.matchAll(/<a href="([^"]*)"><span class="name">(Dead|Ended|Skipped), 24 h</g)];
  for (const [, href = ''] of figures)
    expect((await pages.get(href.replaceAll('&amp;', '&'))).text.match(/<tr id="run-\d+"/g)).toHaveLength(1);
  expect(figures).toHaveLength(3);
});

it('a form of limits that was refused undoes nothing that another operator has set meanwhile', async () => {
  await test.tock.queues.set('mail', { concurrency: 1 });
  const opened = { concurrency: '5', 'was-concurrency': '5', 'was-rate': '', 'was-window': '' };
  const refused = await pages.post('/queues/mail/limits', { ...opened, rate: 'nonsense' });
  const [, form = ''] = /action="\/queues\/mail\/limits"[^>]*>([^]*?)<\/form>/.exec(refused.text) ?? [];
  const fields = [...form.matchAll(/<input[^>]*?name="([^"]*)" value="([^"]*)"/g)];
  const shown = Object.fromEntries(fields.map(([, name = '', value = '']) => [name, value]));
  const { status } = await pages.post('/queues/mail/limits', { ...shown, rate: '5/s' });
  const queue = (await test.tock.queues.list()).find(({ name }) => name === 'mail');
  expect([refused.status, status, queue?.concurrency, queue?.rate?.count]).toEqual([400, 303, 1, 5]);
});
