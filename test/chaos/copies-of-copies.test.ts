// Chaos: a copy that was adopted is copied in turn, onto servers that were all set up alike: they give the same OIDs, and the
// same numbers to the same transactions. The copy's copy must not tick beside it, however it was made.
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createTock, defineJob, type Tock } from '../../src/index.js';
import { sqlAt } from '../support/sql-at.js';
import { until } from '../support/until.js';
import { type DebianServer, hasDebianPostgres, openDebianServer } from './debian-server.js';
import { type OwnServer, openOwnServer } from './servers.js';

const jobs = [defineJob({ name: 'minutely', schedule: { cron: '* * * * *' }, run: () => 1 })];
const COPIED = { code: 'TOCK_DATABASE_COPIED' };
// Autovacuum would use numbers of transactions.
const SETTINGS = ['wal_level=logical', 'max_connections=40', 'autovacuum=off'];

/** What the server has given the same numbers as another one to; and the row that says whose the schema is. */
async function numbersOf(url: string) {
  const [row] = await sqlAt<{ oids: string[]; database: number; writtenBy: number }>(
    url,
    `select array['tock.job_definitions'::regclass::oid, 'tock.job_runs'::regclass::oid, 'tock.workers'::regclass::oid]::text[] as oids,
       (select oid::int from pg_database where datname = current_database()) as database,
       (select max(written_by::text::int) from tock.database_identity) as "writtenBy"`,
  );
  if (!row) throw new Error('no row');
  return row;
}

/** So that the next transaction gets the number. */
async function useNumbersBelow(url: string, number: number): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    let used = 0;
    while (used < number - 1) {
      const { rows } = await client.query<{ xid: number }>('select pg_current_xact_id()::text::int as xid');
      used = rows[0]?.xid ?? number;
    }
  } finally {
    await client.end();
  }
}

