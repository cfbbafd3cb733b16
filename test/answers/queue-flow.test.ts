// A queue that is behind, on the page, in `why` and in the answer that both use.
import { expect, it } from 'vitest';
import { readQueueFlow } from '../../src/answers/queue-flow.js';
import { defineJob } from '../../src/index.js';
import { pagesOf, words } from '../dashboard/runs-kit.js';
import { storeTest } from '../support/open.js';
import { reuseTestTock } from '../support/test-tock.js';

const NOW = '2026-03-02T12:00:00Z';
const mail = defineJob({
  name: 'mail',
  queue: 'mails',
  schedule: { cron: '0 10 * * *' },
  run: () => undefined,
});
const { test, database } = storeTest(NOW, () => reuseTestTock([mail]));

/** 120 came in the last two hours, one a minute, and wait; 240 ended, two a minute. */
async function fallBehind(): Promise<void> {
  await test.sql(`insert into tock.job_runs_live (job, queue, run_at)
    select 'mail', 'mails', tock.now() - n * interval '1 minute' from generate_series(1, 120) n`);
  await test.sql(
    'update tock.figures_progress set (final_until, counted_until, hours_until) = (tock.now(), tock.now(), tock.now())',
  );
  await test.sql(`insert into tock.figures_by_minute (at, job, queue, status, reason, run_count, occurrence_count, duration_us, wait_us)
    select tock.now() - n * interval '1 minute', 'mail', 'mails', 'succeeded', '', 2, 2, 0, 0 from generate_series(1, 120) n
    on conflict do nothing`);
}

it('is told by its rates, its length over time, and when it is empty', async () => {
  await fallBehind();
  const oldestAt = new Date('2026-03-02T10:00:00Z');
  const flow = await readQueueFlow(database, { name: 'mails', oldestAt }, { now: new Date(NOW) });
  expect(flow).toMatchObject({ recentMs: 3_600_000, inPerMinute: 1 });
  expect(flow?.outPerMinute).toBe(2);
  expect(flow?.depths.at(-1)).toBe(120);
  expect(flow?.depths[0]).toBeGreaterThan(200);
  expect(
    await readQueueFlow(database, { name: 'mails', oldestAt }, { now: new Date(NOW), limit: 119 }),
  ).toBeNull();
  const page = words((await pagesOf(test.tock).get('/queues/mails')).text);
  expect(page).toContain('How it fell behind');
  expect(page).toContain('2 a minute ended and 1 a minute came; nothing starts now');
  await test.sql(
    `insert into tock.workers (id, kind, host, pid, capacity) values ('00000000-0000-4000-8000-000000000009', 'daemon', 'h', 1, 1)`,
  );
  const served = words((await pagesOf(test.tock).get('/queues/mails')).text);
  expect(served).toMatch(/2 a minute ended and 1 a minute came; at these rates it is empty in \dh/);
  expect(served).toContain('start in the order in which they are due');
});

it('is told by why, for a run that waits in it', async () => {
  await test.tock.register();
  await fallBehind();
  await test.sql(`insert into tock.job_occurrences (definition_id, scheduled_for, run_id)
    select id, '2026-03-02T10:00:00Z', 99999 from tock.job_definitions where name = 'mail'`);
  await test.sql(`insert into tock.job_runs_live (id, definition_id, job, queue, run_at, scheduled_for, trigger)
    select 99999, id, 'mail', 'mails', '2026-03-02T10:00:00Z', '2026-03-02T10:00:00Z', 'cron' from tock.job_definitions where name = 'mail'`);
  const answer = await test.tock.why('mail', '2026-03-02T10:00:00Z');
  expect(JSON.stringify(answer)).toMatch(/its queue mails is 2h behind: in the last 1h, /);
});

it('is not told of a queue that keeps up', async () => {
  await test.sql(`insert into tock.job_runs_live (job, queue) values ('mail', 'mails')`);
  expect(words((await pagesOf(test.tock).get('/queues/mails')).text)).not.toContain('How it fell behind');
});
