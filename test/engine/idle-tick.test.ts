// The idle tick: it may find nothing to do only where a full tick would do nothing.
import { hostname } from 'node:os';
import pg from 'pg';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { askIdleTick, sessionOver } from '../../src/engine/idle-tick.js';
import { packageVersion, projectFolder } from '../../src/environment/paths.js';
import { systemClock } from '../../src/environment/system-clock.js';
import { type AnyJob, defineJob } from '../../src/index.js';
import { createRegistry } from '../../src/model/job/registry.js';
import { readRetentionOption } from '../../src/model/planning/retention.js';
import { openForEach } from '../support/open.js';
import { openTestTock } from '../support/test-tock.js';

const plain = defineJob({ name: 'plain', run: () => null });
const yearly = defineJob({ name: 'yearly', schedule: { cron: '0 4 29 2 *' }, run: () => null });
const jobs = [plain, yearly];

const test = openForEach(() => openTestTock(jobs));
let pool: pg.Pool;
beforeEach(async () => {
  pool = new pg.Pool({ connectionString: test.url, max: 1 });
  // `end` does not wait until its connections are closed, and the database is dropped under them.
  pool.on('error', () => undefined);
  await test.tock.tick();
});
afterEach(async () => {
  await pool.end();
});

const QUESTION = {
  clock: systemClock,
  registry: createRegistry(jobs),
  service: '',
  retention: readRetentionOption(),
  queues: undefined,
  kind: 'tick',
} as const;
const over = (asked: pg.Pool) =>
  sessionOver(asked, { clock: systemClock, schema: 'tock', statementTimeoutMs: 10_000 });

const look = (options: { jobs?: readonly AnyJob[]; queues?: readonly string[] } = {}) =>
  askIdleTick({
    ...QUESTION,
    session: over(pool),
    registry: createRegistry(options.jobs ?? jobs),
    queues: options.queues,
  });

