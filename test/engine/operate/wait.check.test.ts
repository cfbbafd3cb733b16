// Waiting for the end of a run. Where only a notification can end the wait, it never polls.
// In the check: daemons, and polls by the real clock.
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { startDaemon } from '../../../src/daemon/daemon.js';
import type { Engine } from '../../../src/engine/engine.js';
import { createRunEnds, type RunEnds } from '../../../src/engine/operate/run-ends.js';
import { nextPollMs, type WaitOptions, waitForEnd } from '../../../src/engine/operate/wait.js';
import { defineJob } from '../../../src/index.js';
import type { RunRecord } from '../../../src/model/run/run-record.js';
import { cancelRun, retryRun } from '../../../src/store/runs/operator-moves.js';
import { openDatabase } from '../../support/database.js';
import { engineOver } from '../../support/engine.js';
import { openForEach, stopAfterEach } from '../../support/open.js';
import { reuseTestTock, until } from '../../support/test-tock.js';

const NEVER = () => 600_000;
let started: string[];
let releases: (() => void)[];
const test = openForEach(() => reuseTestTock([held]));
const database = openForEach(() => openDatabase({ connectionString: test.url }));
let engine: Engine;
let ends: RunEnds;
const daemons = stopAfterEach();

/** Waits until it is released, unless it is quick. */
const held = defineJob({
  name: 'held',
  retry: { maxAttempts: 1 },
  run: async (ctx, { does = 'wait' }: { does?: 'wait' | 'fail' | 'pass' }) => {
    started.push(ctx.runId);
    if (does === 'wait') await new Promise<void>(resolve => releases.push(resolve));
    if (does === 'fail') throw new Error('failed');
    return 'done';
  },
});

beforeEach(() => {
  started = [];
  releases = [];
  engine = engineOver(database, [held]);
  ends = createRunEnds(engine);
});
afterEach(() => {
  for (const release of releases) release();
  ends.close();
});

const start = async () => void daemons.push(await startDaemon(engineOver(database, [held])));
const release = () => {
  for (const each of releases.splice(0)) each();
};
const isStarted = (id: string) => until(async () => started.includes(id), `run ${id} to start`);
const isListening = () =>
  until(
    async () =>
      (
        await test.sql(
          `select from pg_stat_activity where datname = current_database() and query = 'listen "tock"'`,
        )
      ).length > 0,
    'the wait to listen',
  );
const isMarked = (id: string) =>
  until(async () => {
    const [row] = await test.sql('select is_awaited as it from tock.job_runs_live where id = $1', [id]);
    return row?.['it'] === true;
  }, `run ${id} to be awaited`);
/** It is marked, and the wait listens. There is no daemon yet, which would listen too. */
const isAwaited = async (id: string) => {
  await isMarked(id);
  await isListening();
};
const waitForNotification = (id: string, options: WaitOptions = {}) =>
  waitForEnd(engine, ends, id, options, NEVER);

describe('a wait', () => {
  it('executes nothing unless it is asked to', async () => {
    const id = await test.tock.enqueue(held, { does: 'pass' });
    const seen: RunRecord[] = [];
    const controller = new AbortController();
    const waiting = test.tock.runs.wait(id, {
      signal: controller.signal,
      onChange: run => {
        seen.push(run);
        if (seen.length === 4) controller.abort();
      },
    });
    await expect(waiting).rejects.toMatchObject({
      code: 'TOCK_BAD_STATE',
      message: `stopped waiting; run ${id} is queued`,
    });
    expect([started, seen.map(run => run.status)]).toEqual([[], Array(4).fill('queued')]);
    const run = await test.tock.runs.wait(id, { execute: true });
    expect([run.status, run.output, started]).toEqual(['succeeded', 'done', [id]]);
  });

  it('ends on its signal while the handler works', { tags: 'check' }, async () => {
    await start();
    const id = await test.tock.enqueue(held, {});
    await isStarted(id);
    const controller = new AbortController();
    const waiting = test.tock.runs.wait(id, { signal: controller.signal });
    await isMarked(id);
    controller.abort();
    await expect(waiting).rejects.toMatchObject({ message: `stopped waiting; run ${id} is running` });
    expect(releases).toHaveLength(1);
  });

  it('ends on its signal while the database does not answer', async () => {
    const id = await test.tock.enqueue(held, {});
    const controller = new AbortController();
    await database.transaction(async session => {
      await session.run('select from tock.job_runs_live where id = $1 for update', [id]);
      const waiting = test.tock.runs.wait(id, { signal: controller.signal });
      await until(
        async () =>
          (
            await test.sql(
              `select from pg_stat_activity
               where datname = current_database() and wait_event_type = 'Lock' and query like '%is_awaited%'`,
            )
          ).length > 0,
        'the wait for the lock',
      );
      controller.abort();
      await expect(waiting).rejects.toMatchObject({ message: `stopped waiting; run ${id} is queued` });
    });
  });

  it('reads once where its signal has aborted before', async () => {
    const signal = AbortSignal.abort();
    const id = await test.tock.enqueue(held, { does: 'pass' });
    await expect(test.tock.runs.wait(id, { signal })).rejects.toMatchObject({ code: 'TOCK_BAD_STATE' });
    await test.tock.runs.cancel(id);
    expect((await test.tock.runs.wait(id, { signal })).status).toBe('cancelled');
  });

  it('of a run that has ended writes nothing; of none, is refused', async () => {
    const id = await test.tock.enqueue(held, {});
    await test.tock.runs.cancel(id);
    expect((await waitForNotification(id)).status).toBe('cancelled');
    expect(await test.sql('select from tock.job_runs where is_awaited is not null')).toEqual([]);
    await expect(waitForNotification('999')).rejects.toMatchObject({ code: 'TOCK_NOT_FOUND' });
  });

  it('polls more and more seldom', () => {
    expect([0, 1000, 5000, 20_000, 3_600_000].map(nextPollMs)).toEqual([250, 250, 500, 2000, 5000]);
  });

  it.each([
    ['a pool that has no connection to spare for listening', { connections: 3 }, ''],
    ['a database where notifications are off', {}, 'alter database :name set pg_tock.notify = off'],
  ])('ends also over %s', { tags: 'check' }, async (_what, options, statement) => {
    const [row] = await test.sql<{ name: string }>('select quote_ident(current_database()) as name');
    if (statement !== '') await test.sql(statement.replace(':name', row?.name ?? ''));
    const id = await test.tock.enqueue(held, {});
    const waiting = test.another(options).runs.wait(id);
    await until(
      async () => (await test.sql('select from tock.job_runs_live where is_awaited')).length > 0,
      'the wait',
    );
    await test.another().runs.cancel(id);
    expect((await waiting).status).toBe('cancelled');
  });

  it('ends when its Tock is closed', async () => {
    const tock = test.another();
    const id = await test.tock.enqueue(held, {});
    const waiting = tock.runs.wait(id).catch((error: unknown) => error);
    await isAwaited(id);
    await tock.close();
    expect(await waiting).toMatchObject({ code: 'TOCK_CLOSED' });
  });
});