describe.skipIf(!hasDebianPostgres)('a copy of a copy that was adopted', { timeout: 180_000 }, () => {
  const servers: DebianServer[] = [];
  const opened: Tock[] = [];
  let original: DebianServer;
  let adopted: DebianServer;

  const open = (url: string) => {
    const tock = createTock({ connectionString: url, jobs, logger: false });
    opened.push(tock);
    return tock;
  };
  const urlOf = (server: DebianServer) => server.url('app');
  const fresh = async () => {
    const server = await openDebianServer(SETTINGS);
    servers.push(server);
    await sqlAt(server.url('postgres'), 'create database app');
    return server;
  };
  let dumps = 0;
  const dump = async (server: DebianServer, ...args: string[]) => {
    const file = `${server.folder}/${++dumps}.dump`;
    await server.call('pg_dump', '-d', 'app', '-f', file, ...args);
    return file;
  };
  const psql = async (server: DebianServer, file: string, ...args: string[]) =>
    await server.call('psql', '-qX', '-v', 'ON_ERROR_STOP=1', '-d', 'app', ...args, '-f', file);
  const expectCopy = async (server: DebianServer) => {
    const copy = open(urlOf(server));
    await expect(copy.tick()).rejects.toMatchObject(COPIED);
    await expect(copy.start()).rejects.toMatchObject(COPIED);
    expect(await copy.adopt({ dryRun: true })).toMatchObject({ isCopy: true, scheduled: 1 });
    return copy;
  };

  beforeAll(async () => {
    original = await fresh();
    const tock = open(urlOf(original));
    await tock.migrate();
    await tock.register();
    adopted = await fresh();
    await psql(adopted, await dump(original));
    const copy = await expectCopy(adopted);
    await copy.adopt();
    await copy.tick();
  });
  afterAll(async () => {
    await Promise.all(opened.map(each => each.close()));
    await Promise.all(servers.map(each => each.remove()));
  });

  it('is refused where the dump was restored by psql, until it is adopted; and so is the next one', async () => {
    const third = await fresh();
    await psql(third, await dump(adopted));
    const [ours, theirs] = [await numbersOf(urlOf(third)), await numbersOf(urlOf(adopted))];
    expect(ours).toEqual(theirs);
    const copy = await expectCopy(third);
    await open(urlOf(adopted)).tick();
    await copy.adopt();
    await copy.tick();
    const fourth = await fresh();
    await psql(fourth, await dump(third, '--schema=tock', '--inserts'));
    await expectCopy(fourth);
  });

  it('is refused where the transaction that restored it has the number of the one that adopted', async () => {
    const third = await fresh();
    const { writtenBy, ...theirs } = await numbersOf(urlOf(adopted));
    const file = await dump(adopted);
    await useNumbersBelow(urlOf(third), writtenBy);
    await psql(third, file, '--single-transaction');
    const [row] = await sqlAt<{ xmins: string[] }>(
      urlOf(third),
      'select array_agg(xmin::text) as xmins from tock.database_identity',
    );
    expect(row?.xmins).toEqual([`${writtenBy}`, `${writtenBy}`]);
    expect(await numbersOf(urlOf(third))).toEqual({ writtenBy, ...theirs });
    await expectCopy(third);
  });

  it('is refused where pg_restore did it with several connections', async () => {
    const third = await fresh();
    const file = await dump(adopted, '-Fc');
    await third.call('pg_restore', '-d', 'app', '-j', '3', file);
    expect(await numbersOf(urlOf(third))).toEqual(await numbersOf(urlOf(adopted)));
    await expectCopy(third);
  });

  it('is refused where the data alone were restored, into tables that migrate made, emptied or not', async () => {
    const [emptied, filled] = [await fresh(), await fresh()];
    const file = await dump(original, '--data-only', '--disable-triggers');
    for (const server of [emptied, filled]) {
      await open(urlOf(server)).migrate();
      await expect(open(urlOf(server)).tick()).resolves.toBeDefined();
      // Set up alike, it is the original's twin.
      expect((await numbersOf(urlOf(server))).oids).toEqual((await numbersOf(urlOf(original))).oids);
    }
    await sqlAt(
      urlOf(emptied),
      `do $$ declare name text; begin
         for name in select c.oid::regclass::text from pg_class c where c.relnamespace = 'tock'::regnamespace and c.relkind in ('r', 'p')
           and not c.relispartition loop execute 'truncate ' || name || ' cascade'; end loop;
       end $$`,
    );
    await psql(emptied, file);
    await expectCopy(emptied);
    // psql goes on after what it cannot restore: rows that are there already.
    await filled.call('psql', '-qX', '-d', 'app', '-f', file);
    await expect(open(urlOf(filled)).tick()).rejects.toMatchObject(COPIED);
  });

  it('is refused at the other end of logical replication, also of an adoption', async () => {
    const third = await fresh();
    await psql(third, await dump(adopted, '--schema-only'));
    await sqlAt(urlOf(adopted), 'create publication tock for tables in schema tock');
    await sqlAt(
      urlOf(third),
      `create subscription tock connection 'host=${adopted.folder} port=${new URL(urlOf(adopted)).port} user=postgres dbname=app'
       publication tock`,
    );
    const writtenBy = async (server: DebianServer) =>
      await sqlAt(urlOf(server), 'select written_by::text, is_nested from tock.database_identity order by 2');
    const arrived = async () => {
      const [here, there] = [await writtenBy(third), await writtenBy(adopted)];
      return here.length === 2 && JSON.stringify(here) === JSON.stringify(there);
    };
    const isCopy = async () => (await open(urlOf(third)).status()).isCopy;
    await until(arrived, 'the identity to be copied');
    expect(await isCopy()).toBe(true);
    await sqlAt(urlOf(adopted), 'select tock.note_identity()');
    await until(arrived, 'the identity to be replicated');
    expect(await isCopy()).toBe(true);
    await sqlAt(urlOf(third), 'drop subscription tock');
    await sqlAt(urlOf(adopted), 'drop publication tock');
    await open(urlOf(third)).adopt();
    expect(await isCopy()).toBe(false);
  });

  describe('on the embedded server', () => {
    const own: OwnServer[] = [];
    afterAll(async () => {
      await Promise.all(own.map(each => each.remove()));
    });

    it('is refused as well', async () => {
      const file = await dump(original, '--no-owner');
      const restored = async () => {
        const server = await openOwnServer();
        own.push(server);
        await original.call('psql', '-qX', '-v', 'ON_ERROR_STOP=1', server.url, '-f', file);
        return server.url;
      };
      const [second, third] = [await restored(), await restored()];
      await open(second).adopt();
      await expect(open(second).tick()).resolves.toBeDefined();
      // Its pg_dump would write these rows; the tables have the same OIDs already.
      const rows = `${original.folder}/identity`;
      await original.call('psql', '-qX', second, '-c', `\\copy tock.database_identity to '${rows}'`);
      await sqlAt(third, 'truncate tock.database_identity');
      await original.call('psql', '-qX', third, '-c', `\\copy tock.database_identity from '${rows}'`);
      expect(await numbersOf(third)).toEqual(await numbersOf(second));
      await expect(open(third).tick()).rejects.toMatchObject(COPIED);
    });
  });
});
