// Engine: retention. Which partitions go and when, what stays of them, and what partitions are made.
import { describe, expect, it } from 'vitest';
import type { PruneProgress } from '../../../src/index.js';
import { openForEach } from '../../support/open.js';
import { openTestTock } from '../../support/test-tock.js';
import { KEEP, openRetentionKit } from './retention-kit.js';

const kit = openForEach(openRetentionKit);

const at = (instant: string) => kit.setClock(instant);
const placeOf = async (id: string | undefined) =>
  (
    await kit.sql<{ place: string }>(
      'select (select relname from pg_class where oid = r.tableoid) as place from tock.job_runs r where id = $1',
      [id],
    )
  )[0]?.place;

describe('prune: what goes', () => {
  it('drops a partition once the keep is over for all of it, and no sooner', async () => {
    await kit.make('2031-01-10');
    await kit.make('2031-02-10');
    const ids = [
      ...(await kit.ended('2031-01-31T23:59:59Z', 'succeeded', 'dead')),
      ...(await kit.ended('2031-02-01T00:00:00Z', 'skipped')),
    ];
    await at('2031-05-01T23:59:58Z');
    expect(await kit.tock.prune({ keep: '90d' })).toMatchObject({ droppedPartitions: [], deletedRuns: 0 });
    expect(await kit.seen(ids)).toEqual([1, 1, 1]);
    await at('2031-05-02T00:00:00Z');
    expect(await kit.tock.prune({ keep: '90d' })).toMatchObject({
      droppedPartitions: ['job_runs_finished_2031_01'],
      keptRuns: 0,
      deletedRuns: 0,
      left: [],
      isBusy: false,
    });
    expect(await kit.seen(ids)).toEqual([0, 0, 1]);
    expect(await kit.leftovers()).toEqual([]);
  });

  it('keeps runs by their state, where they are found, listed and retried as before', async () => {
    await kit.make('2031-01-10');
    await kit.ended('2031-01-10T00:00:00Z', 'succeeded', 'succeeded', 'skipped');
    const [dead, other, cancelled] = await kit.ended('2031-01-10T00:00:00Z', 'dead', 'dead', 'cancelled');
    const [late] = await kit.ended('2031-01-30T00:00:00Z', 'skipped');
    await at('2031-02-20T00:00:00Z');
    const result = await kit.tock.prune({ keep: KEEP });
    expect(result).toMatchObject({
      droppedPartitions: ['job_runs_finished_2031_01'],
      keptRuns: 4,
      deletedRuns: 0,
    });
    expect(await kit.partitions()).toContain('2031_01_01_kept');
    expect(await kit.partitions()).not.toContain('2031_01');

    expect((await kit.tock.runs.list()).map(run => run.id)).toEqual([late, cancelled, other, dead]);
    expect(await kit.tock.runs.get(dead ?? '')).toMatchObject({
      status: 'dead',
      output: 'x'.repeat(100),
      finishedAt: new Date('2031-01-10'),
    });
    expect(await placeOf(dead)).toBe('job_runs_finished_2031_01_01_kept');
    expect((await kit.tock.runs.retry(dead ?? '')).status).toBe('queued');
    expect(await kit.seen([dead ?? '', other ?? ''])).toEqual([1, 1]);
  });

  it('removes in its turn what was kept: in batches while others stay, then as a whole', async () => {
    await kit.make('2031-01-10');
    const ids = await kit.ended('2031-01-10T00:00:00Z', 'dead', 'cancelled', 'skipped');
    await at('2031-02-08T00:00:00Z');
    expect(await kit.tock.prune({ keep: KEEP })).toMatchObject({ keptRuns: 3 });
    await at('2031-06-01T00:00:00Z');
    expect(await kit.tock.prune({ keep: KEEP })).toMatchObject({ keptRuns: 0, deletedRuns: 2 });
    expect(await kit.seen(ids)).toEqual([1, 0, 0]);
    expect(await kit.partitions()).toContain('2031_01_01_kept');
    await at('2032-03-08T00:00:00Z');
    expect((await kit.tock.prune({ keep: KEEP })).droppedPartitions).toContain(
      'job_runs_finished_2031_01_01_kept',
    );
    expect(await kit.seen(ids)).toEqual([0, 0, 0]);
  });

  it('puts what is kept of a month’s days together in one partition', async () => {
    const dead: string[] = [];
    for (const day of ['2031-03-01', '2031-03-02', '2031-03-03']) {
      await kit.make(day, 'day');
      const [id = ''] = await kit.ended(`${day}T08:00:00Z`, 'dead', 'succeeded');
      dead.push(id);
    }
    for (const [index, now] of ['2031-03-09', '2031-03-10', '2031-03-11'].entries()) {
      await at(`${now}T00:00:00Z`);
      const result = await kit.tock.prune({ keep: KEEP, partition: 'day' });
      expect(result.keptRuns).toBe(1);
      expect(result.droppedPartitions).toContain(`job_runs_finished_2031_03_0${index + 1}`);
    }
    expect((await kit.partitions()).filter(name => name.endsWith('_kept'))).toEqual(['2031_03_01_kept']);
    expect(await kit.seen(dead)).toEqual([1, 1, 1]);
    for (const id of dead) expect(await placeOf(id)).toBe('job_runs_finished_2031_03_01_kept');
  });

  it('attaches what is kept with the indexes that its parent has, and leaves nothing of the copying', async () => {
    await kit.make('2031-01-10');
    await kit.ended('2031-01-10T00:00:00Z', 'dead', 'succeeded');
    await at('2031-02-20T00:00:00Z');
    await kit.tock.prune({ keep: KEEP });
    const [row] = await kit.sql(
      `select (select count(*)::int from pg_index where indrelid = 'tock.job_runs_finished_2031_01_01_kept'::regclass) as own,
        (select count(*)::int from pg_index where indrelid = 'tock.job_runs_finished'::regclass) as parents,
        (select count(*)::int from pg_constraint where conrelid = 'tock.job_runs_finished_2031_01_01_kept'::regclass and conname ~ '^job_runs_kept.*(span|ended)$') as leftover,
        (select count(*)::int from tock.retention_changes) as notes`,
    );
    expect(row).toEqual({ own: 10, parents: 10, leftover: 0, notes: 0 });
  });

  it('deletes in batches what is past its time in a month that stays; a day waits for its end', async () => {
    await kit.make('2031-03-10');
    await kit.make('2031-04-01', 'day');
    const ids = [
      ...(await kit.ended('2031-03-01T00:00:00Z', 'succeeded', 'dead')),
      ...(await kit.ended('2031-03-20T00:00:00Z', 'succeeded')),
      ...(await kit.ended('2031-04-01T00:00:00Z', 'succeeded')),
      // The default partition.
      ...(await kit.ended('2030-03-01T00:00:00Z', 'succeeded', 'skipped')),
    ];
    await at('2031-03-15T00:00:00Z');
    expect(await kit.tock.prune({ keep: { default: '7d', dead: '30d' } })).toMatchObject({ deletedRuns: 3 });
    expect(await kit.seen(ids)).toEqual([0, 1, 1, 1, 0, 0]);
    await at('2031-04-08T12:00:00Z');
    expect(await kit.tock.prune({ keep: { default: '7d', dead: '400d' } })).toMatchObject({
      droppedPartitions: ['job_runs_finished_2031_03'],
      keptRuns: 1,
      deletedRuns: 0,
    });
    expect(await kit.seen(ids)).toEqual([0, 1, 0, 1, 0, 0]);
  });

  it('finds nothing to do the second time', async () => {
    await kit.make('2031-01-10');
    await kit.ended('2031-01-10T00:00:00Z', 'dead', 'succeeded');
    await at('2031-02-20T00:00:00Z');
    await kit.tock.prune({ keep: KEEP });
    const before = await kit.partitions();
    const again = await kit.tock.prune({ keep: KEEP });
    expect(again).toMatchObject({
      droppedPartitions: [],
      keptRuns: 0,
      deletedRuns: 0,
      madePartitions: 0,
      left: [],
    });
    expect(await kit.partitions()).toEqual(before);
  });
});

