// Engine: a daemon that hears in which queue and priority there is a new run takes it there, and misses nothing else.
import pg from 'pg';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createHearsay } from '../../../src/engine/claim/enqueue-hint.js';
import { type Daemon, defineJob } from '../../../src/index.js';
import { type Database, openDatabase } from '../../../src/store/connection/database.js';
import { claimNotifiedRuns } from '../../../src/store/runs/claim/claim-in-queue.js';
import { openTestTock, type TestTock, until } from '../../support/test-tock.js';

const WORKER = '00000000-0000-4000-8000-000000000001';
const quick = defineJob({ name: 'quick', run: () => 'done' });
const limited = defineJob({ name: 'limited', concurrency: { limit: 1 }, run: () => 'done' });

let test: TestTock;
let database: Database;
let daemon: Daemon | undefined;
beforeEach(async () => {
  test = await openTestTock([quick, limited]);
  database = openDatabase({ connectionString: test.url });
});
afterEach(async () => {
  await daemon?.stop();
  daemon = undefined;
  await database.close();
  await test.close();
});

describe('what was heard since the last claim', () => {
  it('is one place, as long as all who enqueued named the same', () => {
    const hearsay = createHearsay(null);
    expect(hearsay.take()).toBe(null);
    hearsay.note({ queue: 'mail:eu', priority: -5 });
    hearsay.note({ queue: 'mail:eu', priority: -5 });
    expect(hearsay.take()).toEqual({ queue: 'mail:eu', priority: -5 });
    expect(hearsay.take()).toBe(null);
  });

  const mail = { queue: 'mail', priority: 0 };

  it.each([
    ['another queue', { queue: 'reports', priority: 0 }],
    ['another priority', { queue: 'mail', priority: 1 }],
    ['no place', null],
  ])('is anywhere, once somebody names %s', (_what, other) => {
    const hearsay = createHearsay(['mail', 'reports']);
    for (const place of [mail, other]) expect(hearsay.note(place)).toBe(true);
    expect(hearsay.take()).toBe(null);
    hearsay.note({ queue: 'reports', priority: 2 });
    expect(hearsay.take()).toEqual({ queue: 'reports', priority: 2 });
  });

  it('does not concern a worker that claims from other queues', () => {
    const hearsay = createHearsay(['mail']);
    expect(hearsay.note({ queue: 'theirs', priority: 0 })).toBe(false);
    expect(hearsay.note(mail)).toBe(true);
    expect(hearsay.take()).toEqual(mail);
  });
});

describe('a claim where somebody has told of a run', () => {
  const claim = (limit = 10) =>
    claimNotifiedRuns(
      database,
      { limit, workerId: WORKER, leaseMs: 60_000, queues: null },
      { queue: 'mail', priority: 3 },
    );
  const enqueue = async (queue: string, priority: number) =>
    await test.tock.enqueue(quick, {}, { queue, priority });

  it('takes what is due there, in its order, and nothing of other queues and priorities', async () => {
    const ids = [await enqueue('mail', 3), await enqueue('mail', 3), await enqueue('mail', 3)];
    await enqueue('mail', 4);
    await enqueue('other', 3);
    await test.tock.enqueue(quick, {}, { queue: 'mail', priority: 3, delay: '1h' });
    const first = await claim(2);
    expect([first.runs.map(run => run.id), first.hasMore]).toEqual([ids.slice(0, 2), true]);
    const second = await claim(2);
    expect([second.runs.map(run => run.id), second.hasMore]).toEqual([ids.slice(2), false]);
    expect((await claim()).runs).toEqual([]);
  });

  it.each([
    ['paused', async () => await test.tock.queues.pause('mail')],
    ['limited', async () => await test.tock.queues.set('mail', { concurrency: 1 })],
  ])('takes nothing where the queue is %s', async (_what, settle) => {
    await enqueue('mail', 3);
    await settle();
    expect((await claim()).runs).toEqual([]);
  });

  it('leaves what needs a place under a limit', async () => {
    await test.tock.enqueue(limited, {}, { queue: 'mail', priority: 3 });
    expect((await claim()).runs).toEqual([]);
  });
});

describe('a daemon', () => {
  const isDone = async (id: string) => (await test.tock.runs.get(id))?.status === 'succeeded';

  it('is told of one run in which queue and priority it is', async () => {
    const listener = new pg.Client({ connectionString: test.url });
    await listener.connect();
    const heard: string[] = [];
    listener.on('notification', notice => heard.push(notice.payload ?? ''));
    await listener.query('listen tock');
    await test.tock.enqueue(quick, {}, { queue: 'mail', priority: -2 });
    await test.tock.enqueue(quick, {}, { queue: 'mail', delay: '1h' });
    await test.tock.enqueueMany([{ job: quick }, { job: quick }]);
    await until(async () => heard.includes('queued'), 'the last one to be heard');
    expect(heard).toEqual(['queued:-2:mail', 'queued']);
    await listener.end();
  });

  it('finds what it was not told of, right after what it was told of', async () => {
    daemon = await test.another().start();
    const first = await test.tock.enqueue(quick);
    await until(() => isDone(first), 'the first one to end');
    // By hand and without a word, in a priority that goes first; and one that needs a place.
    await test.sql(
      `insert into tock.job_runs_live (job, payload, priority, status) values ('quick', '{}', -9, 'queued')`,
    );
    const place = await test.tock.enqueue(limited);
    const told = await test.tock.enqueue(quick);
    await until(async () => (await isDone(place)) && (await isDone(told)), 'what it was told of to end');
    await until(async () => (await test.sql(`select from tock.job_runs_live`)).length === 0, 'all to end');
    expect(daemon.tally).toMatchObject({ succeeded: 4, lost: 0 });
  });

  it('takes a run in a queue with settings too, by the look that follows', async () => {
    await test.tock.queues.set('mail', { concurrency: 1 });
    daemon = await test.another().start();
    const first = await test.tock.enqueue(quick);
    await until(() => isDone(first), 'the first one to end');
    const id = await test.tock.enqueue(quick, {}, { queue: 'mail' });
    await until(() => isDone(id), 'the run to end');
    await until(() => Promise.resolve(daemon?.tally.succeeded === 2), 'both to be counted');
    expect(daemon.tally).toMatchObject({ lost: 0 });
  });
});
