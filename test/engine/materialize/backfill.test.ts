// Engine: backfill makes runs for past occurrences under the scheduler's own keys, so that none comes twice.
import pg from 'pg';
import { beforeEach, describe, expect, it } from 'vitest';
import { defineJob } from '../../../src/index.js';
import { openForEach } from '../../support/open.js';
import { reuseTestTock } from '../../support/test-tock.js';

const plain = defineJob({ name: 'plain', run: () => null });
const computed = defineJob({
  name: 'computed',
  schedule: { cron: '0 * * * *', payload: ({ dataInterval }) => ({ since: dataInterval.start }) },
  run: (_ctx, payload) => payload,
});

const test = openForEach(() => reuseTestTock([plain, computed]));
beforeEach(async () => {
  await test.setClock('2026-03-01T12:00:30Z');
  await test.tock.register();
});

const hourly = { name: 'hourly', job: plain, cron: '0 * * * *', payload: { a: 1 } } as const;
const day = { from: '2026-02-28T00:00:00Z', to: '2026-03-01T00:00:00Z' };
const keys = async () =>
  (await test.sql<{ key: string }>('select idempotency_key as key from tock.job_runs')).map(row => row.key);

describe('backfill', () => {
  it('makes a run for each occurrence of a half-open window, due now, and executes the oldest first', async () => {
    const { id } = await test.tock.schedules.upsert(hourly);
    expect(await test.tock.schedules.backfill('hourly', day)).toEqual({
      occurrences: 24,
      existing: 0,
      made: 24,
    });
    const runs = await test.tock.runs.list({ definition: 'hourly' });
    expect(runs.at(-1)).toMatchObject({
      trigger: 'backfill',
      scheduledFor: new Date('2026-02-28T00:00:00Z'),
      intervalStart: new Date('2026-02-27T23:00:00Z'),
      runAt: new Date('2026-03-01T12:00:30Z'),
      occurrenceCount: 1,
      payload: { a: 1 },
      idempotencyKey: `cron:${id}:2026-02-28T00:00:00Z`,
    });
    expect(runs[0]?.scheduledFor).toEqual(new Date('2026-02-28T23:00:00Z'));
    expect(await test.tock.tick({ concurrency: 1 })).toMatchObject({ executed: { succeeded: 24 } });
  });

  it('is safe to repeat, to overlap, and to do twice at once', async () => {
    await test.tock.schedules.upsert(hourly);
    await test.tock.schedules.backfill('hourly', day);
    expect(await test.tock.schedules.backfill('hourly', day)).toEqual({
      occurrences: 24,
      existing: 24,
      made: 0,
    });
    const week = { from: '2026-02-23T00:00:00Z', to: '2026-03-01T12:00:30Z' };
    const results = await Promise.all(
      [test.tock, test.another(), test.another()].map(tock => tock.schedules.backfill('hourly', week)),
    );
    expect(results.reduce((sum, each) => sum + each.made, 0)).toBe(6 * 24 + 13 - 24);
    for (const each of results) expect(each.made + each.existing).toBe(each.occurrences);
    const all = await keys();
    expect(new Set(all).size).toBe(all.length);
    expect(all).toHaveLength(6 * 24 + 13);
  });

  it('does not double what the scheduler ran, nor the other way round, also at the same moment', {
    tags: 'check',
  }, async () => {
    await test.tock.schedules.upsert({ ...hourly, cron: '* * * * *', catchup: 'all', overlap: 'allow_all' });
    await test.setClock('2026-03-01T13:00:30Z');
    const window = { from: '2026-03-01T11:30:00Z', to: '2026-03-01T13:00:30Z' };
    const [, result] = await Promise.all([
      test.another().tick(),
      test.tock.schedules.backfill('hourly', window),
    ]);
    expect(result.made + result.existing).toBe(91);
    await test.tock.tick();
    const all = await keys();
    expect(new Set(all).size).toBe(all.length);
    const succeeded = await test.tock.runs.list({ definition: 'hourly', status: 'succeeded', limit: 1000 });
    expect(succeeded).toHaveLength(91);
  });

  it('makes runs for what was skipped: an outage, a pause; and once only', { tags: 'check' }, async () => {
    const { id } = await test.tock.schedules.upsert(hourly);
    await test.tock.schedules.pause('computed');
    await test.setClock('2026-03-01T15:00:30Z');
    await test.tock.tick();
    await test.tock.schedules.pause('hourly');
    await test.setClock('2026-03-01T18:00:30Z');
    await test.tock.schedules.resume('hourly');
    const skipped = await test.tock.runs.list({ definition: 'hourly', status: 'skipped' });
    expect(skipped.map(each => `${each.skipReason} ${each.occurrenceCount}`)).toEqual([
      'paused 3',
      'catchup 2',
    ]);
    const window = { from: '2026-03-01T13:00:00Z', to: '2026-03-01T18:00:30Z' };
    const expected = { occurrences: 6, existing: 1 };
    expect(await test.tock.schedules.backfill('hourly', { ...window, dryRun: true })).toEqual({
      ...expected,
      made: 0,
    });
    const results = await Promise.all(
      [test.tock, test.another()].map(tock => tock.schedules.backfill('hourly', window)),
    );
    expect(results.map(each => each.made).reduce((a, b) => a + b)).toBe(5);
    expect(await test.tock.tick()).toMatchObject({ executed: { succeeded: 5 } });
    // The occurrence's run is the one that was executed.
    const owner = await test.sql(
      `select r.status, r.idempotency_key as key from tock.job_occurrences o join tock.job_runs r on r.id = o.run_id
       where o.definition_id = $1 and o.scheduled_for = $2`,
      [id, '2026-03-01T14:00:00Z'],
    );
    expect(owner).toEqual([{ status: 'succeeded', key: `cron:${id}:2026-03-01T14:00:00Z` }]);
    expect((await test.tock.schedules.backfill('hourly', window)).made).toBe(0);
  });

  it('computes the payload where code does, and works for a paused definition of code', async () => {
    await test.tock.schedules.pause('computed');
    await test.tock.schedules.backfill('computed', {
      from: new Date('2026-03-01T09:00:00Z'),
      to: new Date('2026-03-01T10:00:00Z'),
    });
    expect(await test.tock.tick()).toMatchObject({ executed: { succeeded: 1 } });
    expect(await test.tock.runs.list()).toMatchObject([{ output: { since: '2026-03-01T08:00:00.000Z' } }]);
  });

  it('has no regard for overlap, remaining and the start deadline', { tags: 'check' }, async () => {
    await test.tock.schedules.upsert({ ...hourly, remaining: 2, startDeadline: '1m' });
    expect(await test.tock.schedules.backfill('hourly', day)).toMatchObject({ made: 24 });
    expect(await test.tock.tick()).toMatchObject({ executed: { succeeded: 24 } });
    expect(await test.tock.schedules.list({ name: 'hourly' })).toMatchObject([{ remaining: 2 }]);
  });

  it('goes in batches of a thousand and tells how far it is', { tags: 'check' }, async () => {
    await test.tock.schedules.upsert({ ...hourly, cron: '* * * * *' });
    const told: number[] = [];
    const result = await test.tock.schedules.backfill('hourly', {
      from: '2026-02-27T00:00:00Z',
      to: '2026-03-01T00:00:00Z',
      onProgress: progress => told.push(progress.done),
    });
    expect(result.made).toBe(2880);
    expect(told).toEqual([1000, 2000, 2880]);
  });

  it('ends when the definition is edited meanwhile, and goes on when it is repeated', {
    tags: 'check',
  }, async () => {
    const other = test.another();
    const minutely = { ...hourly, cron: '* * * * *' };
    await test.tock.schedules.upsert(minutely);
    const window = { from: '2026-02-27T00:00:00Z', to: '2026-03-01T00:00:00Z' };
    const edits: Promise<unknown>[] = [];
    const edit = async () => {
      try {
        await other.schedules.upsert({ ...minutely, payload: { a: 2 } });
      } finally {
        await holder.end();
      }
    };
    // The second batch has read the definition, and goes on once that is edited and the lock is free.
    const holder = new pg.Client({ connectionString: test.url });
    await holder.connect();
    await holder.query('select pg_advisory_lock(1)');
    await test.sql(`create function tock.wait() returns trigger language plpgsql as $$ begin
        if (select count(*) from tock.job_occurrences) > 1000 then perform pg_advisory_xact_lock(1); end if;
        return null;
      end $$;
      create trigger wait after insert on tock.job_occurrences for each statement execute function tock.wait()`);
    await expect(
      test.tock.schedules.backfill('hourly', {
        ...window,
        onProgress: () => {
          if (edits.length === 0) edits.push(edit());
        },
      }),
    ).rejects.toMatchObject({ code: 'TOCK_VERSION_CONFLICT' });
    await Promise.all(edits);
    await test.sql('drop trigger wait on tock.job_occurrences');
    const rest = await test.tock.schedules.backfill('hourly', window);
    expect(rest.existing).toBeGreaterThanOrEqual(1000);
    expect(rest.made + rest.existing).toBe(2880);
  });

  it('refuses the future, what is no window, too many, and what has no occurrences', {
    tags: 'check',
  }, async () => {
    await test.tock.schedules.upsert({ name: 'secondly', job: plain, every: '1s' });
    await test.tock.schedules.upsert({ name: 'removed', job: plain, every: '1s' });
    await test.tock.schedules.remove('removed');
    const refused: [string, string | Date, string | Date, string, RegExp][] = [
      ['secondly', day.from, '2026-03-01T12:00:32Z', 'TOCK_BAD_TIME', /future.*write 2026-03-01T12:00:31Z/],
      ['secondly', day.to, day.from, 'TOCK_BAD_TIME', /empty/],
      ['secondly', day.from, day.from, 'TOCK_BAD_TIME', /empty/],
      ['secondly', 'yesterday', day.to, 'TOCK_BAD_TIME', /from "yesterday" is not an instant/],
      ['secondly', new Date(Number.NaN), day.to, 'TOCK_BAD_TIME', /from/],
      ['secondly', '2026-02-01T00:00:00Z', day.to, 'TOCK_BAD_TIME', /more than 1000000/],
      ['plain', day.from, day.to, 'TOCK_BAD_STATE', /no schedule/],
      ['removed', day.from, day.to, 'TOCK_NOT_FOUND', /no definition/],
      ['nothing', day.from, day.to, 'TOCK_NOT_FOUND', /no definition/],
    ];
    for (const [name, from, to, code, message] of refused) {
      await expect(test.tock.schedules.backfill(name, { from, to })).rejects.toMatchObject({
        code,
        message: expect.stringMatching(message) as string,
      });
    }
    expect(await test.tock.runs.list()).toEqual([]);
  });
});
