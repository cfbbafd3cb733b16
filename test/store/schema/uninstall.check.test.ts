// Store: the schema is dropped as a whole or not at all, and nothing that Tock has not made goes with it.
import { beforeEach, describe, expect, it } from 'vitest';
import { migrate } from '../../../src/store/schema/migrate.js';
import { previewUninstall, uninstall } from '../../../src/store/schema/uninstall.js';
import { openDatabase } from '../../support/database.js';
import { createTestDatabase, runAt } from '../../support/embedded-database.js';
import { openForEach } from '../../support/open.js';

const test = openForEach(createTestDatabase);
const database = openForEach(() => openDatabase({ connectionString: test.url, schema: 'jobs' }));
beforeEach(async () => {
  await migrate(database);
});

const isThere = async (name = 'jobs') =>
  (await runAt(test.url, `select to_regnamespace('${name}') is not null as yes`))[0]?.['yes'];
const WORKER = `insert into jobs.workers (id, kind, host, pid, capacity) values (gen_random_uuid(), 'daemon', 'web-1', 7, 1)`;

describe('previewUninstall', () => {
  it('counts what is lost', async () => {
    await runAt(
      test.url,
      `insert into jobs.job_runs (job, status, finished_at) values ('a', 'succeeded', jobs.now()), ('a', 'dead', jobs.now())`,
      `insert into jobs.job_runs (job, status) values ('a', 'queued'), ('a', 'queued'), ('a', 'failed')`,
      `insert into jobs.job_definitions (name, job, origin, cron) values ('b', 'a', 'runtime', '* * * * *'), ('a', 'a', 'code', null)`,
      `insert into jobs.job_keys (idempotency_key, run_id) values ('k', 1)`,
      `insert into jobs.job_queues (name, concurrency) values ('reports', 3)`,
      WORKER,
    );
    expect(await previewUninstall(database)).toMatchObject({
      schema: 'jobs',
      live: { queued: 2, running: 0, failed: 1 },
      finished: { count: 2, isEstimate: false },
      keys: { count: 1, isEstimate: false },
      occurrences: { count: 0 },
      definitions: 2,
      operatorMade: ['b'],
      limitedQueues: ['reports'],
      workers: [{ kind: 'daemon', host: 'web-1', pid: 7 }],
      roles: [],
      publications: [],
      settings: [],
    });
  });

  it('names the roles, publications and settings that remain', async () => {
    const role = `tock_reader_${Date.now()}`;
    const name = new URL(test.url).pathname.slice(1);
    await runAt(
      test.url,
      `create role ${role}`,
      `grant usage on schema jobs to ${role}`,
      'create publication history for tables in schema jobs',
      `alter database ${name} set pg_tock.notify = off`,
    );
    try {
      expect(await previewUninstall(database)).toMatchObject({
        roles: [role],
        publications: ['history'],
        settings: [`alter database ${name} reset pg_tock.notify`],
      });
      await uninstall(database);
      expect(await isThere()).toBe(false);
      expect(await runAt(test.url, 'select pubname from pg_publication')).toEqual([{ pubname: 'history' }]);
    } finally {
      await runAt(test.url, `drop schema if exists jobs cascade`, `drop role ${role}`);
    }
  });

  it('refuses a schema that is not there, with the names of those that are', async () => {
    const other = openDatabase({ connectionString: test.url, schema: 'jbos' });
    await expect(previewUninstall(other)).rejects.toMatchObject({
      code: 'TOCK_NOT_FOUND',
      message: 'there is no schema jbos; Tock’s here is jobs: set TOCK_SCHEMA',
    });
    await other.close();
  });

  it('refuses a schema that is not Tock’s', async () => {
    await runAt(test.url, 'create schema shop', 'create table shop.migrations (name text, checksum text)');
    const other = openDatabase({ connectionString: test.url, schema: 'shop' });
    const refusal = {
      code: 'TOCK_BAD_STATE',
      message: expect.stringContaining('the schema shop is not Tock’s'),
    };
    await expect(previewUninstall(other)).rejects.toMatchObject(refusal);
    await expect(uninstall(other, { force: true })).rejects.toMatchObject(refusal);
    await other.close();
    expect(await isThere('shop')).toBe(true);
  });

  it('refuses a role that is not the owner’s, and names the owner', async () => {
    const role = `tock_other_${Date.now()}`;
    await runAt(
      test.url,
      `create role ${role} login password 'secret'`,
      `grant usage on schema jobs to ${role}`,
      `grant select on all tables in schema jobs to ${role}`,
    );
    const url = new URL(test.url);
    url.username = role;
    url.password = 'secret';
    const other = openDatabase({ connectionString: url.href, schema: 'jobs' });
    try {
      await expect(previewUninstall(other)).rejects.toMatchObject({
        code: 'TOCK_FORBIDDEN',
        message: expect.stringMatching(
          new RegExp(`^the schema jobs belongs to the role \\w+, and ${role} may not drop it`),
        ),
      });
    } finally {
      await other.close();
      await runAt(test.url, `drop owned by ${role}`, `drop role ${role}`);
    }
  });
});

