// Engine: runs that wait for code, of more jobs than are looked at in one statement. More: two-versions.check.test.ts.
import { expect, it } from 'vitest';
import { defineJob } from '../../src/index.js';
import { openForEach } from '../support/open.js';
import { addRuns } from '../support/runs.js';
import { reuseTestTock } from '../support/test-tock.js';

const zzz = defineJob({ name: 'zzz', run: () => 'done' });
const test = openForEach(() => reuseTestTock([zzz]));

/** One run of each of these jobs, as a worker that lacks the job has given it back. */
const giveBack = async (names: string, queue = 'default') =>
  await test.sql(
    `insert into tock.job_runs_live (job, queue, blocked_on, status) select n, $1, 'code:' || n, 'queued' from (${names}) j(n)`,
    [queue],
  );
const MANY = `select 'a' || to_char(n, 'FM0000') from generate_series(1, 1100) n`;

// Regression: the first thousand were read, by name, and those that nobody has kept the others waiting for ever.
it('are executed by who has their job, however many jobs that nobody has come before it', async () => {
  await giveBack(MANY);
  await giveBack(`values ('zzz')`);
  expect((await test.tock.tick()).executed).toMatchObject({ claimed: 1, succeeded: 1 });
  expect((await test.tock.tick()).executed).toMatchObject({ claimed: 0 });
});

it('are executed however many that this process has, but may not start now, come before', {
  tags: 'check',
}, async () => {
  const names = (await test.sql<{ name: string }>(`select n as name from (${MANY}) j(n)`)).map(
    ({ name }) => name,
  );
  const tock = test.another({ jobs: [...names.map(name => defineJob({ name, run: () => null })), zzz] });
  await tock.queues.pause('closed');
  await giveBack(MANY, 'closed');
  await giveBack(`values ('zzz')`);
  expect((await tock.tick()).executed).toMatchObject({ claimed: 1, succeeded: 1 });
  await tock.queues.resume('closed');
  expect((await tock.tick()).executed).toMatchObject({ claimed: 1100, succeeded: 1100 });
});

// Regression: `tock run zzz --wait` beside a worker that lacks zzz waited for ever, with the code at hand.
it.each([
  ['', {}],
  [', and that needs a slot', { concurrency: { limit: 1 } }],
  [', and that has another name by now', { name: 'new', aliases: ['zzz'] }],
])('are executed by who waits for one of them and has its job%s', async (_what, more) => {
  const tock = test.another({ jobs: [defineJob({ name: 'zzz', run: () => 'done', ...more })] });
  const id = await tock.enqueue('zzz');
  // As a worker that lacks it gives it back.
  await test.sql(`update tock.job_runs_live set blocked_on = 'code:zzz' where id = $1`, [id]);
  expect(await tock.runs.wait(id, { execute: true })).toMatchObject({ status: 'succeeded', output: 'done' });
});

it('are left alone by who waits for one of them and lacks its job', async () => {
  const tock = test.another({ jobs: [defineJob({ name: 'other', run: () => null })] });
  const [id = ''] = await addRuns(test, { job: 'zzz', blocked_on: 'code:zzz' });
  const seen: number[] = [];
  const stop = new AbortController();
  const waiting = tock.runs.wait(id, {
    execute: true,
    signal: stop.signal,
    onChange: ({ fence }) => {
      if (seen.push(fence) === 2) stop.abort();
    },
  });
  await expect(waiting).rejects.toMatchObject({ code: 'TOCK_BAD_STATE' });
  expect(seen).toEqual([0, 0]);
});
