// What wakes a daemon that sleeps: runs that are due before its next poll, retries, and what a worker leaves that
// stops. No poll and no beat comes meanwhile.
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { startDaemon } from '../../src/daemon/daemon.js';
import { POLL_LISTENING_MS } from '../../src/daemon/listening.js';
import { defineJob } from '../../src/index.js';
import { openDatabase } from '../support/database.js';
import { engineOver } from '../support/engine.js';
import { openForEach, stopAfterEach } from '../support/open.js';
import { hearEach } from '../support/sleepers.js';
import { openTestTock, until } from '../support/test-tock.js';

const POLL_MS = 600_000;
/** None during the test. */
const BEAT = { expression: '0 0 1 1 *', maxPauseMs: POLL_MS };
/** A daemon that has begun to sleep polls 50 ms, 200 ms and 1 s later once more, and then needs a notification. */
const LAST_POLL_MS = 1500;
let attempts: { readonly n: string; readonly attempt: number; readonly worker: string }[];
let releases: (() => void)[];
const test = openForEach(() => openTestTock([noted]));
const database = openForEach(() => openDatabase({ connectionString: test.url }));
const daemons = stopAfterEach();

/** The same job in two workers. Where it `does` something, the first waits until it is released. */
const jobOf = (worker: string) =>
  defineJob({
    name: 'noted',
    retry: { backoff: () => '2s', maxAttempts: 2 },
    run: async (ctx, { n, does }: { n: string; does?: 'fail' | 'wait' }) => {
      attempts.push({ n, attempt: ctx.attempt, worker });
      if (worker === 'other') return;
      if (does === undefined) return;
      await new Promise<void>(resolve => {
        releases.push(resolve);
        ctx.signal.addEventListener('abort', () => resolve());
      });
      ctx.signal.throwIfAborted();
      if (does === 'fail') throw new Error('failed');
    },
  });
const noted = jobOf('first');

beforeEach(() => {
  attempts = [];
  releases = [];
});
afterEach(() => {
  for (const release of releases) release();
});

const start = async (worker = 'first', drainMs = 60_000) => {
  const engine = engineOver(database, [jobOf(worker)]);
  const settings = { ...engine.settings, drainMs };
  const daemon = await startDaemon({ ...engine, settings }, {}, POLL_MS, BEAT);
  daemons.push(daemon);
  return daemon;
};
const asleep = () => sleep(LAST_POLL_MS);
const isStarted = (n: string, attempt = 1) =>
  until(
    async () => attempts.some(each => each.n === n && each.attempt === attempt),
    `attempt ${attempt} of ${n} to start`,
  );

