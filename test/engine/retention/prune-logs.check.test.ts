// Retention of the logs of runs: segments are closed in time and dropped as a whole, beside those who write.
import { describe, expect, it } from 'vitest';
import { openForEach } from '../../support/open.js';
import { openRetentionKit } from './retention-kit.js';

const kit = openForEach(openRetentionKit, ({ make }) => make('2031-01-01'));

/** A log of a run that nobody knows, in the open segment. */
const write = (run: number) =>
  kit.sql(
    `insert into tock.job_logs select $1, 1, segment, 1, tock.now(), 0, 0, '[0,"i","one"]' || chr(10), ''
     from tock.log_segments where closed_at is null`,
    [run],
  );
const segments = async () =>
  (
    await kit.sql<{ text: string }>(
      `select segment || case when closed_at is null then ' open' else ' closed' end as text from tock.log_segments order by segment`,
    )
  ).map(row => row.text);
const runs = async () =>
  (await kit.sql<{ id: string }>('select run_id as id from tock.job_logs order by run_id')).map(
    row => row.id,
  );
const tables = async () =>
  (
    await kit.sql<{ name: string }>(
      `select relname as name from pg_class where relname ~ '^job_logs_\\d+$' and relkind = 'r' order by 1`,
    )
  ).map(row => row.name);
const prune = () => kit.tock.prune({ keep: '20d', keepKeys: '400d' });

describe('prune', () => {
  it('leaves an empty segment open, however old', async () => {
    await kit.setClock('2031-06-01T12:00:00Z');
    await prune();
    expect(await segments()).toEqual(['1 open']);
  });

  it('closes the open segment after a tenth of the time, and drops it when all its lines are past theirs', async () => {
    await kit.setClock('2031-01-01T12:00:00Z');
    await kit.sql('update tock.log_segments set opened_at = tock.now()');
    await write(1);
    await prune();
    expect(await segments()).toEqual(['1 open']);
    await kit.setClock('2031-01-03T12:00:00Z');
    await prune();
    expect(await segments()).toEqual(['1 closed', '2 open']);
    await write(2);
    expect(await runs()).toEqual(['1', '2']);
    await kit.setClock('2031-01-23T11:59:59Z');
    expect((await prune()).droppedPartitions).not.toContain('job_logs_1');
    expect(await runs()).toEqual(['1', '2']);
    await kit.setClock('2031-01-23T12:00:00Z');
    expect((await prune()).droppedPartitions).toContain('job_logs_1');
    expect(await runs()).toEqual(['2']);
    expect(await segments()).toEqual(['2 closed', '3 open']);
    expect(await tables()).toEqual(['job_logs_2', 'job_logs_3']);
    expect(await kit.leftovers()).toEqual([]);
  });

  it('goes by keepLogs where that is given; 0 keeps none', async () => {
    await write(1);
    const { droppedPartitions } = await kit.tock.prune({ keep: '90d', keepLogs: 0 });
    expect(droppedPartitions).toContain('job_logs_1');
    expect(await runs()).toEqual([]);
    await write(2);
    expect(await runs()).toEqual(['2']);
  });

  it('leaves a segment that somebody holds to the next one, and says so; writers do not wait for it', async () => {
    await write(1);
    const release = await kit.hold('job_logs', 'share update exclusive');
    const left = await kit.tock.prune({ keep: '90d', keepLogs: 0 });
    expect(left.left).toContain('job_logs_1');
    await write(2);
    await release();
    const done = await kit.tock.prune({ keep: '90d', keepLogs: 0 });
    expect([done.left, done.droppedPartitions]).toEqual([[], ['job_logs_1']]);
    expect(await runs()).toEqual([]);
  });

  it('drops what an earlier one had detached', async () => {
    await write(1);
    await kit.sql('alter table tock.job_logs detach partition tock.job_logs_1');
    await kit.sql('alter table tock.job_logs_1 rename to job_runs_detached_1');
    await kit.sql(`comment on table tock.job_runs_detached_1 is 'tock: detached job_logs_1'`);
    await kit.sql('update tock.log_segments set segment = 2');
    await kit.sql('create table tock.job_logs_2 partition of tock.job_logs for values in (2)');
    expect((await prune()).droppedPartitions).toContain('job_logs_1');
    expect(await kit.leftovers()).toEqual([]);
  });
});
