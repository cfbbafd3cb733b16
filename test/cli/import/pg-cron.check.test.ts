// `tock import pg_cron`: jobs of the extension itself, on Debian's server with its package.
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { translatePgCronJob } from '../../../src/import/pg-cron/pg-cron-job.js';
import { createTock } from '../../../src/index.js';
import { openDebianServer } from '../../chaos/debian-server.js';
import { createTestDatabase } from '../../support/embedded-database.js';
import { lacks } from '../../support/needs.js';
import { openOnce } from '../../support/open.js';
import { until } from '../../support/until.js';
import { aroundSwitch } from './first-occurrence.js';
import { copyIn, type ImportKit, openImportKit, textOf } from './import-kit.js';

const hasPgCron = !lacks('postgresql-15-cron');

it('tock import pg_cron without pg_cron says that the server has none', async () => {
  const database = await createTestDatabase();
  const kit = await openImportKit({ DATABASE_URL: database.url });
  try {
    const { stderr, code } = await kit.tock(['import', 'pg_cron']);
    expect(stderr).toMatch(
      /^tock import pg_cron: the server of the database \S+ does not load pg_cron: name/,
    );
    expect(code).toBe(1);
  } finally {
    await kit.close();
    await database.drop();
  }
});

describe.runIf(hasPgCron)('tock import pg_cron', () => {
  const server = openOnce(() =>
    openDebianServer(['shared_preload_libraries=pg_cron', 'cron.launch_active_jobs=off']),
  );
  let kit: ImportKit;
  let client: pg.Client;
  beforeAll(async () => {
    client = new pg.Client({ connectionString: server.url('postgres') });
    client.on('error', () => undefined);
    await client.connect();
    await client.query('create extension pg_cron');
    await client.query('create database shop');
    kit = await openImportKit({ DATABASE_URL: server.url('postgres') });
  });
  afterAll(async () => {
    await client.end();
    await kit.close();
  });

  const cronJobs = async () =>
    (await client.query('select jobname, schedule, active from cron.job order by jobid')).rows as unknown[];
  const fill = async () => {
    await client.query('truncate cron.job');
    await client.query(`select cron.schedule('count', '*/15 * * * *', $$create table if not exists counted (at timestamptz);
insert into counted select now()$$)`);
    await client.query(
      `select cron.schedule_in_database('clean', '30 2 * * SUN', 'delete from carts', 'shop')`,
    );
    await client.query(`select cron.schedule('0 4 1 * *', 'vacuum')`);
    await client.query(`select cron.alter_job(jobid, active => false) from cron.job where jobname is null`);
    return await cronJobs();
  };
  const imported = async () =>
    (JSON.parse((await kit.tock(['import', 'pg_cron', '--json'])).stdout) as { code: string }).code;

  it('prints definitions that execute the SQL', async () => {
    await fill();
    const { code, stdout, stderr } = await kit.tock(['import', 'pg_cron']);
    expect(code, stderr).toBe(0);
    expect(stdout).toContain(`export const count = defineJob({
  name: 'count',
  schedule: { cron: '*/15 * * * *', timezone: 'UTC', overlap: 'buffer_all', catchup: 'none' },
  // As before: what fails waits for its next time.
  retry: { maxAttempts: 1 },
  run: ctx => execute(ctx, \`create table if not exists counted (at timestamptz);
insert into counted select now()\`),
});`);
    expect(stdout).toContain("run: ctx => executeIn(ctx, 'SHOP_DATABASE_URL', 'delete from carts'),");
    expect(stderr).toContain('(clean): taken, with a difference: clean\n');
    expect(stderr).toContain('it is not active, so the definition has no schedule');
    expect(stderr).toContain('3 taken, 2 of them with a difference; 0 not taken');
  });

  it('writes jobs that do what pg_cron did', async () => {
    await fill();
    const shop = new pg.Client({ connectionString: server.url('shop') });
    await shop.connect();
    await shop.query('create table if not exists carts as select 1 as one');
    await kit.build(await imported());
    const jobs = await kit.jobs();
    const tock = createTock({ connectionString: server.url('postgres'), jobs, logger: false });
    try {
      await tock.migrate();
      await tock.register();
      const ids = [];
      for (const { name } of jobs) ids.push(await tock.enqueue(name, {}));
      await tock.tick();
      const [count, unset, vacuum] = await Promise.all(ids.map(id => tock.runs.get(id)));
      expect(count).toMatchObject({ status: 'succeeded' });
      expect((await client.query('select count(*)::int as n from counted')).rows).toEqual([{ n: 1 }]);
      expect(vacuum).toMatchObject({ status: 'succeeded' });
      expect(JSON.stringify(unset)).toContain('SHOP_DATABASE_URL is not set');
      process.env['SHOP_DATABASE_URL'] = server.url('shop');
      const again = await tock.enqueue('clean', {});
      await tock.tick();
      expect(await tock.runs.get(again)).toMatchObject({ status: 'succeeded' });
      expect((await shop.query('select * from carts')).rows).toEqual([]);
    } finally {
      delete process.env['SHOP_DATABASE_URL'];
      await tock.close();
      await shop.end();
    }
  });

  it('writes jobs whose time limit cancels the statement', async () => {
    await client.query('truncate cron.job');
    await client.query(`select cron.schedule('here', '@daily', 'select pg_sleep(50)')`);
    await client.query(`select cron.schedule_in_database('there', '@daily', 'select pg_sleep(50)', 'shop')`);
    const code = await imported();
    await kit.build(code.replaceAll('retry: {', "timeout: '1s',\n  retry: {"));
    process.env['SHOP_DATABASE_URL'] = server.url('shop');
    const jobs = await kit.jobs();
    const tock = createTock({
      connectionString: server.url('postgres'),
      jobs,
      logger: false,
      allowVanishing: true,
    });
    try {
      await tock.migrate();
      await tock.register();
      const ids = [await tock.enqueue('here', {}), await tock.enqueue('there', {})];
      await tock.tick();
      for (const id of ids) expect(await tock.runs.get(id)).toMatchObject({ status: 'dead', attempts: 1 });
      await until(async () => {
        const { rows } = await client.query(
          `select from pg_stat_activity where query like 'select pg_sleep%' and state = 'active'`,
        );
        return rows.length === 0;
      }, 'the statements to be cancelled');
    } finally {
      delete process.env['SHOP_DATABASE_URL'];
      await tock.close();
    }
  });

  it('says where pg_cron keeps its jobs, and that there is none', async () => {
    const elsewhere = await kit.tock(['import', 'pg_cron', '--database', server.url('shop')]);
    expect(elsewhere.stderr).toContain(
      'the database shop has no table cron.job: pg_cron keeps its jobs in the database postgres; name it with --database URL',
    );
    expect(elsewhere.code).toBe(1);
    await client.query('truncate cron.job');
    const { stderr } = await kit.tock(['import', 'pg_cron']);
    expect(stderr).toContain('pg_cron has no job in postgres: there is nothing to import');
  });

  it('sets jobs inactive, and active again', async () => {
    const before = await fill();
    await kit.build(await imported());
    const asked = await kit.tock(['import', 'pg_cron', '--switch']);
    expect(asked.stderr).toContain('this would set 2 jobs of pg_cron inactive: repeat it with --yes');
    expect(await cronJobs()).toEqual(before);
    const done = await kit.tock(['import', 'pg_cron', '--switch', '--yes']);
    expect(done.code, done.stderr).toBe(0);
    expect(done.stdout).toContain('set inactive: 2; Tock runs them from its next tick on\n');
    expect(await cronJobs()).toEqual((before as readonly object[]).map(job => ({ ...job, active: false })));
    const copy = copyIn(done.stdout);
    expect(JSON.parse(await textOf(copy))).toMatchObject({ database: 'postgres', schema: null });
    const undone = await kit.tock(['import', 'undo', copy, '--yes']);
    expect(undone.stdout).toContain('pg_cron runs 2 again\n');
    expect(await cronJobs()).toEqual(before);
  });

  it('changes nothing for a role that may not', async () => {
    await fill();
    await kit.build(await imported());
    await client.query('drop role if exists plain').catch(() => undefined);
    await client.query(`create role plain login password 'secret'; grant usage on schema cron to plain`);
    await client.query(`update cron.job set username = 'plain' where jobname = 'count'`);
    const url = server.url('postgres').replace('postgres:secret', 'plain:secret');
    const { code, stderr } = await kit.tock(['import', 'pg_cron', '--switch', '--yes', '--database', url]);
    expect(stderr).toContain('plain sees its own jobs only');
    expect(stderr).toContain('plain may not read cron.timezone');
    expect(stderr).toContain('grant execute on function cron.alter_job to ROLE');
    expect(code).toBe(1);
  });

  it('leaves no occurrence out and makes none twice', async () => {
    await fill();
    await kit.build(await imported());
    const jobs = (await kit.jobs()).filter(({ name }) => name === 'count');
    const row = {
      id: '1',
      name: 'count',
      schedule: '*/15 * * * *',
      command: 'x',
      database: 'd',
      user: 'u',
      host: '',
    };
    const context = { timezone: 'GMT', ownDatabase: 'd', ownUser: 'u' };
    const found = translatePgCronJob({ ...row, isActive: true }, context, new Set());
    if ('problem' in found || found.clock === null) throw new Error('not taken');
    const { before, after, all } = await aroundSwitch(jobs, found.clock, [
      '2027-03-01T09:50:00Z',
      '2027-03-01T10:20:00Z',
      '2027-03-01T11:00:00Z',
    ]);
    expect(after[0]).toBe('2027-03-01T10:30:00.000Z');
    expect([...before, ...after]).toEqual(all);
  });
});