describe('a daemon that sleeps is woken', () => {
  it('by a run that is due soon, however it was enqueued', async () => {
    await start();
    const enqueues: Record<string, () => Promise<unknown>> = {
      one: () => test.tock.enqueue(noted, { n: 'one' }, { delay: '1s' }),
      many: () => test.tock.enqueueMany([{ job: noted, payload: { n: 'many' }, delay: '1s' }]),
      debounced: () => test.tock.enqueue(noted, { n: 'debounced' }, { key: 'a', debounce: '1s' }),
      sql: () =>
        test.sql(`select tock.enqueue('noted', '{"n": "sql"}', run_at => now() + interval '1 second')`),
    };
    for (const [n, enqueue] of Object.entries(enqueues)) {
      await asleep();
      await enqueue();
      await isStarted(n);
    }
    expect(attempts.map(({ n }) => n)).toEqual(Object.keys(enqueues));
    const [early] = await test.sql('select id from tock.job_runs where started_at < run_at');
    expect(early).toBeUndefined();
  });

  it('by the commit of a transaction that took longer than the delay', async () => {
    await start();
    await asleep();
    await database.transaction(async session => {
      await session.run(
        `select tock.enqueue('noted', '{"n": "long"}', run_at => now() + interval '1 second')`,
        [],
      );
      await sleep(1500);
    });
    await isStarted('long');
    expect(attempts).toHaveLength(1);
  });

  it('by a retry', async () => {
    const daemon = await start();
    const id = await test.tock.enqueue(noted, { n: 'again' }, { delay: '1h' });
    await test.tock.runs.cancel(id);
    await asleep();
    expect(daemon.outcomeCounts.claimed).toBe(0);
    await test.tock.runs.retry(id);
    await isStarted('again');
  });

  it('by a worker that stops, for the run that this interrupts', async () => {
    const first = await start('first', 0);
    await test.tock.enqueue(noted, { n: 'interrupted', does: 'wait' });
    await isStarted('interrupted');
    await start('other');
    await asleep();
    await first.stop();
    await until(async () => attempts.length === 2, 'the other to start it');
    expect(attempts.map(({ worker }) => worker)).toEqual(['first', 'other']);
  });

  it('by a worker that stops, for the next attempt of its runs', async () => {
    const first = await start();
    await test.tock.enqueue(noted, { n: 'failed', does: 'fail' });
    await isStarted('failed');
    await start('other');
    await asleep();
    const stopped = first.stop();
    for (const release of releases.splice(0)) release();
    await stopped;
    await isStarted('failed', 2);
    expect(attempts.map(({ worker }) => worker)).toEqual(['first', 'other']);
  });

  it('by a worker that waits for its last run to end, for the next attempt of another', async () => {
    const first = await start();
    await test.tock.enqueue(noted, { n: 'long', does: 'wait' });
    await isStarted('long');
    await test.tock.enqueue(noted, { n: 'failed', does: 'fail' });
    await isStarted('failed');
    await start('other');
    await asleep();
    const stopped = first.stop();
    const [endLong, endFailed] = releases.splice(0);
    endFailed?.();
    await isStarted('failed', 2);
    expect(attempts.at(-1)?.worker).toBe('other');
    expect(first.outcomeCounts.succeeded).toBe(0);
    endLong?.();
    await stopped;
  });

  it('by a worker that stops, for the slot of a queue that its last run has freed', async () => {
    await test.tock.queues.set('default', { concurrency: 1 });
    const first = await start();
    await test.tock.enqueue(noted, { n: 'last', does: 'wait' });
    await isStarted('last');
    await start('other');
    await test.tock.enqueue(noted, { n: 'next' });
    await asleep();
    const stopped = first.stop();
    await sleep(200);
    for (const release of releases.splice(0)) release();
    await stopped;
    await isStarted('next');
    expect(attempts.at(-1)).toMatchObject({ n: 'next', worker: 'other' });
  });
});

describe('no daemon is woken', () => {
  const heard = hearEach(test, database);

  it('by a run that the next poll finds in time', async () => {
    const [row] = await test.sql(
      `select extract(epoch from tock.next_poll_at() - tock.now())::integer * 1000 as ms`,
    );
    expect(row?.['ms']).toBe(POLL_LISTENING_MS + 1000);
    const enqueueAll = async (delay: `${number}s`) => {
      await test.tock.enqueue(noted, { n: 'one' }, { delay, priority: 3 });
      await test.tock.enqueueMany([{ job: noted, payload: { n: 'many' }, delay }]);
      await test.tock.enqueue(noted, { n: 'debounced' }, { key: delay, debounce: delay });
      await test.sql(`select tock.enqueue('noted', '{"n": "sql"}', run_at => now() + $1::interval)`, [delay]);
    };
    await enqueueAll('7s');
    expect(await heard()).toEqual([]);
    await enqueueAll('5s');
    expect(await heard()).toEqual(['soon', 'soon', 'soon', 'soon']);
  });

  it('by a run that is replaced and due no sooner', async () => {
    // Else the time between two of them counts.
    await test.setClock(new Date().toISOString());
    const debounce = async (key: string, ms: number) =>
      await test.tock.enqueue(noted, { n: key }, { key, debounce: ms });
    await debounce('a', 2000);
    expect(await heard()).toEqual(['soon']);
    await debounce('a', 2000);
    await debounce('a', 4000);
    expect(await heard()).toEqual([]);
    await debounce('a', 1000);
    expect(await heard()).toEqual(['soon']);
    await debounce('b', 9000);
    expect(await heard()).toEqual([]);
    await debounce('b', 1000);
    expect(await heard()).toEqual(['soon']);
    await test.sql(`update tock.job_runs_live set blocked_on = 'job:noted' where live_key = 'a'`);
    await debounce('a', 2000);
    expect(await heard()).toEqual(['soon']);
  });

  it('by a worker that has claimed nothing', async () => {
    const daemon = await start();
    await asleep();
    await heard();
    await daemon.stop();
    expect(await heard()).toEqual([]);
  });
});