describe('uninstall', () => {
  it('leaves nothing of Tock, and everything else', async () => {
    await runAt(
      test.url,
      'create table public.mine (id int)',
      'create schema other',
      // As retention leaves a detached partition for the next prune.
      'create table jobs.job_runs_detached_7 (id int)',
      `comment on table jobs.job_runs_detached_7 is 'tock: detached 7'`,
    );
    await uninstall(database);
    expect(await isThere()).toBe(false);
    expect(await isThere('other')).toBe(true);
    expect(await runAt(test.url, `select to_regclass('public.mine') is not null as yes`)).toEqual([
      { yes: true },
    ]);
    expect((await migrate(database)).applied).not.toEqual([]);
  });

  it.each([
    ['a view outside', 'create view public.latest as select id from jobs.job_runs', /view latest depends on/],
    ['a table of others in it', 'create table jobs.mine (id int)', /table jobs\.mine depends on schema jobs/],
    [
      'a function of others in it',
      `create function jobs.mine() returns int language sql as 'select 1'`,
      /function jobs\.mine\(\) depends on schema jobs/,
    ],
    [
      'a trigger that uses its functions',
      'create table public.orders (id int); create trigger t after insert on public.orders for each row execute function jobs.note_retention_change()',
      /trigger t on table orders depends on function jobs\.note_retention_change\(\)/,
    ],
  ])('refuses, and changes nothing, with %s', async (_, statement, detail) => {
    await runAt(test.url, statement);
    await expect(uninstall(database, { force: true })).rejects.toMatchObject({
      code: 'TOCK_BAD_STATE',
      message: expect.stringMatching(detail) as string,
    });
    expect((await migrate(database)).applied).toEqual([]);
  });

  it('refuses while a worker is alive, also one that came after the question', async () => {
    expect((await previewUninstall(database)).workers).toEqual([]);
    await runAt(test.url, WORKER);
    await expect(uninstall(database)).rejects.toMatchObject({
      code: 'TOCK_BAD_STATE',
      message:
        'a worker is alive (daemon on web-1, pid 7): stop it first, or use --force. Nothing was changed',
    });
    expect(await isThere()).toBe(true);
    await uninstall(database, { force: true });
    expect(await isThere()).toBe(false);
  });

  it('takes a worker without a sign of life for dead', async () => {
    await runAt(test.url, WORKER, `update jobs.workers set seen_at = jobs.now() - interval '1 hour'`);
    await uninstall(database);
    expect(await isThere()).toBe(false);
  });

  it('waits for locks no longer than it says', async () => {
    const holder = openDatabase({ connectionString: test.url, schema: 'jobs' });
    await holder.transaction(async session => {
      await session.run('lock table tock.job_definitions in access share mode');
      await expect(uninstall(database)).rejects.toMatchObject({
        code: 'TOCK_BAD_STATE',
        message: expect.stringMatching(
          /^another session held locks on the schema jobs for more than 5s/,
        ) as string,
      });
    });
    await holder.close();
    expect(await isThere()).toBe(true);
  });
});
