// Engine: the coming partitions. Who makes them, what is not done under locks, what is left behind and by whom it is
// taken up, and who is told.
import pg from 'pg';
import { describe, expect, it } from 'vitest';
import { findProblems } from '../../../src/model/problems.js';
import { openLapseKit } from '../../chaos/lapse-kit.js';
import { noop } from '../../chaos/traffic.js';
import { collectLines } from '../../support/lines.js';
import { openForEach } from '../../support/open.js';
import { CLI, startProcess } from '../../support/processes.js';
import { until } from '../../support/test-tock.js';

/** More than may be moved, or read, under a lock. */
const MUCH = 20_000;
const MONTHS = ['2031_03_01_to_2031_07_01', '2031_07', '2031_08', '2031_09'];

const kit = openForEach(openLapseKit);

const names = async () => Object.keys(await kit.held());
/** A year has passed since anybody looked. */
const longAgo = () => kit.sql(`update tock.upkeep set at = tock.now() - interval '1 year'`);
const tickWithWork = async (tock = kit.tock) => {
  await kit.tock.enqueue(noop);
  expect((await tock.tick()).executed.succeeded).toBe(1);
};
/** The steps, up to but without the one that is named. */
const stepsUpTo = async (step: 'validate' | 'attach') => {
  expect(await kit.sql('select * from tock.create_partitions()')).toEqual([
    { made: 0, next_step: 'validate' },
  ]);
  if (step === 'attach') await kit.sql('select tock.validate_bounds()');
};
function collecting() {
  const { logger, lines } = collectLines();
  return {
    logger,
    events: () => lines.map(each => String(each['event'])).filter(event => event.startsWith('partitions.')),
  };
}