describe('a notification ends the wait', () => {
  it.each(['pass', 'fail'] as const)('for a run that a worker ends: %s', { tags: 'check' }, async does => {
    const id = await test.tock.enqueue(held, { does });
    const waiting = waitForNotification(id);
    await isAwaited(id);
    await start();
    expect((await waiting).status).toBe(does === 'pass' ? 'succeeded' : 'dead');
  });

  it('for a run that is cancelled, and for all who wait for it', { tags: 'check' }, async () => {
    const id = await test.tock.enqueue(held, {});
    const waits = [waitForNotification(id), waitForNotification(id), test.another().runs.wait(id)];
    await isAwaited(id);
    await test.tock.runs.cancel(id);
    expect((await Promise.all(waits)).map(run => run.status)).toEqual(Array(3).fill('cancelled'));
  });

  it('also where an operator retried the run before the wait has polled', { tags: 'check' }, async () => {
    const id = await test.tock.enqueue(held, { does: 'pass' });
    const waiting = waitForNotification(id);
    await isAwaited(id);
    await database.transaction(async session => {
      await cancelRun(session, id, null);
      await retryRun(session, id, null);
    });
    await isAwaited(id);
    await start();
    expect(await waiting).toMatchObject({ status: 'succeeded', generation: 2 });
  });

  it('of a successor that becomes a run meanwhile', { tags: 'check' }, async () => {
    await start();
    const live = { key: 'shop', unique: 'live', replace: true } as const;
    const first = await test.tock.enqueue(held, {}, live);
    await isStarted(first);
    const next = await test.tock.enqueue(held, { does: 'pass' }, live);
    const waiting = waitForNotification(next);
    await isMarked(first);
    release();
    expect(await waiting).toMatchObject({ id: next, status: 'succeeded' });
  });

  it('or a poll, where the run ended while the connection was lost', { tags: 'check' }, async () => {
    const id = await test.tock.enqueue(held, {});
    const waiting = waitForNotification(id);
    await isAwaited(id);
    await test.sql(
      `select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and query = 'listen "tock"'`,
    );
    await test.tock.runs.cancel(id);
    expect((await waiting).status).toBe('cancelled');
  });

  it('and is sent once for each run for which somebody waits, and for no other', {
    tags: 'check',
  }, async () => {
    const notifications: string[] = [];
    const client = await database.connect();
    client.on('notification', ({ payload = '' }) => {
      if (/^(ended|mark)/.test(payload)) notifications.push(payload);
    });
    await client.query('listen tock');
    const [plain, awaited] = await test.tock.enqueueMany([
      { job: held, payload: { does: 'pass' } },
      { job: held, payload: { does: 'pass' } },
    ]);
    const waiting = waitForNotification(awaited ?? '');
    await isAwaited(awaited ?? '');
    await start();
    await waiting;
    await until(
      async () => (await test.tock.runs.get(plain ?? ''))?.status === 'succeeded',
      'the one for which nobody waits',
    );
    await test.sql(`select pg_notify('tock', 'mark')`);
    await until(async () => notifications.includes('mark'), 'the last notification');
    client.release(true);
    expect(notifications).toEqual([`ended:${awaited}`, 'mark']);
  });
});

describe('the connection that listens', () => {
  const listeners = async () =>
    (
      await test.sql(
        `select from pg_stat_activity where datname = current_database() and query = 'listen "tock"'`,
      )
    ).length;

  it('is there while somebody waits, and a little longer', async () => {
    ends = createRunEnds(engine, 0);
    expect(await listeners()).toBe(0);
    const id = await test.tock.enqueue(held, {});
    const waits = [waitForNotification(id), waitForNotification(id)];
    await isAwaited(id);
    expect(await listeners()).toBe(1);
    await test.tock.runs.cancel(id);
    await Promise.all(waits);
    await until(async () => (await listeners()) === 0, 'the connection to be given back');
  });
});
