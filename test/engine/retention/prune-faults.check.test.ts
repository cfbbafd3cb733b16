// Engine: retention beside live traffic, beside others, and after crashes.
import pg from 'pg';
import { describe, expect, it } from 'vitest';
import { defineJob } from '../../../src/index.js';
import { collectLines } from '../../support/lines.js';
import { openForEach } from '../../support/open.js';
import { CLI, startProcess } from '../../support/processes.js';
import { KEEP, openRetentionKit, until } from './retention-kit.js';

const noop = defineJob({ name: 'noop', retry: { maxAttempts: 1 }, run: () => null });

const kit = openForEach(() => openRetentionKit([noop]));

/** A month with runs of all states, and a time at which some of them stay. */
async function oldMonth(): Promise<{ stay: string[]; go: string[] }> {
  await kit.make('2031-01-10');
  const go = await kit.ended('2031-01-10T00:00:00Z', 'succeeded', 'succeeded');
  const stay = await kit.ended('2031-01-10T00:00:00Z', 'dead', 'cancelled', 'dead');
  await kit.setClock('2031-02-20T00:00:00Z');
  return { stay, go };
}
/** Makes every drop of a detached partition fail, as if the process had died before it. */
const forbidDrops = async () => {
  await kit.sql(`create function public.refuse() returns event_trigger language plpgsql as $$ begin
    if exists (select from pg_event_trigger_dropped_objects() where object_name ~ '^job_runs_detached') then
      raise exception 'no drops today';
    end if; end $$`);
  await kit.sql('create event trigger refuse on sql_drop execute function public.refuse()');
};
const copied = async () => {
  const [name] = await kit.leftovers();
  return name?.startsWith('job_runs_kept') ? name : null;
};

describe('a crash', () => {
  it('between detach and drop loses nothing, and the next prune drops', async () => {
    const { stay, go } = await oldMonth();
    await forbidDrops();
    await expect(kit.tock.prune({ keep: KEEP })).rejects.toThrow(/no drops today/);
    expect(await kit.leftovers()).toEqual([expect.stringMatching(/^job_runs_detached_\d+$/)]);
    expect(await kit.seen([...stay, ...go])).toEqual([1, 1, 1, 0, 0]);
    await kit.sql('drop event trigger refuse');
    expect(await kit.tock.prune({ keep: KEEP })).toMatchObject({
      droppedPartitions: ['job_runs_finished_2031_01'],
      keptRuns: 0,
    });
    expect(await kit.leftovers()).toEqual([]);
    expect(await kit.seen([...stay, ...go])).toEqual([1, 1, 1, 0, 0]);
  });

  it('leaves tables alone that only look like leftovers', async () => {
    await oldMonth();
    await kit.sql(
      'create table tock.job_runs_detached_1 (id int); create table tock.job_runs_kept_0a (id int)',
    );
    await kit.sql(
      `create table tock.job_runs_detached_mine (id int); comment on table tock.job_runs_detached_mine is 'tock: detached x'`,
    );
    // Somebody wanted it back.
    await forbidDrops();
    await expect(kit.tock.prune({ keep: '7d' })).rejects.toThrow(/no drops today/);
    const [name] = (await kit.leftovers()).filter(each => /\d\d/.test(each));
    await kit.sql(
      `alter table tock.job_runs_finished attach partition tock.${name} for values from ('2031-01-01') to ('2031-02-01')`,
    );
    await kit.sql('drop event trigger refuse');
    await kit.setClock('2031-01-20T00:00:00Z');
    expect(await kit.tock.prune({ keep: '90d' })).toMatchObject({ droppedPartitions: [] });
    expect(await kit.leftovers()).toEqual([
      'job_runs_detached_1',
      'job_runs_detached_mine',
      'job_runs_kept_0a',
    ]);
    expect(await kit.partitions()).toContain(name);
  });

  it('of a process that has copied and waits for its lock: the next prune begins anew', async () => {
    const { stay, go } = await oldMonth();
    const release = await kit.hold('job_runs_finished_2031_01');
    const args = ['prune', '--keep', '7d', '--keep-dead', '400d', '--keep-cancelled', '90d'];
    const { child, ended } = startProcess(CLI, { DATABASE_URL: kit.url }, args);
    await until(copied, 'the copy');
    child.kill('SIGKILL');
    expect((await ended).signal).toBe('SIGKILL');
    expect(await kit.seen([...stay, ...go])).toEqual([1, 1, 1, 1, 1]);
    await release();
    // Its lock goes with its connection, as soon as the server notices.
    const result = await until(async () => {
      const each = await kit.tock.prune({ keep: KEEP });
      return each.isBusy ? null : each;
    }, 'the lock');
    expect(result.droppedPartitions).toContain('job_runs_finished_2031_01');
    expect(await kit.leftovers()).toEqual([]);
    expect(await kit.seen([...stay, ...go])).toEqual([1, 1, 1, 0, 0]);
  });
});