describe('prune: keys and effects', () => {
  it('deletes them in bounded batches, telling how far it is', async () => {
    await kit.make('2031-01-10');
    await kit.sql(
      `insert into tock.job_keys (idempotency_key, run_id, created_at)
       select 'key-' || i, i, case when i % 2 = 0 then timestamptz '2029-01-01' else tock.now() end from generate_series(1, 30000) i`,
    );
    await kit.sql(
      `insert into tock.job_occurrences (definition_id, scheduled_for, run_id, created_at)
       values (1, '2029-01-01', 1, '2029-01-01'), (1, '2031-01-01', 2, tock.now())`,
    );
    await kit.sql(
      `insert into tock.job_effects (key, run_id, created_at) values ('old', 1, '2029-01-01'), ('new', 1, tock.now())`,
    );
    // Counts what each statement deletes.
    await kit.sql('create table public.batches (count int)');
    await kit.sql(`create function public.note_batch() returns trigger language plpgsql as
      $$ begin insert into public.batches select count(*) from gone; return null; end $$`);
    await kit.sql(`create trigger note after delete on tock.job_keys referencing old table as gone
      for each statement execute function public.note_batch()`);
    const told: PruneProgress[] = [];
    const result = await kit.tock.prune({ keep: '90d', onProgress: progress => void told.push(progress) });
    expect(result).toMatchObject({ deletedKeys: 15_001, deletedEffects: 1 });
    const batches = await kit.sql<{ count: number }>('select count from public.batches');
    expect(Math.max(...batches.map(row => row.count))).toBeLessThanOrEqual(5000);
    const keys = told.filter(each => each.stage === 'old rows of job_keys');
    expect(keys.at(-1)).toMatchObject({ done: keys[0]?.total });
    expect(await kit.sql('select key from tock.job_effects')).toEqual([{ key: 'new' }]);
    expect(await kit.sql('select run_id from tock.job_occurrences')).toEqual([{ run_id: '2' }]);
  });

  it('keeps keys no shorter than the longest keep of runs', async () => {
    await kit.make('2031-01-10');
    const key = (name: string, created: string) =>
      kit.sql('insert into tock.job_keys (idempotency_key, run_id, created_at) values ($1, 1, $2)', [
        name,
        created,
      ]);
    await key('a', '2029-06-01');
    expect(await kit.tock.prune({ keep: { dead: '600d' } })).toMatchObject({ deletedKeys: 0 });
    await expect(
      kit.tock.prune({ keep: { succeeded: '7d', dead: '400d' }, keepKeys: '399d' }),
    ).rejects.toMatchObject({
      code: 'TOCK_BAD_OPTION',
      message: expect.stringContaining('raise keepKeys'),
    });
    expect(await kit.tock.prune({ keep: '90d' })).toMatchObject({ deletedKeys: 1 });
  });

  it('ends between two batches when its signal aborts', async () => {
    await expect(kit.tock.prune({ signal: AbortSignal.abort() })).rejects.toMatchObject({
      name: 'AbortError',
    });
  });
});