describe('askIdleTick', () => {
  it('gives the summary of an idle tick where nothing is to be done', async () => {
    const whole = await test.tock.tick();
    expect(await look()).toEqual({ ...whole, durationMs: expect.any(Number) });
  });

  it('does not mind what is to come, is paused, or is running under a lease', { tags: 'check' }, async () => {
    const [queued, running] = [
      await test.tock.enqueue(plain, {}, { delay: '1h' }),
      await test.tock.enqueue(plain),
    ];
    await test.sql(
      `update tock.job_runs_live set status = 'running', locked_by = gen_random_uuid(), locked_until = tock.now() + interval '1 hour' where id = $1`,
      [running],
    );
    await test.tock.schedules.pause('yearly');
    await test.sql(
      `update tock.job_definitions set next_at = tock.now() - interval '1 hour' where name = 'yearly'`,
    );
    expect(queued).not.toBe(running);
    expect(await look()).not.toBeNull();
  });

  it('asks only about its queues', { tags: 'check' }, async () => {
    await test.tock.enqueue(plain, {}, { queue: 'reports' });
    expect(await look({ queues: ['other'] })).not.toBeNull();
    expect(await look({ queues: ['reports'] })).toBeNull();
    await test.tock.queues.pause('reports');
    expect(await look({ queues: ['reports'] })).not.toBeNull();
  });

  it.each([
    ['a run is due', `select tock.enqueue('plain')`],
    [
      'a definition is due',
      `update tock.job_definitions set next_at = tock.now() - interval '1 second' where name = 'yearly'`,
    ],
    [
      'a lease has expired',
      `insert into tock.job_runs_live (job, status, attempts, locked_by, locked_until) values ('plain', 'running', 1, gen_random_uuid(), tock.now() - interval '1 second')`,
    ],
    [
      'a run is held by nobody',
      `insert into tock.job_runs_live (job, status, attempts) values ('plain', 'running', 1)`,
    ],
    [
      'a worker has gone',
      `insert into tock.workers (id, kind, host, pid, capacity, heartbeat_ms, seen_at) values (gen_random_uuid(), 'tick', 'h', 1, 1, 15000, tock.now() - interval '11 minutes')`,
    ],
    [
      'a run waits for a slot',
      `insert into tock.job_runs_live (job, status, blocked_on) values ('plain', 'queued', 'job:plain/')`,
    ],
    [
      'a slot was left behind',
      `insert into tock.job_slots (concurrency_key, slot, run_id, fence) values ('job:plain/', 0, 999999, 1)`,
    ],
    [
      'what was set in a queue has ended',
      `insert into tock.job_queues (name, override_ends_at) values ('mail', tock.now())`,
    ],
    ['something follows', `insert into tock.job_outbox (kind, run_id) values ('dead', 1)`],
    ['a migration is missing', `delete from tock.migrations where name like '0001%'`],
    ['the database is a copy', `update tock.database_identity set database_oid = 1`],
    ['the clock was set back', `update tock.registrations set seen_at = tock.now() + interval '6 hours'`],
    ['other definitions are in force', `update tock.registrations set fingerprint = 'another'`],
    ['the definitions are no longer in force', `update tock.registrations set is_current = false`],
    ['the schema is an older one', `alter table tock.job_runs drop column blocked_on cascade`],
    ['there is no schema', `drop schema tock cascade`],
  ])('leaves it to the whole tick where %s', { tags: 'check' }, async (_what, change) => {
    await test.sql(change);
    expect(await look()).toBeNull();
  });

  it('leaves it to the whole tick where a definition in code is new, changed or gone', {
    tags: 'check',
  }, async () => {
    const later = defineJob({ name: 'yearly', schedule: { cron: '0 5 29 2 *' }, run: () => null });
    const another = defineJob({ name: 'another', run: () => null });
    expect(await look({ jobs: [plain, yearly, another] })).toBeNull();
    expect(await look({ jobs: [plain, later] })).toBeNull();
    expect(await look({ jobs: [plain] })).toBeNull();
    expect(await look({ jobs: [] })).toBeNull();
    expect(await look()).not.toBeNull();
  });

  it('notes the tick, at most once in half a minute', { tags: 'check' }, async () => {
    await test.setClock(new Date().toISOString());
    await test.sql('delete from tock.ticks');
    const noted = async () =>
      await test.sql(
        `select host, folder, kind, tick_count::int as count, version, node, zone_data, stopped_at,
           extract(epoch from tock.now() - at)::float8 < 15 as "isNew", abs(clock_ms) < 60000 as "isRight" from tock.ticks`,
      );
    await look();
    const first = {
      host: hostname(),
      folder: projectFolder(),
      kind: 'tick',
      count: 1,
      version: packageVersion(),
      node: process.versions.node,
      zone_data: process.versions['tz'],
      stopped_at: null,
      isNew: true,
      isRight: true,
    };
    expect(await noted()).toEqual([first]);
    await test.sql(`update tock.ticks set at = tock.now() - interval '20 seconds'`);
    await look();
    expect(await noted()).toEqual([{ ...first, isNew: false }]);
    for (const change of [
      `at = tock.now() - interval '31 seconds'`,
      `at = tock.now() + interval '2 minutes'`,
      `at = tock.now() - interval '20 seconds', version = 'older'`,
      `at = tock.now() - interval '20 seconds', stopped_at = tock.now()`,
    ]) {
      await test.sql(`update tock.ticks set tick_count = 1, ${change}`);
      await look();
      expect(await noted(), change).toEqual([{ ...first, count: 2 }]);
    }
  });

  it('does not note a tick that finds something to do: the whole tick notes itself when it has done it', {
    tags: 'check',
  }, async () => {
    await test.sql('delete from tock.ticks');
    await test.tock.enqueue(plain);
    expect(await look()).toBeNull();
    expect(await test.sql('select from tock.ticks')).toEqual([]);
    await test.tock.tick();
    expect(await test.sql('select kind from tock.ticks')).toEqual([{ kind: 'library' }]);
  });

  it('is not kept from its work by a role that may not note it', { tags: 'check' }, async () => {
    await test.sql('delete from tock.ticks');
    const role = `unnoted_${process.pid}_${Date.now()}`;
    await test.sql(`create role ${role} login password 'secret'`);
    const url = new URL(test.url);
    [url.username, url.password] = [role, 'secret'];
    try {
      for (const grant of [
        'usage on schema tock',
        'select, insert, update, delete on all tables in schema tock',
        'usage on all sequences in schema tock',
        'execute on all functions in schema tock',
      ])
        await test.sql(`grant ${grant} to ${role}`);
      await test.sql(`revoke insert, update on tock.ticks from ${role}`);
      const limited = test.another({ connectionString: url.href });
      const id = await limited.enqueue(plain);
      expect(await limited.tick()).toMatchObject({ executed: { succeeded: 1 } });
      expect((await limited.runs.get(id))?.status).toBe('succeeded');
      await limited.close();
      expect(await test.sql('select from tock.ticks')).toEqual([]);
    } finally {
      await test.sql(`drop owned by ${role}`);
      await test.sql(`drop role ${role}`);
    }
  });

  it('waits neither for the disk nor for a standby at its commit', { tags: 'check' }, async () => {
    // The commit's mode is recorded by a trigger that fires at the commit itself.
    await test.sql('create table public.commits (mode text)');
    await test.sql(`create function public.record() returns trigger language plpgsql as $$ begin
      insert into public.commits values (current_setting('synchronous_commit')); return null; end $$`);
    await test.sql(`create constraint trigger record after insert or update on tock.ticks
      deferrable initially deferred for each row execute function public.record()`);
    const [row] = await test.sql<{ name: string }>('select current_database() as name');
    await test.sql(`alter database ${row?.name ?? ''} set synchronous_commit = on`);
    await test.sql('delete from tock.ticks');
    const fresh = new pg.Pool({ connectionString: test.url, max: 1 });
    fresh.on('error', () => undefined);
    try {
      await askIdleTick({ ...QUESTION, session: over(fresh) });
      expect(await test.sql('select mode from public.commits')).toEqual([{ mode: 'off' }]);
      // Only for that transaction.
      const { rows } = await fresh.query<{ mode: string }>(
        `select current_setting('synchronous_commit') as mode`,
      );
      expect(rows).toEqual([{ mode: 'on' }]);
    } finally {
      await fresh.end();
    }
  });

  it('says at once that the database is away', async () => {
    const away = new pg.Pool({ connectionString: 'postgres://nobody@127.0.0.1:1/none' });
    await expect(askIdleTick({ ...QUESTION, session: over(away) })).rejects.toThrow(/ECONNREFUSED/);
    await away.end();
  });
});
