// The page of one job: its week beside the one before, what is slower, its latest runs, and a run by hand.
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { defineJob } from '../../src/index.js';
import { addRuns, emptyTables } from '../support/runs.js';
import { reuseTestTock, type TestTock } from '../support/test-tock.js';
import { type Pages, pagesOf, words } from './runs-kit.js';

const NOW = '2026-03-16T12:00:00Z';
const mail = defineJob({ name: 'mail', run: () => undefined });
const report = defineJob({
  name: 'report',
  description: 'Writes the report of a user',
  payload: z.object({ userId: z.number().int(), mode: z.enum(['short', 'long']) }),
  run: () => undefined,
});

let test: TestTock;
let pages: Pages;
beforeAll(async () => {
  test = await reuseTestTock([mail, report]);
  pages = pagesOf(test.tock);
});
beforeEach(async () => {
  await emptyTables(test);
  await test.setClock(NOW);
  // Nothing is counted yet.
  await test.sql(
    `update tock.figures_progress set (final_until, counted_until, hours_until) = (select at, at, at from date_bin('1 hour', tock.now() - interval '20 days', 'epoch') at)`,
  );
});
afterAll(async () => await test.close());

const said = async (path: string) => words((await pages.get(path)).text.replaceAll('\u202F', ''));
/** Runs that ended a day apart from each other, so many days ago at first, and took so long. */
const ended = async (count: number, days: number, seconds: number, status = 'succeeded') =>
  await test.sql(
    `insert into tock.job_runs_finished (id, job, status, run_at, started_at, finished_at)
     select nextval('tock.job_runs_id_seq'), 'mail', $4::text, at, at, at + $3 * interval '1 second'
     from (select tock.now() - $2 * interval '1 day' + n * interval '1 minute' as at from generate_series(1, $1::int) n) t`,
    [count, days, seconds, status],
  );

describe('/jobs/:name', () => {
  it('shows this week beside the last, and says that it is slower than usual', async () => {
    await ended(40, 10, 0.4);
    await ended(30, 2, 4);
    await ended(10, 1, 4, 'dead');
    const page = await said('/jobs/mail');
    expect(page).toContain('Runs ended 40 40');
    expect(page).toContain('Dead 10, 25.0% 0 ');
    expect(page).toMatch(/Slower than usual: its median is \d+\.\d times that of the week before/);
    expect(page).toContain('Latest errors all');
  });

  it('does not call slow what is as before', async () => {
    await ended(40, 10, 4);
    await ended(40, 2, 4);
    expect(await said('/jobs/mail')).not.toContain('Slower');
  });

  it('does not compare with a week in which it ran too seldom', async () => {
    await ended(5, 10, 0.1);
    await ended(40, 2, 4);
    expect(await said('/jobs/mail')).toContain('Runs ended 40 5');
    expect(await said('/jobs/mail')).not.toContain('Slower');
  });

  it('is there for a job without runs, for one without code, and for no other', {
    tags: 'check',
  }, async () => {
    expect(await said('/jobs/mail')).toContain('No run of mail has ended in the last two weeks');
    await addRuns(test, { job: 'gone' });
    expect(await said('/jobs/gone')).toContain('The code of this dashboard does not have this job');
    expect((await pages.get('/jobs/mial')).status).toBe(404);
    expect((await pages.get('/jobs/%00')).status).toBe(404);
  });

  it('runs it by hand with a payload from a form that its schema makes', { tags: 'check' }, async () => {
    const { text } = await pages.get('/jobs/report');
    expect(text).toContain('Writes the report of a user');
    expect(text).toMatch(/name="p:userId"[^>]*required/);
    expect(text).toMatch(/<option value="long"/);
    const { to } = await pages.post('/jobs/report/run', { 'p:userId': '7', 'p:mode': 'long' });
    const run = await test.tock.runs.get(to.replace('/runs/', ''));
    expect(run).toMatchObject({ job: 'report', trigger: 'manual', payload: { userId: 7, mode: 'long' } });
  });

  it('keeps the form where the payload is refused', { tags: 'check' }, async () => {
    const { status, text } = await pages.post('/jobs/report/run', { 'p:userId': 'x', 'p:mode': 'long' });
    expect(status).toBe(400);
    expect(words(text)).toContain('userId "x" is not a number');
    expect(text).toMatch(/name="p:userId" value="x"/);
    const missing = await pages.post('/jobs/report/run', { 'p:userId': '', 'p:mode': 'long' });
    expect(missing.status).toBe(400);
    const json = await pages.post('/jobs/mail/run', { payload: '{a' });
    expect(words(json.text)).toContain('the payload is not JSON: at line 1, column 2');
    expect(await test.tock.runs.list()).toEqual([]);
  });

  it('runs one of another service by hand, under what that has registered; none that nobody has', async () => {
    const refund = defineJob({ name: 'refund', queue: 'money', priority: 3, run: () => undefined });
    const billing = test.another({ jobs: [refund], service: 'billing' });
    await billing.register();
    const { text } = await pages.get('/jobs/refund');
    expect(words(text)).toContain('This code does not have the job: its own worker checks the payload.');
    const { to } = await pages.post('/jobs/refund/run', { payload: '{"order":7}' });
    expect(await test.tock.runs.get(to.replace('/runs/', ''))).toMatchObject({
      job: 'refund',
      queue: 'money',
      priority: 3,
      payload: { order: 7 },
    });
    const refused = await pages.post('/jobs/refund/run', { payload: '{a' });
    expect([refused.status, words(refused.text)]).toEqual([400, expect.stringContaining('is not JSON')]);
    await addRuns(test, { job: 'gone' });
    expect((await pages.get('/jobs/gone')).text).not.toContain('/jobs/gone/run');
    expect((await pages.post('/jobs/gone/run', { payload: '{}' })).status).toBe(400);
  });

  it('offers no run to who may only look', async () => {
    const viewer = pagesOf(test.tock, { role: 'view' });
    expect((await viewer.get('/jobs/report')).text).not.toContain('/jobs/report/run');
    expect((await viewer.post('/jobs/report/run', { 'p:userId': '7', 'p:mode': 'long' })).status).toBe(403);
  });
});

it('the page of a definition without a schedule tells how long its job’s runs take', async () => {
  await test.sql(`insert into tock.job_definitions (name, job) values ('mail', 'mail')`);
  await ended(30, 2, 4);
  const page = await said('/schedules/mail');
  expect(page).not.toContain('No run has ended yet');
  expect(page).toContain('Runs ended 30 0');
});
