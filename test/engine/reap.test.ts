// Engine: what a reaping does with all that it finds.
import { beforeEach, describe, expect, it } from 'vitest';
import { type AnyJob, defineJob, type RetryPolicy, type Tock } from '../../src/index.js';
import { beginReaping } from '../../src/store/runs/reap/reap.js';
import { openDatabase } from '../support/database.js';
import { collectLines, type LineLog } from '../support/lines.js';
import { openForEach } from '../support/open.js';
import { openRecorder } from '../support/recorded-connection.js';
import { reuseTestTock } from '../support/test-tock.js';

const NOW = '2026-03-02T12:00:00Z';

const test = openForEach(reuseTestTock);
let log: LineLog;
beforeEach(async () => {
  log = collectLines();
  await test.setClock(NOW);
});

const job = (name: string, retry?: RetryPolicy): AnyJob =>
  defineJob({ name, ...(retry ? { retry } : {}), run: () => 'done' });
const host = (jobs: readonly AnyJob[], retry: RetryPolicy = {}): Tock =>
  test.another({ jobs, retry, logger: log.logger, allowVanishing: true });
/** Runs whose lease has expired, of which `last` in their last attempt and `asked` with an operator's wish to cancel. */
const expire = (name: string, count: number, last = 0, asked = 0) =>
  test.sql(
    `insert into tock.job_runs_live (job, payload, status, attempts, max_attempts, fence, locked_by, locked_until, cancel_requested_at)
     select $1, '{}', 'running', 1, case when n <= $3 then 1 else 3 end, 1, gen_random_uuid(), tock.now() - interval '1 second',
       case when n > $2 - $4 then tock.now() end from generate_series(1, $2) n`,
    [name, count, last, asked],
  );
const waits = async (name: string) =>
  (
    await test.sql<{ seconds: number }>(
      `select extract(epoch from run_at - tock.now())::float8 as seconds from tock.job_runs where job = $1`,
      [name],
    )
  )[0]?.seconds;

describe('a reaping', () => {
  it('takes back all there is, of whatever kind, in batches', async () => {
    const tock = host([job('noop')]);
    await expire('noop', 1003, 201, 101);
    expect((await tock.tick()).reaped).toEqual({ failed: 701, dead: 201, cancelled: 101 });
    expect(await test.sql(`select from tock.job_runs where status = 'running'`)).toEqual([]);
  });

  it('is left to another process that does so', async () => {
    const tock = host([job('noop')]);
    await expire('noop', 1);
    await test.sql(`insert into tock.job_slots values ('job:x', 1, 99, 1)`);
    await test.sql(`insert into tock.job_outbox (kind, run_id) values ('dead', 99)`);
    const left = () => test.sql('select from tock.job_slots union all select from tock.job_outbox');
    const other = openDatabase({ connectionString: test.url });
    await other.transaction(async session => {
      await beginReaping(session);
      expect((await tock.tick()).reaped).toEqual({ failed: 0, dead: 0, cancelled: 0 });
      expect(await left()).toHaveLength(2);
    });
    await other.close();
    expect((await tock.tick()).reaped).toMatchObject({ failed: 1 });
    expect(await left()).toEqual([]);
  });

  it('looks after slots only where there are any', { tags: 'check' }, async () => {
    const recorder = await openRecorder(test.url);
    const tock = test.another({ jobs: [job('noop')], connectionString: recorder.url });
    const looks = () => recorder.statements().filter(text => text.includes('.job_slots s where not exists'));
    await expire('noop', 1);
    await tock.tick();
    expect(looks()).toHaveLength(0);
    await test.sql(`insert into tock.job_slots values ('job:x', 1, 99, 1)`);
    await tock.tick();
    expect(looks()).toHaveLength(1);
    expect(await test.sql('select from tock.job_slots')).toEqual([]);
    await tock.close();
    await recorder.close();
  });

  it('fails with an error that no row explains, and tries no run by itself', { tags: 'check' }, async () => {
    const tock = host([job('noop')]);
    await expire('noop', 1);
    await tock.register();
    await test.sql(`create function refuse() returns trigger language plpgsql
      as $$ begin raise exception using errcode = '55000'; end $$`);
    await test.sql('create trigger refuses before update on tock.job_runs_live execute function refuse()');
    await expect(tock.tick()).rejects.toMatchObject({ code: '55000' });
    expect(log.lines.filter(line => line['event'] === 'reap.singly')).toEqual([]);
    await test.sql('drop trigger refuses on tock.job_runs_live');
    expect((await tock.tick()).reaped).toMatchObject({ failed: 1 });
  });

  it('says once how many there were, and nothing where there were none', { tags: 'check' }, async () => {
    const tock = host([job('noop')]);
    expect((await tock.tick()).reaped).toEqual({ failed: 0, dead: 0, cancelled: 0 });
    await expire('noop', 1);
    await tock.tick();
    await expire('noop', 3, 1, 1);
    await tock.tick();
    expect(log.lines.filter(line => line['event'] === 'runs.reaped')).toEqual([
      {
        event: 'runs.reaped',
        failed: 1,
        dead: 0,
        cancelled: 0,
        message: 'took back 1 run whose lease had expired, 0 of them dead, 0 cancelled',
      },
      {
        event: 'runs.reaped',
        failed: 1,
        dead: 1,
        cancelled: 1,
        message: 'took back 3 runs whose lease had expired, 1 of them dead, 1 cancelled',
      },
    ]);
  });

  it('lets each wait as its job says, without its jitter; else as the settings say', {
    tags: 'check',
  }, async () => {
    const tock = host(
      [
        job('plain'),
        job('fixed', { backoff: 'fixed', base: '7s', jitter: 1 }),
        job('capped', { base: '7s', max: '2s' }),
        job('bare', { maxAttempts: 9 }),
        job('computed', { backoff: () => '1h', base: '4s' }),
      ],
      { base: '3s', max: '2500ms' },
    );
    const names = ['plain', 'fixed', 'capped', 'bare', 'computed', 'unknown'];
    for (const name of names) await expire(name, 1);
    await tock.tick();
    expect(await Promise.all(names.map(waits))).toEqual([2.5, 2.5, 2, 2.5, 2.5, 2.5]);
    const generous = host([
      job('computed', { backoff: () => '1h', base: '4s' }),
      job('fixed', { backoff: 'fixed', base: '7s' }),
    ]);
    await test.sql('delete from tock.job_runs');
    await test.sql('update tock.job_definitions set vanished_at = null');
    for (const name of ['computed', 'fixed', 'unknown']) await expire(name, 1);
    await generous.tick();
    expect(await Promise.all(['computed', 'fixed', 'unknown'].map(waits))).toEqual([4, 7, 10]);
  });

  it('lets a job without a policy of its own wait as the settings say, and an unknown one too', {
    tags: 'check',
  }, async () => {
    const tock = host([job('plain'), job('attempts', { maxAttempts: 9 })], { backoff: 'fixed', base: '3s' });
    const names = ['plain', 'attempts', 'unknown'];
    for (const name of names) await expire(name, 1);
    await test.sql('update tock.job_runs_live set attempts = 3, max_attempts = 9');
    await tock.tick();
    expect(await Promise.all(names.map(waits))).toEqual([3, 3, 3]);
  });
});
