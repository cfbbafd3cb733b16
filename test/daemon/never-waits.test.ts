// A run that is due and free starts while any daemon has room for it, whatever watermarks and notifications
// have missed: at once in the ordinary cases, and five seconds later at most. In virtual time.
import pg from 'pg';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type Daemon, type DaemonOptions, startDaemon } from '../../src/daemon/daemon.js';
import { defineJob } from '../../src/index.js';
import type { Database } from '../../src/store/connection/database.js';
import { engineOver } from '../support/engine.js';
import { openForEach } from '../support/open.js';
import { addRuns } from '../support/runs.js';
import { reuseTestTock } from '../support/test-tock.js';
import { openVirtualProcess } from '../support/virtual-process.js';

const START = '2026-03-02T12:00:00Z';
/** When the minute turns is read off the host's clock: never here, so that it mends nothing. */
const BEAT = { expression: '0 0 29 2 *' };
/** A poll comes so often, and then a claim. */
const BACKSTOP_MS = 5100;
/** A complete claim comes so soon. */
const COMPLETE_MS = 1100;

/** When attempts have begun, in milliseconds of the clock, by what they note. */
let begun: Record<string, number>;
const note = (what: string) => {
  begun[what] ??= virtual.clock.now();
};
const noted = defineJob({
  name: 'noted',
  run(_ctx, { as }: { as: string }) {
    note(as);
  },
});
const long = defineJob({
  name: 'long',
  retry: { maxAttempts: 1 },
  async run({ signal }, { as, ms = 120_000 }: { as: string; ms?: number }) {
    note(as);
    await virtual.clock.sleep(ms, signal);
  },
});
const JOBS = [noted, long];
const test = openForEach(() => reuseTestTock(JOBS));
const virtual = openForEach(() => openVirtualProcess(test, START, JOBS));
let daemons: Daemon[];
let roomOfOthers: number;
let late: pg.Client | null;
beforeEach(() => {
  begun = {};
  sent = 0;
  daemons = [];
  roomOfOthers = 0;
  late = null;
});
afterEach(async () => {
  await late?.end();
  const stopped = Promise.all(daemons.map(daemon => daemon.stop()));
  await virtual.clock.advance(180_000);
  await stopped;
});

const at = (ms: number) => new Date(Date.parse(START) + ms).toISOString();
const pass = (ms: number) => virtual.clock.advance(ms);
const now = () => virtual.clock.now();

/** Each statement takes some milliseconds, on its way there and back, which is never the same. */
let sent = 0;
const slowly: Database['run'] = async (...statement) => {
  await virtual.clock.sleep(1 + ((sent++ * 7) % 5));
  const rows = await virtual.engine.database.run<never>(...statement);
  await virtual.clock.sleep(1 + ((sent++ * 7) % 5));
  return rows;
};

/** A daemon as in a process of its own, idle, and whose claims start at a watermark. */
async function startWarm({ concurrency = 2, ...options }: DaemonOptions = {}): Promise<Daemon> {
  const { clock } = virtual;
  const engine = engineOver({ ...virtual.engine.database, run: slowly }, JOBS, { clock });
  const starting = startDaemon(engine, { concurrency, ...options }, undefined, BEAT);
  await pass(500);
  const daemon = await starting;
  daemons.push(daemon);
  // The others have no room for the last one of these.
  for (let n = 0; daemon.outcomeCounts.succeeded === 0; n++) {
    if (n === 20) throw new Error(`of ${daemons.length} daemons, one takes nothing`);
    for (let run = 0; run < roomOfOthers + 1; run++)
      await test.tock.enqueue(long, { as: `warms ${now()} ${run}`, ms: 2000 });
    await pass(8000);
  }
  roomOfOthers += concurrency;
  return daemon;
}

/** A transaction that stays open until `commit`, and enqueues. Whoever sleeps is not told, unless `notifies`. */
async function enqueueLate(runs: readonly { as: string; job?: string; runAt?: string }[], notifies = true) {
  const client = new pg.Client({ connectionString: test.url });
  late = client;
  await client.connect();
  await client.query('begin');
  if (!notifies) await client.query(`set local pg_tock.notify = off`);
  for (const { as, job = 'noted', runAt } of runs)
    await test.tock.enqueue(job, { as }, { client, ...(runAt !== undefined && { runAt }) });
}
async function commit() {
  await late?.query('commit');
  await pass(0);
}
/** Others of its lane are executed meanwhile, so that the watermarks pass it. */
async function passed(ms: number) {
  for (const end = now() + ms; now() < end; await pass(Math.min(500, end - now())))
    await test.tock.enqueue(noted, { as: `passes ${now()}` });
}
/** How long after `from` each has begun. */
const waited = (from: number, ...names: readonly string[]) =>
  names.map(name => (begun[name] ?? Number.NaN) - from);
const most = (of: readonly number[]) => Math.max(...of);

