// NOTIFY names the queue and priority of a new run: a daemon claims it there, and misses nothing else.
import pg from 'pg';
import { afterEach, describe, expect, it } from 'vitest';
import { type Daemon, defineJob } from '../../../src/index.js';
import { openForEach } from '../../support/open.js';
import { insertSleeper } from '../../support/sleepers.js';
import { reuseTestTock, until } from '../../support/test-tock.js';

const quick = defineJob({ name: 'quick', run: () => 'done' });
const limited = defineJob({ name: 'limited', concurrency: { limit: 1 }, run: () => 'done' });

const test = openForEach(() => reuseTestTock([quick, limited]));
let daemon: Daemon | undefined;
afterEach(async () => {
  await daemon?.stop();
  daemon = undefined;
});

describe('a daemon', () => {
  const isDone = async (id: string) => (await test.tock.runs.get(id))?.status === 'succeeded';

  it('is notified of the queue and priority of a single run', async () => {
    const listener = new pg.Client({ connectionString: test.url });
    await listener.connect();
    const payloads: string[] = [];
    listener.on('notification', notification => payloads.push(notification.payload ?? ''));
    await listener.query('listen tock');
    await insertSleeper(test);
    await test.tock.enqueue(quick, {}, { queue: 'mail', priority: -2 });
    await test.tock.enqueue(quick, {}, { queue: 'mail', delay: '1h' });
    await test.tock.enqueueMany([{ job: quick }, { job: quick }]);
    await until(async () => payloads.includes('queued'), 'the last notification');
    expect(payloads).toEqual(['queued:-2:mail', 'queued']);
    await listener.end();
  });

  it('finds runs without a notification right after a run with one', { tags: 'check' }, async () => {
    daemon = await test.another().start();
    const first = await test.tock.enqueue(quick);
    await until(() => isDone(first), 'the first one to end');
    // Inserted without a notification, in a priority that goes first; and one that needs a slot.
    await test.sql(
      `insert into tock.job_runs_live (job, payload, priority, status) values ('quick', '{}', -9, 'queued')`,
    );
    const slotted = await test.tock.enqueue(limited);
    const notified = await test.tock.enqueue(quick);
    await until(
      async () => (await isDone(slotted)) && (await isDone(notified)),
      'the runs with a notification to end',
    );
    await until(async () => (await test.sql(`select from tock.job_runs_live`)).length === 0, 'all to end');
    // Counted when the reply to the commit arrives, which is after the commit.
    await until(() => Promise.resolve(daemon?.outcomeCounts.succeeded === 4), 'all to be counted');
    expect(daemon.outcomeCounts).toMatchObject({ succeeded: 4, lost: 0 });
  });

  it('claims a run in a queue with settings too, after the poll that follows', {
    tags: 'check',
  }, async () => {
    await test.tock.queues.set('mail', { concurrency: 1 });
    daemon = await test.another().start();
    const first = await test.tock.enqueue(quick);
    await until(() => isDone(first), 'the first one to end');
    const id = await test.tock.enqueue(quick, {}, { queue: 'mail' });
    await until(() => isDone(id), 'the run to end');
    await until(() => Promise.resolve(daemon?.outcomeCounts.succeeded === 2), 'both to be counted');
    expect(daemon.outcomeCounts).toMatchObject({ lost: 0 });
  });
});