describe('beside others', () => {
  it('drops while it holds no lock on the history', async () => {
    const { stay } = await oldMonth();
    await kit.sql('create table public.held (dropped text, modes text[])');
    await kit.sql(`create function public.note_locks() returns event_trigger language plpgsql as $$ begin
      insert into public.held select d.object_name, array(select l.mode from pg_locks l where l.pid = pg_backend_pid()
          and l.relation in ('tock.job_runs'::regclass, 'tock.job_runs_finished'::regclass, 'tock.job_runs_finished_default'::regclass))
        from pg_event_trigger_dropped_objects() d where d.object_type = 'table' and d.original;
      end $$`);
    await kit.sql('create event trigger note_locks on sql_drop execute function public.note_locks()');
    await kit.tock.prune({ keep: KEEP });
    expect(await kit.sql('select * from public.held')).toEqual([
      { dropped: expect.stringMatching(/^job_runs_detached_/), modes: [] },
    ]);
    expect(await kit.seen(stay)).toEqual([1, 1, 1]);
  });

  it('runs that change while what stays is copied are neither lost nor there twice', async () => {
    const { stay, go } = await oldMonth();
    const [retried = '', deleted = '', kept = ''] = stay;
    // It can read and write, and prune cannot detach.
    const release = await kit.hold('job_runs_finished_2031_01');
    const pruning = kit.tock.prune({ keep: KEEP });
    const table = await until(copied, 'the copy');
    await until(async () => (await kit.sql(`select from tock.${table}`)).length === 3, 'its rows');
    await kit.tock.runs.retry(retried);
    await kit.sql('delete from tock.job_runs where id = $1', [deleted]);
    const [late = '', gone = ''] = await kit.ended('2031-01-31T00:00:00Z', 'dead', 'succeeded');
    await release();
    expect(await pruning).toMatchObject({ droppedPartitions: ['job_runs_finished_2031_01'], left: [] });
    expect(await kit.seen([retried, deleted, kept, late, gone, ...go])).toEqual([1, 0, 1, 1, 0, 0, 0]);
    expect(await kit.tock.runs.get(retried)).toMatchObject({ status: 'queued', generation: 2 });
    expect(await kit.sql('select from tock.retention_changes')).toEqual([]);
  });

  it('gives up in order while somebody reads an old partition, and runs end meanwhile', async () => {
    const { stay, go } = await oldMonth();
    await kit.make('2031-02-20');
    const release = await kit.hold('job_runs_finished_2031_01');
    await kit.setClock('2031-03-20T00:00:00Z');
    let isOver = false;
    const pruning = kit.tock.prune({ keep: KEEP }).finally(() => {
      isOver = true;
    });
    const beside = kit.another();
    let enqueued = 0;
    do {
      await beside.enqueueMany(Array.from({ length: 50 }, () => ({ job: noop })));
      enqueued += 50;
      expect((await beside.tick()).executed.succeeded).toBe(50);
    } while (!isOver);
    expect(await pruning).toMatchObject({
      droppedPartitions: [],
      left: ['job_runs_finished_2031_01', 'job_runs_finished_2031_02'],
      isBusy: false,
    });
    expect(await kit.tock.runs.list({ status: 'succeeded', job: 'noop', limit: 1000 })).toHaveLength(
      Math.min(enqueued, 1000),
    );
    expect(await kit.seen([...stay, ...go])).toEqual([1, 1, 1, 1, 1]);
    await release();
    expect((await kit.tock.prune({ keep: KEEP })).droppedPartitions.slice(0, 2)).toEqual([
      'job_runs_finished_2031_01',
      'job_runs_finished_2031_02',
    ]);
    expect(await kit.seen([...stay, ...go])).toEqual([1, 1, 1, 0, 0]);
  });

  it('no statement of a worker fails while partitions go, however often', async () => {
    const { logger, warnings } = collectLines();
    for (let day = 1; day <= 12; day++) {
      const date = `2031-01-${String(day).padStart(2, '0')}`;
      await kit.make(date, 'day');
      await kit.ended(`${date}T01:00:00Z`, 'dead', 'succeeded', 'succeeded');
    }
    await kit.make('2031-02-20');
    const worker = kit.another({ logger });
    const daemon = await worker.start({ concurrency: 50 });
    let total = 0;
    const dropped: string[] = [];
    for (let day = 1; day <= 12; day++) {
      await kit.tock.enqueueMany(Array.from({ length: 200 }, () => ({ job: noop })));
      total += 200;
      // A reader of all that there is, beside it.
      const [result] = await Promise.all([
        kit.tock.prune({ keep: { default: `${50 - day}d`, dead: '400d' }, partition: 'month' }),
        kit.tock.runs.list({ limit: 1000 }),
      ]);
      dropped.push(...result.droppedPartitions);
    }
    const finished = async () =>
      (
        await kit.sql(
          `select from tock.job_runs_finished where job = 'noop' and status = 'succeeded' and attempts = 1`,
        )
      ).length === total;
    await until(finished, 'all runs');
    await daemon.stop();
    expect(warnings).toEqual([]);
    // What somebody held for too long is left to the next.
    const last = await kit.tock.prune({ keep: { default: '38d', dead: '400d' }, partition: 'month' });
    dropped.push(...last.droppedPartitions);
    expect(dropped.filter(name => /_2031_01_\d\d$/.test(name))).toHaveLength(12);
    expect(await kit.sql(`select from tock.job_runs where status = 'dead'`)).toHaveLength(12);
  });

  it('of two prunes at once one does the work, and the other says that it is busy', async () => {
    const { stay, go } = await oldMonth();
    const release = await kit.hold('job_runs_finished_2031_01');
    const first = kit.tock.prune({ keep: KEEP });
    await until(copied, 'the copy');
    expect(await kit.another().prune({ keep: KEEP })).toMatchObject({
      isBusy: true,
      droppedPartitions: [],
      madePartitions: 0,
    });
    await release();
    expect(await first).toMatchObject({ isBusy: false, left: [] });
    const tocks = [kit.another(), kit.another(), kit.another()];
    await Promise.all(tocks.map(tock => tock.prune({ keep: KEEP })));
    expect(await kit.seen([...stay, ...go])).toEqual([1, 1, 1, 0, 0]);
  });

  it('refuses a pool in which its lock would leave no connection', async () => {
    await expect(kit.another({ connections: 1 }).prune()).rejects.toMatchObject({
      code: 'TOCK_BAD_OPTION',
      message: expect.stringContaining('raise connections'),
    });
  });

  it('an operator without the owner’s rights can retry what is being copied', async () => {
    const { stay } = await oldMonth();
    await kit.sql(
      `do $$ begin create role tock_test_operator; exception when duplicate_object then null; end $$`,
    );
    await kit.sql('grant usage on schema tock to tock_test_operator');
    await kit.sql('grant select, insert, update, delete on all tables in schema tock to tock_test_operator');
    await kit.sql('revoke all on tock.retention_changes from tock_test_operator');
    await kit.sql('grant usage on all sequences in schema tock to tock_test_operator');
    const release = await kit.hold('job_runs_finished_2031_01');
    const pruning = kit.tock.prune({ keep: KEEP });
    await until(copied, 'the copy');
    const client = new pg.Client({ connectionString: kit.url });
    await client.connect();
    await client.query('set role tock_test_operator');
    await client.query('delete from tock.job_runs_finished where id = $1', [stay[0]]);
    await client.end();
    await release();
    await pruning;
    expect(await kit.seen(stay)).toEqual([0, 1, 1]);
    await kit.sql('drop owned by tock_test_operator');
  });
});