describe('a run that is due starts while a worker has room', () => {
  it('which was committed late: all workers take what they have room for', async () => {
    await startWarm();
    await startWarm();
    const four = ['a', 'b', 'c', 'd'];
    await enqueueLate(four.map(as => ({ as, job: 'long' })));
    await passed(2500);
    const from = now();
    await commit();
    await pass(60_000);
    expect(most(waited(from, ...four))).toBeLessThanOrEqual(COMPLETE_MS);
  });

  it('which a daemon gives back that stops', { tags: 'check' }, async () => {
    const first = await startWarm({ concurrency: 4 });
    const four = ['a', 'b', 'c', 'd'];
    for (const as of four) await test.tock.enqueue(long, { as, ms: 600_000 });
    await pass(100);
    expect(Object.keys(begun)).toEqual(expect.arrayContaining(four));
    await startWarm();
    await startWarm();
    begun = {};
    const stopped = first.stop();
    for (let n = 0; n < 400 && first.outcomeCounts.released < 4; n++) await pass(100);
    const from = now();
    await pass(60_000);
    await stopped;
    expect(most(waited(from, ...four))).toBeLessThanOrEqual(COMPLETE_MS);
  });

  it.each([true, false])(
    'which is enqueued for the past (the daemon listens: %s)',
    { tags: 'check' },
    async listen => {
      await startWarm({ listen });
      const waits: number[] = [];
      for (let n = 0; n < 8; n++) {
        const three = ['x', 'y', 'z'].map(each => `${each}${n}`);
        const from: number[] = [];
        for (const as of three) {
          from.push(now());
          await test.tock.enqueue(noted, { as }, { runAt: at(-3_600_000) });
          await pass(n * 12);
        }
        await pass(60_000);
        waits.push(...three.map((as, index) => (begun[as] ?? Number.NaN) - (from[index] ?? 0)));
      }
      expect(most(waits)).toBeLessThanOrEqual(COMPLETE_MS);
    },
  );

  it.each([
    ['though nobody told the daemon, which slept', false, undefined],
    ['and whose time had come in its transaction', true, at(11_000)],
    ['and whose time had come in its transaction, though nobody told the daemon', false, at(11_000)],
  ])('which was committed late, %s', async (_how, notifies, runAt) => {
    await startWarm();
    await enqueueLate([{ as: 'late', ...(runAt !== undefined && { runAt }) }], notifies);
    await passed(12_000);
    await pass(20_000);
    const from = now();
    await commit();
    await pass(60_000);
    expect(most(waited(from, 'late'))).toBeLessThanOrEqual(BACKSTOP_MS);
  });

  it.each([true, false])(
    'once the rate of its key allows it (the daemon listens: %s)',
    { tags: 'check' },
    async listen => {
      await test.sql(
        `insert into tock.fair_scopes (queue, path, rate_count, rate_period_ms, rate_burst) values ('mail', '$.key', 1, 700, 1)`,
      );
      await startWarm({ listen });
      await test.tock.enqueue(long, { as: 'keeps the daemon busy' });
      const five = [0, 1, 2, 3, 4].map(n => `mail ${n}`);
      for (const as of five) await test.tock.enqueue(noted, { as, key: 'a' }, { queue: 'mail' });
      await pass(6000);
      const [first = 0] = waited(0, ...five);
      const waits = waited(first, ...five).map((ms, n) => ms - 700 * n);
      expect(most(waits)).toBeLessThanOrEqual(100);
    },
  );

  it('once the rate of its queue allows it', { tags: 'check' }, async () => {
    await test.tock.queues.set('mail', { rate: { count: 2, per: '1s' } });
    await startWarm({ concurrency: 10 });
    const waits: number[] = [];
    for (let n = 0; n < 3; n++) {
      const three = [0, 1, 2].map(each => `mail ${n} ${each}`);
      const from = now();
      await test.tock.enqueueMany(three.map(as => ({ job: noted, payload: { as }, queue: 'mail' })));
      await pass(7000 + 1100 * n);
      waits.push(...waited(from, ...three));
    }
    expect(most(waits)).toBeLessThanOrEqual(COMPLETE_MS);
  });

  it('which was materialized, though the daemon that did so is full', async () => {
    await startWarm();
    // They poll by turns.
    await pass(2500);
    await startWarm();
    await test.tock.schedules.upsert({
      name: 'often',
      job: long,
      payload: { as: 'ticks' },
      every: '10s',
      timezone: 'UTC',
      catchup: 'all',
      overlap: 'allow_all',
    });
    await test.sql(
      `update tock.job_definitions set cursor = tock.now() - interval '2 minutes', next_at = '-infinity' where name = 'often'`,
    );
    const before = daemons.map(daemon => daemon.outcomeCounts.claimed);
    const full = () =>
      daemons.filter((daemon, n) => daemon.outcomeCounts.claimed - (before[n] ?? 0) === 2).length;
    while (full() === 0 && now() < 60_000) await pass(10);
    await pass(COMPLETE_MS);
    expect(full()).toBe(2);
  });

  it.each([true, false])(
    'which waits for its code, though the daemon is busy all the time (it listens: %s)',
    { tags: 'check' },
    async listen => {
      await startWarm({ listen });
      for (let n = 0; n < 300; n++) await test.tock.enqueue(long, { as: `long ${n}`, ms: 400 });
      await pass(1000);
      const from = now();
      await addRuns(test, {
        job: 'noted',
        payload: JSON.stringify({ as: 'waits' }),
        blocked_on: 'code:noted',
      });
      await pass(20_000);
      expect(most(waited(from, 'waits'))).toBeLessThanOrEqual(BACKSTOP_MS + 800);
    },
  );

  it.each([true, false])(
    'which its claims have passed, though the daemon is busy all the time (it listens: %s)',
    async listen => {
      await startWarm({ listen });
      for (let n = 0; n < 300; n++) await test.tock.enqueue(long, { as: `long ${n}`, ms: 400 });
      await pass(3000);
      const from = now();
      await addRuns(test, {
        job: 'noted',
        payload: JSON.stringify({ as: 'passed' }),
        run_at: at(-3_600_000),
      });
      await pass(20_000);
      expect(most(waited(from, 'passed'))).toBeLessThanOrEqual(BACKSTOP_MS + 800);
    },
  );
});
