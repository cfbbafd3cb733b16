// `tock prune`: what it does, what it says of it, and what it refuses.
import { describe, expect, it } from 'vitest';
import type { PruneResult } from '../../../src/index.js';
import { openClient } from '../../support/embedded-database.js';
import { openOnce } from '../../support/open.js';
import { openCliHarness } from '../cli-harness.js';

const harness = openOnce(openCliHarness);
const client = openOnce(() => openClient(harness.url));

/** A month that is long over, with so many succeeded runs and one that is dead. */
async function makeOld(month: string, count: number): Promise<string> {
  await client.query(`select tock.make_partition($1::timestamp, 'month')`, [`${month}-01`]);
  await client.query(
    `insert into tock.job_runs (job, status, finished_at, output)
     select 'a', 'succeeded', $1::timestamptz, to_jsonb(repeat('x', 1000)) from generate_series(1, $2::int)`,
    [`${month}-05`, count],
  );
  const { rows } = await client.query<{ id: string }>(
    `insert into tock.job_runs (job, status, finished_at) values ('a', 'dead', $1) returning id`,
    [`${month}-05`],
  );
  return rows[0]?.id ?? '';
}

describe('tock prune', () => {
  it('prunes by state, says what it did, and shows what stays', async () => {
    // Some megabytes, so that there is progress to be told.
    const dead = await makeOld('2020-01', 20_000);
    const flags = ['--keep', '30d', '--keep-succeeded', '7d', '--keep-dead', '9000d', '--partition', 'month'];
    const { code, stdout, stderr } = await harness.tock(['prune', ...flags]);
    expect(stdout.trim().split('\n')).toEqual([
      expect.stringMatching(/^keeps succeeded runs for 7d, dead runs for 9000d, /),
      'dropped 1 partition: job_runs_finished_2020_01',
      'kept 1 run of them: runs in their state are kept longer',
      'deleted 0 runs, 0 keys and 0 effects in batches',
      'created 0 partitions, one per month',
    ]);
    expect(stderr).toMatch(/%.*what stays of job_runs_finished_2020_01/);
    expect(code).toBe(0);
    const shown = await harness.tock(['show', dead]);
    expect(shown.stdout).toContain('dead');
    expect(await harness.json<PruneResult>(['prune', ...flags])).toMatchObject({
      droppedPartitions: [],
      keptRuns: 0,
      deletedRuns: 0,
      deletedKeys: 0,
      deletedEffects: 0,
      deletedEvents: 0,
      deletedAudit: 0,
      madePartitions: 0,
      partition: 'month',
      left: [],
      isBusy: false,
    });
  });

  it('exits with 1 and says why if another prune runs, or somebody holds a lock', async () => {
    await makeOld('2020-02', 1);
    await client.query(`begin; select pg_advisory_xact_lock(hashtextextended('"tock".retention', 0))`);
    const busy = await harness.tock(['prune']);
    expect([busy.code, busy.stdout]).toEqual([
      1,
      'another prune changes partitions now; they, runs and keys were left to it\n',
    ]);
    await client.query(
      'rollback; begin; lock table only tock.job_runs_finished_2020_02 in access share mode',
    );
    const left = await harness.tock(['prune']);
    expect(left.stdout).toContain(
      'left for the next prune, because other sessions held locks for too long: job_runs_finished_2020_02',
    );
    expect(left.code).toBe(1);
    await client.query('rollback');
    expect((await harness.tock(['prune'])).code).toBe(0);
  });

  it.each([
    [['prune', '--keep', 'soon'], '--keep soon: write a duration such as'],
    [['prune', '--partition', 'week'], '--partition week: Allowed choices are month, day, auto.'],
    [
      ['prune', '--keep-dead', '400d', '--keep-keys', '90d'],
      'keepKeys must not be shorter than the longest keep',
    ],
  ])('refuses %j', async (args, message) => {
    const { code, stderr } = await harness.tock(args);
    expect(stderr).toContain(message);
    expect(code).toBe(2);
  });
});
