// Chaos: a database that is copied, moved, upgraded. A copy must not tick beside its original, and nothing is lost or
// doubled by a move.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createTock, defineJob, type Tock } from '../../src/index.js';
import { CLI, startProcess } from '../support/processes.js';
import { sqlAt } from '../support/sql-at.js';
import { until } from '../support/until.js';
import { DEBIAN_BIN, type DebianServer, hasDebianPostgres, openDebianServer } from './debian-server.js';

const jobs = [
  defineJob({
    name: 'secondly',
    schedule: { every: '1s', catchup: 'all', overlap: 'allow_all' },
    run: () => 1,
  }),
  defineJob({ name: 'after-it', schedule: { after: 'secondly' }, run: () => 2 }),
  defineJob({ name: 'plain', run: () => 3 }),
];
const COPIED = { code: 'TOCK_DATABASE_COPIED' };

describe.skipIf(!hasDebianPostgres)('a database that is copied', { timeout: 180_000 }, () => {
  let server: DebianServer;
  let original: Tock;
  const opened: Tock[] = [];
  const open = (database: string) => {
    const tock = createTock({ connectionString: server.url(database), jobs, logger: false });
    opened.push(tock);
    return tock;
  };
  const sql = <Row>(database: string, text: string) => sqlAt<Row>(server.url(database), text);
  const restore = (database: string, file: string) =>
    server.call('psql', '-qX', '-v', 'ON_ERROR_STOP=1', '-d', database, '-f', file);
  const portOf = () => new URL(server.url('postgres')).port;
  /** What the run of every occurrence is, as text; an occurrence that came twice would stand there twice. */
  const history = async (database: string) =>
    await sql(
      database,
      `select id, job, status, scheduled_for::text from tock.job_runs where status <> 'queued' order by id`,
    );
  const dump = async (database: string, ...args: string[]) => {
    const file = `${server.folder}/${database}.sql`;
    await server.call('pg_dump', '-d', database, '-f', file, ...args);
    return file;
  };
  /** Every occurrence of a span has one run, and no two runs have one id. */
  const expectUnbroken = async (database: string) => {
    const [row] = await sql<{ runs: number; seconds: number; ids: number }>(
      database,
      `select count(*)::int as runs, (extract(epoch from max(scheduled_for) - min(scheduled_for)) + 1)::int as seconds,
         count(distinct id)::int as ids from tock.job_runs where job = 'secondly'`,
    );
    expect(row?.runs).toBeGreaterThan(0);
    expect(row).toEqual({ runs: row?.runs, seconds: row?.runs, ids: row?.runs });
  };

  /** Ticks until there is an occurrence more that has run. */
  const occurrence = async (tock: Tock, database: string) => {
    const count = async () =>
      Number(
        (
          await sql<{ n: string }>(
            database,
            `select count(*) as n from tock.job_runs where job = 'secondly' and status = 'succeeded'`,
          )
        )[0]?.n,
      );
    const before = await count();
    await until(async () => (await tock.tick({ budget: '1s' })) && (await count()) > before, 'an occurrence');
  };

  beforeAll(async () => {
    server = await openDebianServer(['wal_level=logical', 'max_connections=60']);
    await sql('postgres', 'create database original');
    original = open('original');
    await original.migrate();
    await original.register();
    await original.enqueue('plain', {}, { key: 'one' });
    await occurrence(original, 'original');
  });
  afterAll(async () => {
    await Promise.all(opened.map(each => each.close()));
    await server?.remove();
  });

  it('refuses to tick where it was restored from a dump, until it is adopted; then nothing comes twice', async () => {
    const before = await history('original');
    const file = await dump('original', '--schema=tock');
    await sql('postgres', 'create database restored');
    await restore('restored', file);
    const copy = open('restored');
    expect(await copy.migrate()).toMatchObject({ applied: [] });
    await expect(copy.tick()).rejects.toMatchObject(COPIED);
    await expect(copy.start()).rejects.toMatchObject(COPIED);
    await expect(copy.runs.wait(await copy.enqueue('plain', {}), { execute: true })).rejects.toMatchObject(
      COPIED,
    );
    expect((await copy.status()).isCopy).toBe(true);
    expect(await history('restored')).toEqual(before);
    expect(await copy.adopt({ dryRun: true })).toMatchObject({
      isCopy: true,
      queued: expect.any(Number),
      scheduled: 1,
    });
    await expect(copy.tick()).rejects.toMatchObject(COPIED);

    expect(await copy.adopt()).toMatchObject({ isCopy: true });
    await occurrence(copy, 'restored');
    expect((await copy.status()).isCopy).toBe(false);
    await expectUnbroken('restored');
    expect(await copy.enqueue('plain', {}, { key: 'one' })).toBe(
      await original.enqueue('plain', {}, { key: 'one' }),
    );
    // And the original goes on as if nothing had been.
    await occurrence(original, 'original');
    expect(await original.adopt()).toMatchObject({ isCopy: false });
  });

  it('says so in one line of a tick, with the command', async () => {
    await sql('postgres', `create database twin template original`).catch(async () => {
      // Its pool is still connected.
      await sql(
        'postgres',
        `select pg_terminate_backend(pid) from pg_stat_activity where datname = 'original'`,
      );
      await sql('postgres', `create database twin template original`);
    });
    const { code, stderr } = await startProcess(CLI, { DATABASE_URL: server.url('twin') }, ['tick']).ended;
    expect(stderr.trim()).toMatch(/^tock tick: this database is a copy: .* run: tock adopt$/);
    expect(code).toBe(1);
    const unasked = await startProcess(CLI, { DATABASE_URL: server.url('twin') }, ['adopt']).ended;
    expect([unasked.code, unasked.stderr]).toEqual([2, expect.stringContaining('repeat it with --yes')]);
    const adopted = await startProcess(CLI, { DATABASE_URL: server.url('twin') }, [
      'adopt',
      '--yes',
      '--json',
    ]).ended;
    expect([adopted.code, JSON.parse(adopted.stdout)]).toEqual([
      0,
      expect.objectContaining({ adopted: true }),
    ]);
    const again = await startProcess(CLI, { DATABASE_URL: server.url('twin') }, ['adopt']).ended;
    expect([again.code, again.stdout.trim()]).toEqual([
      0,
      'this database is not a copy: there is nothing to adopt',
    ]);
  });

  it('is followed by logical replication, whose other end asks, and makes no id a second time', async () => {
    const schema = await dump('original', '--schema=tock', '--schema-only');
    await sql('postgres', 'create database follower');
    await restore('follower', schema);
    await sql('original', `create publication tock for tables in schema tock`);
    await sql('original', `select pg_create_logical_replication_slot('tock', 'pgoutput')`);
    await sql(
      'follower',
      `create subscription tock connection 'host=${server.folder} port=${portOf()} user=postgres dbname=original'
       publication tock with (create_slot = false, slot_name = 'tock')`,
    );
    // Published, all that changes must have a key to be found by: ends, chains, a prune.
    await original.enqueue('plain', {});
    await original.tick({ budget: '1s' });
    await original.prune();
    await until(
      async () => JSON.stringify(await history('follower')) === JSON.stringify(await history('original')),
      'the follower to have what the original has',
    );
    const follower = open('follower');
    await expect(follower.tick()).rejects.toMatchObject(COPIED);
    await sql('follower', 'alter subscription tock disable');
    await sql('follower', 'alter subscription tock set (slot_name = none)');
    await sql('follower', 'drop subscription tock');
    await sql('original', `select pg_drop_replication_slot('tock')`);
    await follower.adopt();
    const [last] = await sql<{ id: string }>('follower', 'select max(id)::text as id from tock.job_runs');
    expect(BigInt(await follower.enqueue('plain', {}))).toBeGreaterThan(BigInt(last?.id ?? 0));
    await occurrence(follower, 'follower');
    await expectUnbroken('follower');
  });

  it('ticks on after pg_upgrade, which gives the server a new identity', async () => {
    await Promise.all(opened.splice(0).map(each => each.close()));
    await sql('postgres', 'create database unadopted template restored');
    // What writes a table anew leaves its rows as they were written.
    for (const each of ['vacuum full', 'vacuum freeze'])
      await sql('original', `${each} tock.database_identity`);
    await sql('restored', 'cluster tock.database_identity using database_identity_pkey');
    const fresh = await server.newCluster('upgraded');
    await server.stop();
    const [bins, clusters] = [
      ['-b', DEBIAN_BIN, '-B', DEBIAN_BIN],
      ['-d', server.data, '-D', fresh],
    ] as const;
    await server.call('pg_upgrade', ...bins, ...clusters, '-U', 'postgres', '--link', '-s', server.folder);
    await server.start(fresh);
    try {
      const upgraded = open('original');
      await occurrence(upgraded, 'original');
      await expectUnbroken('original');
      // So does a copy that was adopted before; one that was not is a copy still.
      await occurrence(open('restored'), 'restored');
      await expect(open('unadopted').tick()).rejects.toMatchObject(COPIED);
      await Promise.all(opened.splice(0).map(each => each.close()));
    } finally {
      await server.stop(fresh);
    }
  });
});
