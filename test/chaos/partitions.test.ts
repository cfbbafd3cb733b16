// Chaos: partitions that have run out, and are made while runs end.
import pg from 'pg';
import { describe, expect, it } from 'vitest';
import { openForEach } from '../support/open.js';
import { CLI, startProcess } from '../support/processes.js';
import { until } from '../support/test-tock.js';
import { openLapseKit } from './lapse-kit.js';
import { NONE } from './traffic.js';

/** Enough that to move them took longer than the time between two runs. TOCK_LAPSE_RUNS=200000: as it was found. */
const MANY = Number(process.env['TOCK_LAPSE_RUNS'] ?? 40_000);

const kit = openForEach(openLapseKit);

/** All that the default partition held, and all that ended meanwhile, is in the partition that it became. */
async function expectTaken(
  ended: number,
  [taken = '', ...coming]: readonly string[] = MONTHS,
): Promise<void> {
  expect(await kit.held()).toEqual({
    default: 0,
    [taken]: MANY + ended,
    ...Object.fromEntries(coming.map(name => [name, 0])),
  });
  expect(await kit.bounds()).toEqual([]);
}
const MONTHS = ['2031_03_01_to_2031_07_01', '2031_07', '2031_08', '2031_09'];
const days = (first: number, last: number) =>
  Array.from({ length: last - first + 1 }, (_, index) => `2031_06_${first + index}`);

describe('after months without partitions, while runs end', () => {
  it.each([
    ['month', MONTHS],
    ['day', ['2031_03_27_to_2031_06_17', ...days(17, 29)]],
  ] as const)('prune makes partitions of a %s', async (partition, names) => {
    await kit.lapse(MANY);
    const traffic = await kit.traffic();
    const result = await kit.tock.prune({ keep: '400d', partition });
    expect(result).toMatchObject({ left: [], partition, deletedRuns: 0, madePartitions: names.length - 1 });
    expect(await traffic.stop()).toEqual(NONE);
    await expectTaken(traffic.count(), names);
  });

  it('so does migrate', async () => {
    await kit.lapse(MANY);
    const traffic = await kit.traffic();
    expect(await kit.tock.migrate()).toMatchObject({ madePartitions: 3, partitionsLeft: null });
    expect(await traffic.stop()).toEqual(NONE);
    await expectTaken(traffic.count());
  });

  it('three at once make them once', async () => {
    await kit.lapse(MANY);
    const traffic = await kit.traffic();
    const results = await Promise.all([
      kit.tock.migrate(),
      kit.another().migrate(),
      kit.tock.prune({ keep: '400d', partition: 'month' }),
    ]);
    expect(results.reduce((sum, each) => sum + each.madePartitions, 0)).toBe(3);
    expect(await traffic.stop()).toEqual(NONE);
    await expectTaken(traffic.count());
  });

  // What is moved then is a few thousand runs at most: under the locks, which are taken first.
  it.each([
    ['empty', 0],
    ['small', 4000],
  ])('where the default partition is %s, it keeps what is of other months', async (_size, few) => {
    await kit.lapse(few);
    const traffic = await kit.traffic();
    // A slow server: some runs end between the move and the attachment.
    await kit.sql(`create function public.dawdle() returns event_trigger language plpgsql as $$ begin
      if tg_tag = 'ALTER TABLE' then perform pg_sleep(0.1); end if; end $$`);
    await kit.sql('create event trigger dawdle on ddl_command_start execute function public.dawdle()');
    expect(await kit.tock.migrate()).toMatchObject({ madePartitions: 4, partitionsLeft: null });
    expect(await traffic.stop()).toEqual(NONE);
    const [row] = await kit.sql<{ june: number }>(
      `select count(*)::int as june from tock.job_runs_finished where finished_at >= '2031-06-01Z'`,
    );
    const june = row?.june ?? 0;
    expect(await kit.held()).toEqual({
      default: few + traffic.count() - june,
      '2031_06': june,
      '2031_07': 0,
      '2031_08': 0,
      '2031_09': 0,
    });
  });

  it.each([
    ['is validated', false, 'ALTER TABLE'],
    ['was validated', true, 'CREATE TABLE'],
  ])(
    'a prune that is killed while the check %s: runs end all the same, and the next one finishes',
    async (_when, isValid, tag) => {
      await kit.lapse(MANY);
      const traffic = await kit.traffic();
      await kit.sql(`create function public.stand_still() returns event_trigger language plpgsql as $$ begin
      if tg_tag = '${tag}' and exists (select from pg_constraint where conname = 'job_runs_finished_default_bounds'
        and convalidated = ${isValid}) then perform pg_advisory_xact_lock(23); end if; end $$`);
      await kit.sql(
        'create event trigger stand_still on ddl_command_start execute function public.stand_still()',
      );
      const holder = new pg.Client({ connectionString: kit.url });
      await holder.connect();
      await holder.query('select pg_advisory_lock(23)');
      const { child, ended } = startProcess(CLI, { DATABASE_URL: kit.url }, ['prune', '--keep', '400d']);
      const stands = async () =>
        (await kit.sql(`select from pg_locks where locktype = 'advisory' and objid = 23 and not granted`))
          .length > 0;
      await until(stands, 'prune to stand still');
      child.kill('SIGKILL');
      expect((await ended).signal).toBe('SIGKILL');
      await holder.end();
      await kit.sql('drop event trigger stand_still');
      expect(await kit.bounds()).toEqual([isValid]);
      const before = traffic.count();
      await until(async () => traffic.count() > before + 50, 'more runs');
      expect(await kit.tock.migrate()).toMatchObject({ madePartitions: 3, partitionsLeft: null });
      expect(await traffic.stop()).toEqual(NONE);
      await expectTaken(traffic.count());
    },
  );

  it('runs from years ago and from the future stay where they are, and the months to come are made around them', async () => {
    await kit.lapse(MANY);
    await kit.caught('2022-02-03', 1000);
    // The clock was wrong once.
    await kit.caught('2031-08-04', 10);
    const traffic = await kit.traffic();
    // Neither June nor August.
    expect(await kit.tock.migrate()).toMatchObject({ madePartitions: 2, partitionsLeft: null });
    expect(await traffic.stop()).toEqual(NONE);
    expect(await kit.held()).toEqual({ default: MANY + 1010 + traffic.count(), '2031_07': 0, '2031_09': 0 });
    expect(await kit.bounds()).toEqual([]);
    // Without the one from the future it becomes a partition as a whole.
    await kit.sql(`delete from tock.job_runs_finished where finished_at > '2031-07-01'`);
    const more = await kit.traffic();
    expect(await kit.tock.migrate()).toMatchObject({ madePartitions: 1, partitionsLeft: null });
    expect(await more.stop()).toEqual(NONE);
    await expectTaken(1000 + traffic.count() + more.count(), [
      '2022_02_01_to_2031_07_01',
      ...MONTHS.slice(1),
    ]);
  });
});
