// The daemon: woken by NOTIFY, by the clock and by polling; and back after the database was away.
// In the check: daemons that poll, sleep and wake by the real clock.
import pg from 'pg';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { startDaemon } from '../../src/daemon/daemon.js';
import { type Daemon, defineJob } from '../../src/index.js';
import { startWithEngine } from '../../src/tock/engine-of.js';
import { openForEach } from '../support/open.js';
import { openRecorder } from '../support/recorded-connection.js';
import { insertSleeper } from '../support/sleepers.js';
import { reuseTestTock, until } from '../support/test-tock.js';

const events: string[] = [];
const logger = {
  debug: () => undefined,
  info: (fields: { event?: string }) => events.push(fields.event ?? ''),
  warn: (fields: { event?: string }) => events.push(fields.event ?? ''),
  error: (fields: { event?: string }) => events.push(fields.event ?? ''),
  child: () => logger,
};
const quick = defineJob({ name: 'quick', run: () => 'done' });
const approves = defineJob({ name: 'approves', run: ctx => ctx.handOff({ lease: '1d' }) });
const everySecond = defineJob({
  name: 'every-second',
  // A busy machine may need more than a second for one of them.
  schedule: { every: '1s', catchup: 'all', overlap: 'allow_all' },
  run: ctx => ctx.scheduledFor?.toISOString(),
});

const test = openForEach(() => reuseTestTock([quick, approves], { logger }));
let daemon: Daemon | undefined;
beforeEach(() => {
  events.length = 0;
});
afterEach(async () => {
  await daemon?.stop();
  daemon = undefined;
});
const ended = (id: string) =>
  until(async () => (await test.tock.runs.get(id))?.finishedAt, `run ${id} to end`);