describe('where the default partition holds much', () => {
  it('nothing of it is read, moved or indexed anew while it is locked', async () => {
    await kit.lapse(MUCH);
    const indexes = `select array_agg(indexrelid order by indexrelid) as ids from pg_index where indrelid = $1::regclass`;
    const before = await kit.sql(indexes, ['tock.job_runs_finished_default']);
    await stepsUpTo('attach');
    const client = new pg.Client({ connectionString: kit.url });
    await client.connect();
    const notices: string[] = [];
    client.on('notice', ({ message = '' }) => notices.push(message));
    await client.query('set client_min_messages = debug1');
    expect((await client.query('select * from tock.create_partitions()')).rows).toEqual([
      { made: 3, next_step: null },
    ]);
    await client.end();
    const [taken] = MONTHS;
    expect(notices).toContain(
      `partition constraint for table "job_runs_finished_${taken}" is implied by existing constraints`,
    );
    expect(notices).not.toContain(`verifying table "job_runs_finished_${taken}"`);
    expect(await kit.sql(indexes, [`tock.job_runs_finished_${taken}`])).toEqual(before);
    expect(await kit.held()).toEqual({
      default: 0,
      ...Object.fromEntries(MONTHS.map((name, i) => [name, i === 0 ? MUCH : 0])),
    });
    expect((await kit.tock.runs.list({ limit: 1000, job: 'old' })).length).toBe(1000);
  });

  it('what it caught long ago becomes a partition when the next ones are made', async () => {
    await kit.lapse(0);
    await kit.tock.migrate();
    await kit.caught('2020-01-31T23:59:59Z', MUCH);
    await expect(kit.sql(`select tock.make_partition('2025-01-01', 'month')`)).rejects.toThrow(/too large/);
    await kit.setClock('2031-07-01T00:00:00Z');
    expect(await kit.tock.migrate()).toMatchObject({ madePartitions: 1, partitionsLeft: null });
    expect(await kit.held()).toMatchObject({ default: 0, '2020_01': MUCH, '2031_10': 0 });
    expect((await kit.tock.prune({ keep: '90d' })).droppedPartitions).toEqual(['job_runs_finished_2020_01']);
  });

  it('of several times, it keeps them, and a coming month gives way to its days beside it', async () => {
    await kit.lapse(0);
    await kit.tock.migrate();
    await kit.sql(`select tock.make_partition('2025-01-01', 'month')`);
    await kit.caught('2020-01-01', MUCH);
    await kit.caught('2030-01-01', 1);
    await kit.setClock('2031-06-25T12:00:00Z');
    const result = await kit.tock.prune({ keep: '9000d', partition: 'day' });
    expect(result).toMatchObject({ madePartitions: 31, left: [], deletedRuns: 0 });
    expect((await names()).slice(-4)).toEqual(['2031_07_30', '2031_07_31', '2031_08', '2031_09']);
    expect((await kit.held())['default']).toBe(MUCH + 1);
    expect(await kit.bounds()).toEqual([]);
  });

  it('a check that a crash left, made for months, lets no month give way to days that are not made', async () => {
    await kit.lapse(0);
    await kit.tock.migrate();
    await kit.sql(`select tock.make_partition('2025-01-01', 'month')`);
    await kit.caught('2020-01-01', MUCH);
    await kit.caught('2030-01-01', 1);
    await kit.setClock('2031-07-25T12:00:00Z');
    await stepsUpTo('attach');
    expect(await kit.tock.prune({ keep: '9000d', partition: 'day' })).toMatchObject({
      madePartitions: 31,
      left: [],
    });
    expect((await names()).slice(-3)).toEqual(['2031_08_30', '2031_08_31', '2031_09']);
    expect(await kit.bounds()).toEqual([]);
  });

  it('a run that comes in beside the check is found, and the check is made anew', async () => {
    await kit.lapse(MUCH);
    await stepsUpTo('validate');
    await kit.sql(
      'alter table tock.job_runs_finished_default drop constraint job_runs_finished_default_bounds',
    );
    await kit.sql(
      `alter table tock.job_runs_finished_default add constraint job_runs_finished_default_bounds check (finished_at < '2031-06-01') not valid`,
    );
    await kit.sql(
      `comment on constraint job_runs_finished_default_bounds on tock.job_runs_finished_default is '{"low": "2031-03-01Z", "high": "2031-06-01Z", "becomes": "wrong", "until": "2031-07-01Z"}'`,
    );
    expect(await kit.tock.migrate()).toMatchObject({ madePartitions: 3, partitionsLeft: null });
    expect((await names()).slice(1)).toEqual(MONTHS);
  });
});

describe('who makes them where nobody prunes', () => {
  it('a tick that has something to do, once an hour', async () => {
    await kit.lapse(MUCH);
    await tickWithWork();
    expect(await names()).toEqual(['default']);
    await longAgo();
    const { logger, events } = collecting();
    await tickWithWork(kit.another({ logger }));
    expect(await names()).toEqual(['default', ...MONTHS]);
    expect(events()).toEqual(['partitions.made']);
    await kit.sql('drop table tock.job_runs_finished_2031_08');
    await tickWithWork();
    await kit.advance('59m');
    await tickWithWork();
    expect(await names()).not.toContain('2031_08');
    await kit.advance('2m');
    await tickWithWork();
    expect(await names()).toEqual(['default', ...MONTHS]);
  });

  it('a daemon', async () => {
    await kit.lapse(0);
    await longAgo();
    const daemon = await kit.tock.start();
    await until(async () => (await names()).length > 1, 'partitions');
    await daemon.stop();
    expect(await names()).toEqual(['default', '2031_06', '2031_07', '2031_08', '2031_09']);
  });

  it('not as long as half of them are there', async () => {
    await kit.lapse(0);
    await kit.tock.migrate();
    await kit.setClock('2031-07-31T00:00:00Z');
    await tickWithWork();
    expect((await names()).at(-1)).toBe('2031_09');
    await kit.setClock('2031-08-01T01:00:01Z');
    await tickWithWork();
    expect((await names()).at(-1)).toBe('2031_11');
  });

  it('a worker’s role, if it was granted the two functions', async () => {
    const role = `tock_test_keeper_${process.pid}`;
    await kit.sql(`create role ${role} login password 'secret'`);
    try {
      for (const right of [
        'usage on schema tock',
        'select, insert, update, delete on all tables in schema tock',
        'usage on all sequences in schema tock',
      ])
        await kit.sql(`grant ${right} to ${role}`);
      await kit.lapse(MUCH);
      const url = new URL(kit.url);
      [url.username, url.password] = [role, 'secret'];
      const { logger, events } = collecting();
      const worker = kit.another({ connectionString: url.href, logger });
      await longAgo();
      await tickWithWork(worker);
      expect([await names(), events()]).toEqual([['default'], []]);
      await kit.sql(
        `grant execute on function tock.create_partitions(integer, text), tock.validate_bounds() to ${role}`,
      );
      await longAgo();
      await tickWithWork(worker);
      expect([await names(), events()]).toEqual([['default', ...MONTHS], ['partitions.made']]);
      await expect(worker.close()).resolves.toBeUndefined();
    } finally {
      await kit.sql(`drop owned by ${role}`);
      await kit.sql(`drop role ${role}`);
    }
  });
});

