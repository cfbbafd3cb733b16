// The claim that a notice causes: over the connection that listens, before the next pass, and never lost.
import { setTimeout } from 'node:timers/promises';
import pg from 'pg';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createNoticeClaim } from '../../src/daemon/notice-claim.js';
import { createEnqueueHint } from '../../src/engine/claim/enqueue-hint.js';
import type { Notified } from '../../src/engine/worker/worker-interface.js';
import { type Daemon, defineJob } from '../../src/index.js';
import type { Session } from '../../src/store/connection/database.js';
import { openTestTock, type TestTock, until } from '../support/test-tock.js';

describe('createNoticeClaim', () => {
  const PLACE = { queue: 'mail', priority: 3 };
  const TWO: Notified = { claimed: 2, isAll: true };
  const SESSION: Session = { run: () => Promise.reject(new Error('nothing is run here')) };
  interface Given {
    readonly running?: number;
    readonly isSleeping?: boolean;
    readonly session?: Session | null;
    readonly answer?: Promise<Notified> | null;
  }
  const open = ({
    running = 0,
    isSleeping = true,
    session = SESSION,
    answer = Promise.resolve(TWO),
  }: Given = {}) => {
    const done: string[] = [];
    const hint = createEnqueueHint(null);
    const worker = {
      running,
      wake: () => done.push('wake'),
      wakeAfterClaim: () => done.push('wake after a claim'),
      claimNotified: () => {
        done.push('claim');
        return answer;
      },
    };
    const claim = createNoticeClaim({ worker, hint, isSleeping: () => isSleeping, session: () => session });
    return { claim, hint, done };
  };

  it('claims at once, and wakes the worker when that is answered', async () => {
    const { claim, hint, done } = open();
    hint.record(PLACE);
    claim.start();
    expect([done, hint.isEmpty]).toEqual([['claim'], true]);
    expect(await claim.take()).toBe(TWO);
    expect([done, await claim.take()]).toEqual([['claim', 'wake after a claim'], null]);
  });

  it.each([
    ['a pass is under way', { isSleeping: false }],
    ['it executes runs', { running: 1 }],
    ['nothing listens', { session: null }],
  ])('wakes the worker where %s, and leaves the hint', async (_when, options) => {
    const { claim, hint, done } = open(options);
    hint.record(PLACE);
    claim.start();
    expect([done, hint.take(), await claim.take()]).toEqual([['wake'], PLACE, null]);
  });

  it('leaves the hint where the worker sends nothing', () => {
    const { claim, hint, done } = open({ answer: null });
    hint.record(PLACE);
    claim.start();
    expect([done, hint.take()]).toEqual([['claim', 'wake'], PLACE]);
  });

  it('sends no second claim before a pass has counted the first', () => {
    const { claim, hint, done } = open();
    hint.record(PLACE);
    claim.start();
    hint.record(PLACE);
    claim.start();
    expect([done, hint.isEmpty]).toEqual([['claim', 'wake'], false]);
  });

  it('throws in the pass what the claim has thrown', async () => {
    const { claim, hint, done } = open({ answer: Promise.reject(new Error('away')) });
    hint.record(PLACE);
    claim.start();
    await expect(claim.take()).rejects.toThrow('away');
    expect(done).toEqual(['claim', 'wake']);
  });
});

describe('a daemon', () => {
  const quick = defineJob({ name: 'quick', run: () => 'done' });
  let test: TestTock;
  let daemon: Daemon;
  let holder: pg.Client;
  beforeEach(async () => {
    test = await openTestTock([quick]);
    daemon = await test.another({ heartbeat: '100ms' }).start();
    holder = new pg.Client({ connectionString: test.url });
    await holder.connect();
    await until(async () => (await test.sql('select from tock.sleepers')).length > 0, 'the daemon to sleep');
  });
  afterEach(async () => {
    await daemon.stop();
    await holder.end();
    await test.close();
  });
  const listening = async () => {
    const [row] = await test.sql<{ pid: number }>(
      `select pid from pg_stat_activity where datname = current_database() and query = 'listen "tock"'`,
    );
    return row?.pid;
  };

  it('claims over the connection that listens, and finds the rest by its next look', async () => {
    const pid = await listening();
    const others = await test.tock.enqueueMany([
      { job: quick, delay: '200ms' },
      { job: quick, queue: 'mail', delay: '200ms' },
    ]);
    const ids = [...others];
    // A notice that arrives during a pass is left to the next pass, so it may take more than one.
    await until(async () => {
      const id = await test.tock.enqueue(quick);
      ids.push(id);
      await until(async () => (await test.tock.runs.get(id))?.status === 'succeeded', `run ${id}`);
      const [last] = await test.sql<{ query: string }>('select query from pg_stat_activity where pid = $1', [
        pid,
      ]);
      return last?.query.includes('with due as');
    }, 'a claim over the connection that listens');
    for (const id of others)
      await until(async () => (await test.tock.runs.get(id))?.status === 'succeeded', `run ${id}`);
    await until(() => Promise.resolve(daemon.outcomeCounts.succeeded === ids.length), 'the counts');
    expect(daemon.outcomeCounts).toMatchObject({ claimed: ids.length, lost: 0 });
  });

  it('releases what such a claim brings after it was told to stop', async () => {
    const pid = await listening();
    const waits = async () =>
      (await test.sql('select from pg_locks where pid = $1 and not granted', [pid])).length > 0;
    let id: string | undefined;
    // A pass that happens to be under way leaves the notice to the next one, and waits for the lock itself.
    await until(async () => {
      await holder.query('rollback');
      await holder.query('begin');
      const { rows } = await holder.query<{ id: string }>(
        `select tock.enqueue('quick', run_at => now() + interval '1 hour') as id`,
      );
      id = rows[0]?.id;
      await holder.query(`update tock.job_runs_live set run_at = tock.now()`);
      await holder.query('lock table tock.job_runs_live in exclusive mode');
      await test.sql(`select pg_notify('tock', 'queued:0:default')`);
      for (let tries = 0; tries < 100; tries++) {
        if (await waits()) return true;
        await setTimeout(20);
      }
      return false;
    }, 'the claim to wait');
    // Its restored row wakes the daemon, whose pass then waits for the claim too.
    await test.sql('delete from tock.workers');
    await until(
      async () => (await test.sql('select from tock.workers')).length > 0,
      'the row to be restored',
    );
    await setTimeout(100);
    const stopped = daemon.stop();
    await holder.query('commit');
    await stopped;
    expect(await test.sql('select id, status, attempts, locked_by from tock.job_runs_live')).toEqual([
      { id, status: 'queued', attempts: 0, locked_by: null },
    ]);
  });
});
