// Review: what a question shows, and what its button does.
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

const statuses = async () =>
  (await test.sql<{ status: string }>('select status from tock.job_runs order by id')).map(row => row.status);

it('the button "Cancel 1 run" cancels no run that was enqueued after the question', async () => {
  await addRuns(test, { job: 'mail' });
  const { text } = await pages.get('/runs/cancel-all?job=mail');
  expect(words(text)).toContain('Cancel 1 run?');
  await addRuns(test, { job: 'mail' }, { job: 'mail' });
  const fields = Object.fromEntries(
    [...text.matchAll(/<input type="hidden" name="([^"]*)" value="([^"]*)"/g)].map(
      ([, name = '', value = '']) => [name, value],
    ),
  );
  await pages.post('/runs/cancel-all', fields);
  expect(await statuses()).toEqual(['cancelled', 'queued', 'queued']);
});

it('a form of limits that was refused does not undo what another operator has set meanwhile', async () => {
  await test.tock.queues.set('mail', { concurrency: 5 });
  // The form was opened with 5 at once, and its rate is wrong.
  const refused = await pages.post('/queues/mail/limits', {
    concurrency: '5',
    'was-concurrency': '5',
    rate: 'nonsense',
    'was-rate': '',
    window: '',
    'was-window': '',
    timezone: 'UTC',
    'was-timezone': 'UTC',
  });
  expect(refused.status).toBe(400);
  // As above, but another operator has set 1 at once between the opening of the form and its first press.
  await test.tock.queues.set('mail', { concurrency: 1 });
  const again = await pages.post('/queues/mail/limits', {
    concurrency: '5',
    'was-concurrency': '5',
    rate: 'nonsense',
    'was-rate': '',
    window: '',
    'was-window': '',
    timezone: 'UTC',
    'was-timezone': 'UTC',
  });
  const form =
    /<form method="post" action="\/queues\/mail\/limits" class="fields column">([^]*?)<\/form>/.exec(
      again.text,
    )?.[1] ?? '';
  const fields = Object.fromEntries(
    [...form.matchAll(/<input[^>]*?name="([^"]*)" value="([^"]*)"/g)].map(([, name = '', value = '']) => [
      name,
      value,
    ]),
  );
  await pages.post('/queues/mail/limits', { ...fields, rate: '5/s' });
  expect((await test.tock.queues.list()).find(({ name }) => name === 'mail')).toMatchObject({
    concurrency: 1,
    rate: { count: 5 },
  });
});

it.each([
  ['/doctor/forget', { host: 'a\u0000' }],
  ['/deploys/mark', { name: 'a\u0000' }],
  ['/schedules/%00/pause', {}],
  ['/schedules/%00/resume', {}],
  ['/schedules/%00/run', {}],
  ['/schedules/%00/remove', { version: '1' }],
  ['/schedules/%00/backfill', { from: '2026-03-01', to: '2026-03-02' }],
  ['/schedules/%00/skip', { at: NOW }],
  ['/schedules/%00/edit', { version: '1' }],
  ['/jobs/%00/run', {}],
  ['/queues/%00/pause', {}],
  ['/groups/1/retry', {}],
])('post %s is no 500', async (path, fields) => {
  expect((await pages.post(path, fields as Record<string, string>)).status).toBeLessThan(500);
});