describe('prune: what it makes', () => {
  const gaps = () =>
    kit.sql(`select p.name from tock.finished_partitions() p where p.low is not null and p.low <> (
      select min(low) from tock.finished_partitions()) and not exists (select from tock.finished_partitions() o where o.high = p.low)`);

  it('lets a month that has begun be, and one that has not give way to its days', async () => {
    await at('2031-01-15T12:00:00Z');
    expect(await kit.tock.prune({ partition: 'month' })).toMatchObject({
      madePartitions: 4,
      partition: 'month',
    });
    expect(await kit.tock.prune({ partition: 'day' })).toMatchObject({ madePartitions: 0, partition: 'day' });
    await at('2031-01-20T12:00:00Z');
    expect(await kit.tock.prune({ partition: 'day' })).toMatchObject({ madePartitions: 28 });
    const there = await kit.partitions();
    expect(there.slice(1, 4)).toEqual(['2031_01', '2031_02_01', '2031_02_02']);
    expect(there.slice(-3)).toEqual(['2031_02_28', '2031_03', '2031_04']);
    expect(await gaps()).toEqual([]);
  });

  it('does not replace a month that has runs already', async () => {
    await at('2031-01-15T12:00:00Z');
    await kit.tock.prune({ partition: 'month' });
    const ids = await kit.ended('2031-02-02T00:00:00Z', 'succeeded');
    await at('2031-01-25T12:00:00Z');
    expect(await kit.tock.prune({ partition: 'day' })).toMatchObject({ madePartitions: 0 });
    expect(await kit.seen(ids)).toEqual([1]);
  });

  it('goes back to months at the next month, and fills up the days of this one', async () => {
    await at('2031-01-10T12:00:00Z');
    expect(await kit.tock.prune({ partition: 'day' })).toMatchObject({ madePartitions: 15 });
    // What migrate calls, too.
    expect(await kit.sql(`select made from tock.create_partitions(null, 'month')`)).toEqual([
      { made: 7 + 3 },
    ]);
    expect((await kit.partitions()).slice(-4)).toEqual(['2031_01_31', '2031_02', '2031_03', '2031_04']);
    expect(await gaps()).toEqual([]);
  });

  it('makes days by itself where a million runs end in a day, and months again below half as many', async () => {
    await kit.make('2031-01-20');
    const auto = async (perDay: number) => {
      await kit.sql(
        `update pg_class c set reltuples = $1::float8 * extract(epoch from least(p.high, tock.now()) - p.low) / 86400
        from tock.finished_partitions() p where p.oid = c.oid and p.low < tock.now()`,
        [perDay],
      );
      return (await kit.tock.prune()).partition;
    };
    expect(await auto(900_000)).toBe('month');
    expect(await auto(1_100_000)).toBe('day');
    expect(await auto(600_000)).toBe('day');
    expect(await auto(400_000)).toBe('month');
  });
});

it('prune in a schema of another name compacts, drops and makes partitions there as well', async () => {
  const other = await openTestTock([], { schema: 'ledger' });
  try {
    await other.sql(`select ledger.make_partition('2020-01-01', 'month')`);
    const [run] = await other.sql<{ id: string }>(
      `insert into ledger.job_runs (job, status, finished_at) values ('a', 'dead', '2020-01-05'), ('a', 'skipped', '2020-01-05') returning id`,
    );
    const result = await other.tock.prune({ keep: { default: '7d', dead: '9000d' }, partition: 'day' });
    expect(result).toMatchObject({
      droppedPartitions: ['job_runs_finished_2020_01'],
      keptRuns: 1,
      left: [],
    });
    expect(await other.tock.runs.list()).toMatchObject([{ id: run?.id, status: 'dead' }]);
  } finally {
    await other.close();
  }
});