describe('where it cannot be done now', () => {
  it('migrate has brought the schema up to date and ends with 0; a tick goes on; both say so', async () => {
    await kit.lapse(MUCH);
    await longAgo();
    const holder = new pg.Client({ connectionString: kit.url });
    await holder.connect();
    await holder.query('begin; lock table tock.job_runs_finished_default in access share mode');
    const { logger, events } = collecting();
    const [migrated] = await Promise.all([
      startProcess(CLI, { DATABASE_URL: kit.url }, ['migrate']).ended,
      tickWithWork(kit.another({ logger })),
    ]);
    expect(migrated.code).toBe(0);
    expect(migrated.stdout).toContain('is up to date');
    expect(migrated.stderr).toMatch(/warning: .*pg_blocking_pids.*tock migrate and tock prune/);
    expect(events()).toEqual(['partitions.left']);
    await holder.end();
    expect(await kit.tock.migrate()).toMatchObject({ madePartitions: 3, partitionsLeft: null });
  });

  it('what a crash left behind is taken up by a tick within the hour, or taken off when it is old', async () => {
    await kit.lapse(MUCH);
    await stepsUpTo('validate');
    await kit.advance('61m');
    await tickWithWork();
    expect(await names()).toEqual(['default', ...MONTHS]);

    await kit.lapse(MUCH);
    await stepsUpTo('attach');
    // No run could be written any more.
    await kit.setClock('2031-07-02T12:00:00Z');
    await kit.tock.tick();
    expect((await names()).slice(0, 3)).toEqual(['default', '2031_03_01_to_2031_08_01', '2031_08']);
    await tickWithWork();
    expect(await kit.bounds()).toEqual([]);
  });
});

it('tock status warns in time, with the remedy', async () => {
  await kit.lapse(0);
  const look = async () => {
    const status = await kit.tock.status();
    return {
      ...status.partitions,
      problem: findProblems(status).find(({ code }) => code === 'partitions-end')?.message,
    };
  };
  expect(await look()).toEqual({
    end: new Date('2031-06-15T12:00:00Z'),
    unit: 'month',
    runningOut: true,
    problem: expect.stringMatching(/have run out.*tock prune or tock migrate/),
  });
  await kit.tock.migrate();
  const end = new Date('2031-10-01T00:00:00Z');
  expect(await look()).toEqual({ end, unit: 'month', runningOut: false, problem: undefined });
  await kit.setClock('2031-09-21T00:00:01Z');
  expect(await look()).toMatchObject({
    end,
    runningOut: true,
    problem: expect.stringContaining('run out in'),
  });
  await kit.tock.prune({ partition: 'day' });
  expect(await look()).toMatchObject({ end: new Date('2031-10-06'), unit: 'day', runningOut: false });
});