describe('tock.start', () => {
  it('writes what another system has decided about a run that is handed off', async () => {
    daemon = await test.tock.start();
    const id = await test.tock.enqueue(approves);
    await until(async () => (await test.tock.runs.get(id))?.handOff, 'the handoff');
    await until(async () => daemon?.outcomeCounts.handedOff === 1, 'the daemon to count it');
    expect(daemon.outcomeCounts).toMatchObject({ claimed: 1, handedOff: 1, lost: 0 });
    await until(async () => (await test.sql('select from tock.sleepers')).length > 0, 'the daemon to sleep');
    expect(await test.tock.complete(id, 1, 'approved')).toBe(true);
    await ended(id);
    expect(await test.tock.runs.get(id)).toMatchObject({ status: 'succeeded', output: 'approved' });
    await until(async () => events.includes('run.succeeded'), 'the daemon to say so');
  });

  it('works with NOTIFY turned off for the database: nothing is sent, and polling finds it all', async () => {
    await test.sql(
      `do $$ begin execute format('alter database %I set pg_tock.notify = off', current_database()); end $$`,
    );
    const listener = new pg.Client({ connectionString: test.url });
    await listener.connect();
    const payloads: string[] = [];
    listener.on('notification', notification => payloads.push(notification.payload ?? ''));
    await listener.query('listen tock');
    const tock = test.another();
    daemon = await tock.start({ listen: false });
    const id = await tock.enqueue(quick);
    const [row] = await listener
      .query<{ id: string }>(`select tock.enqueue('quick') as id`)
      .then(({ rows }) => rows);
    await ended(id);
    await ended(row?.id ?? '');
    await listener.query('select 1');
    expect(payloads).toEqual([]);
    await insertSleeper(test);
    await listener.query(`select tock.enqueue('quick')`);
    expect(payloads).toEqual([]);
    await listener.query(`set pg_tock.notify = on`);
    await listener.query(`select tock.enqueue('quick')`);
    await until(async () => payloads.length > 0, 'a notification once it is on');
    await listener.end();
  });

  // Regression: without LISTEN only a heartbeat brought it.
  it.each([
    { listen: true, waiting: 0 },
    { listen: false, waiting: 0 },
    // With more runs than it has room for, it goes on claiming, and does not poll.
    { listen: false, waiting: 30 },
  ])('cancels long before its next heartbeat ($listen, $waiting waiting)', async ({ listen, waiting }) => {
    const waits = defineJob({
      name: 'waits',
      run: ctx =>
        new Promise((_resolve, reject) =>
          ctx.signal.addEventListener('abort', () => reject(ctx.signal.reason)),
        ),
    });
    const other = test.another({ jobs: [waits], lease: '20m', heartbeat: '10m', drain: '0s' });
    const id = await other.enqueue(waits);
    await other.enqueueMany(Array.from({ length: waiting }, () => ({ job: waits })));
    daemon = await other.start({ listen, concurrency: 2 });
    await until(async () => (await other.runs.get(id))?.status === 'running', 'the run to start');
    await test.tock.runs.cancel(id, { reason: 'enough' });
    await ended(id);
    expect(await test.tock.runs.get(id)).toMatchObject({ status: 'cancelled', skipReason: 'enough' });
  });

  it('comes back after all its connections were cut, says so, and loses nothing', async () => {
    daemon = await test.tock.start();
    await ended(await test.tock.enqueue(quick));
    for (let round = 0; round < 3; round++) {
      await test.sql(
        `select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and application_name = 'tock'`,
      );
      const [row] = await test.sql<{ id: string }>(`select tock.enqueue('quick') as id`);
      const done = `select 1 from tock.job_runs where id = $1 and status = 'succeeded' and attempts = 1`;
      await until(async () => (await test.sql(done, [row?.id])).length > 0, `run ${row?.id} to succeed`);
    }
    const count = (name: string) => events.filter(event => event === name).length;
    await until(
      async () => count('database.back') === count('database.away'),
      'the daemon to say that the database is back',
    );
    expect(count('run.failed')).toBe(0);
  });

  it('asks one question at a time when idle, over one connection and one that listens', async () => {
    const recorder = await openRecorder(test.url);
    try {
      // It polls often, lest the test wait for long; and neither beats nor notes that it is alive during the test.
      const tock = test.another({ connectionString: recorder.url, lease: '20m', heartbeat: '10m' });
      const beat = { expression: '0 0 1 1 *', maxPauseMs: 600_000 };
      daemon = await startWithEngine(tock, engine => startDaemon(engine, {}, 100, beat));
      // One that is prepared is named, from its second time on.
      const polls = await until(async () => {
        const last = recorder.statements().slice(-3);
        return last.length === 3 && last.every(each => each.startsWith('tock_') && each === last[0]) && last;
      }, 'three polls in a row, and nothing between');
      expect(recorder.statements().filter(each => each === polls[0]).length).toBeGreaterThan(2);
      expect(recorder.connections()).toBe(2);
      await daemon.stop();
      daemon = undefined;
    } finally {
      await recorder.close();
    }
  });

  it('takes back an expired lease, and does what was left undone, without a notification', async () => {
    daemon = await test.tock.start({ listen: false });
    const [lost] = await test.sql<{ id: string }>(
      `insert into tock.job_runs_live (job, status, attempts, locked_by, locked_until)
       values ('quick', 'running', 1, gen_random_uuid(), tock.now() - interval '1 second') returning id::text`,
    );
    await until(
      async () => (await test.tock.runs.get(lost?.id ?? ''))?.status === 'failed',
      'the lease to be taken back',
    );
    const [blocked] = await test.sql<{ id: string }>(
      `insert into tock.job_runs_live (job, status, blocked_on, slot_keys, slot_limits)
       values ('quick', 'queued', 'job:quick/', '{job:quick/}', '{1}') returning id::text`,
    );
    await ended(blocked?.id ?? '');
    expect(await test.tock.runs.get(blocked?.id ?? '')).toMatchObject({ status: 'succeeded' });
  });

  // Regression: it reaped first after each error, and claimed nothing until the reaping succeeded.
  it('goes on claiming while the server refuses to reap, and reaps once it can', async () => {
    await test.sql(`
      create function refuse() returns trigger language plpgsql as
        $$ begin raise exception 'somebody holds a lock' using errcode = 'lock_not_available'; end $$;
      create trigger refuse before update or delete on tock.job_runs_live for each row
        when (old.status = 'running' and old.locked_until < tock.now()) execute function refuse()`);
    const [lost] = await test.sql<{ id: string }>(
      `insert into tock.job_runs_live (job, status, attempts, locked_by, locked_until)
       values ('quick', 'running', 1, gen_random_uuid(), tock.now() - interval '1 second') returning id::text`,
    );
    daemon = await test.tock.start({ listen: false });
    const isRefused = () => events.some(event => event === 'reap.failed' || event === 'database.away');
    await until(async () => isRefused(), 'a reaping to be refused');
    for (let round = 0; round < 3; round++) await ended(await test.tock.enqueue(quick));
    expect([events.filter(event => event === 'reap.failed'), events.includes('database.away')]).toEqual([
      ['reap.failed'],
      false,
    ]);
    await test.sql('drop trigger refuse on tock.job_runs_live');
    const isReaped = async () => (await test.tock.runs.get(lost?.id ?? ''))?.status === 'failed';
    await until(isReaped, 'the lease to be taken back');
  });

  it('goes on claiming while the server refuses to materialize, and materializes once it can', async () => {
    const other = test.another({ jobs: [quick, everySecond] });
    daemon = await other.start();
    const occurrences = async () => (await other.runs.list({ job: 'every-second' })).length;
    await until(async () => (await occurrences()) > 0, 'an occurrence');
    await test.sql(`
      create function refuse() returns trigger language plpgsql as
        $$ begin raise exception 'somebody holds a lock' using errcode = 'lock_not_available'; end $$;
      create trigger refuse before update on tock.job_definitions for each row execute function refuse()`);
    await until(async () => events.includes('materialize.failed'), 'an occurrence to be refused');
    for (let round = 0; round < 3; round++) await ended(await test.tock.enqueue(quick));
    expect(events.filter(event => event === 'materialize.failed')).toHaveLength(1);
    expect(events).not.toContain('database.away');
    await test.sql('drop trigger refuse on tock.job_definitions');
    const before = await occurrences();
    await until(async () => (await occurrences()) > before, 'occurrences to come again');
    await until(async () => events.includes('materialize.resumed'), 'the daemon to say so');
  });

  it('shares the work with another on the same database and doubles nothing', async () => {
    daemon = await test.tock.start({ concurrency: 5 });
    const other = await test.another().start({ concurrency: 5 });
    const ids = await test.tock.enqueueMany(Array.from({ length: 400 }, () => ({ job: quick })));
    for (const id of ids) await ended(id);
    await other.stop();
    const counted = () => (daemon?.outcomeCounts.succeeded ?? 0) + other.outcomeCounts.succeeded;
    await until(async () => counted() >= 400, 'all to be counted');
    expect(counted()).toBe(400);
    const [row] = await test.sql(
      'select max(attempts) as attempts, count(*)::int as count from tock.job_runs',
    );
    expect(row).toEqual({ attempts: 1, count: 400 });
  });
});
