// Engine: ended runs are counted by minute and hour; each end once, however late it is committed, retried or dropped.
// In short, and where the time is over: roll-up.test.ts.
import pg from 'pg';
import { describe, expect, it } from 'vitest';
import type { Engine } from '../../../src/engine/engine.js';
import { createRollUp, rollUp } from '../../../src/engine/metrics/roll-up.js';
import { defineJob } from '../../../src/index.js';
import { FINISHED_STATUSES } from '../../../src/model/run/states.js';
import { watchWriters } from '../../../src/store/figures/roll-up.js';
import { readOutcomes } from '../../../src/store/reads/metrics/rollup.js';
import { dropBounds } from '../../support/bounds.js';
import { openDatabase } from '../../support/database.js';
import { collectLines } from '../../support/lines.js';
import { openForEach } from '../../support/open.js';
import { fc } from '../../support/seed.js';
import { openTestTock } from '../../support/test-tock.js';
import { until } from '../../support/until.js';
import { countedSums, type OpenTransaction, openFiguresKit, START, sumsOf } from './figures-kit.js';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

const kit = openForEach(openFiguresKit);

const counted = async () => await countedSums(kit.database);
const exact = () => sumsOf(kit.ends);
const rowsOf = async (table: string) =>
  await kit.test.sql<{ at: Date; run_count: string }>(`select at, run_count from tock.${table} order by at`);
const minutes = async () =>
  (await rowsOf('figures_by_minute')).map(({ at, run_count }) => [
    (at.getTime() - Date.parse(START)) / MINUTE,
    Number(run_count),
  ]);

describe('the roll-up', () => {
  it('keeps durations and waits by bucket, bounds included', async () => {
    await kit.end({ durationMs: 1000, waitMs: 0 });
    await kit.end({ durationMs: 1001, waitMs: 5 });
    await kit.end({ durationMs: 0, waitMs: 50_000_001 });
    await kit.advance(2 * MINUTE);
    await kit.rollUp();
    const [row] = await kit.test.sql<{ durations: number[]; waits: number[]; duration_us: string }>(
      'select durations, waits, duration_us from tock.figures_by_minute',
    );
    const filled = (counts: number[] | undefined) =>
      (counts ?? []).flatMap((count, index) => (count > 0 ? [[index, count]] : []));
    // 1 s is the bound of bucket 9, 2 s of bucket 10; 5 ms of bucket 2; the last one has no bound.
    expect(filled(row?.durations)).toEqual([
      [0, 1],
      [9, 1],
      [10, 1],
    ]);
    expect(filled(row?.waits)).toEqual([
      [0, 1],
      [2, 1],
      [24, 1],
    ]);
    expect(row?.duration_us).toBe('2001000');
  });

  it('measures runs that succeeded or are dead and have begun, and no others', async () => {
    await kit.end({ status: 'cancelled' });
    await kit.end({ status: 'skipped', reason: 'deadline', occurrences: 17 });
    await kit.end({ status: 'dead', durationMs: null });
    await kit.advance(2 * MINUTE);
    await kit.rollUp();
    expect(
      await kit.test.sql(
        'select status, durations, occurrence_count::int as count from tock.figures_by_minute order by 1',
      ),
    ).toEqual([
      { status: 'cancelled', durations: null, count: 1 },
      { status: 'dead', durations: null, count: 1 },
      { status: 'skipped', durations: null, count: 17 },
    ]);
    expect(await counted()).toEqual(exact());
  });

  it('is not stopped by rows that nobody could have written', async () => {
    await kit.test.sql(dropBounds('job_runs'));
    await kit.test.sql(
      `insert into tock.job_runs_finished (job, status, skip_reason, run_at, started_at, finished_at) values
        ('odd', 'succeeded', 'what', '-infinity', 'infinity', $1), ('odd', 'succeeded', null, 'infinity', '-infinity', $1),
        ('odd', 'dead', null, '4700-01-01 BC', '200000-01-01', $1), (E'new\\nline "', 'skipped', 'no such reason', $1, $1, $1),
        ('odd', 'skipped', null, $1, null, $1), ('odd', 'succeeded', null, $1, $1, 'infinity'), ('odd', 'succeeded', null, $1, $1, '-infinity')`,
      [new Date(kit.now())],
    );
    await kit.advance(2 * HOUR);
    await kit.rollUp();
    expect(
      await kit.test.sql(
        'select job, status, reason, run_count::int as count from tock.figures_total order by 1, 2, 3',
      ),
    ).toEqual([
      { job: 'new\nline "', status: 'skipped', reason: 'other', count: 1 },
      { job: 'odd', status: 'dead', reason: '', count: 1 },
      { job: 'odd', status: 'skipped', reason: 'other', count: 1 },
      { job: 'odd', status: 'succeeded', reason: '', count: 2 },
    ]);
  });

  it('takes few steps where a run ended each hour for two months', async () => {
    await kit.test.sql(
      `insert into tock.job_runs_finished (job, status, attempts, started_at, finished_at)
       select 'old', 'succeeded', 1, at, at
       from generate_series(tock.now(), tock.now() + interval '60 days', interval '1 hour') at`,
    );
    await kit.advance(61 * 24 * HOUR);
    // Each of the two takes about a day at once.
    expect(await rollUp(kit.database, { budgetMs: 60_000 })).toBeLessThan(150);
    const { total } = await readOutcomes(kit.database, { hours: 70 * 24 });
    expect(total.succeeded).toBe(1441);
  });
});

describe('a run that is committed late', () => {
  it('is counted in its minute, which waits for its transaction', async () => {
    const late = await kit.endLater({ job: 'late' });
    await kit.end();
    await kit.advance(70_000);
    await kit.rollUp();
    await kit.advance(2 * MINUTE);
    await kit.rollUp();
    expect(await minutes()).toEqual([]);
    await late.commit();
    expect(await counted()).toEqual(exact());
    await kit.rollUp();
    expect((await minutes())[0]).toEqual([0, 1]);
    expect(await counted()).toEqual(exact());
  });

  it('is counted where its minute was counted before, because it took more than five minutes', async () => {
    const late = await kit.endLater();
    await kit.end();
    await kit.advance(7 * MINUTE);
    // The first notes who is writing.
    await kit.rollUp();
    await kit.rollUp();
    expect((await kit.progress()).counted).toBeGreaterThan((await kit.progress()).final);
    expect(await minutes()).toEqual([[0, 1]]);
    await late.commit();
    await kit.rollUp();
    expect(await minutes()).toEqual([[0, 2]]);
    expect(await counted()).toEqual(exact());
  });

  it('is waited for also while its statement still waits for its lock', async () => {
    const [holder, writer] = [new pg.Client(kit.test.url), new pg.Client(kit.test.url)];
    await Promise.all([holder.connect(), writer.connect()]);
    try {
      expect(await watchWriters(kit.database, kit.now())).toBe(0);
      await holder.query('begin; lock table tock.job_runs_finished in share mode');
      const writing = writer.query(
        `insert into tock.job_runs_finished (job, status, finished_at) values ('late', 'succeeded', $1)`,
        [new Date(kit.now())],
      );
      await until(async () => (await watchWriters(kit.database, kit.now())) === 1, 'the writer’s lock');
      await kit.advance(3 * MINUTE);
      await kit.rollUp();
      expect((await kit.progress()).final).toBe(Date.parse(START));
      await holder.query('commit');
      await writing;
      await kit.rollUp();
      expect(await minutes()).toEqual([[0, 1]]);
    } finally {
      await Promise.all([holder.end(), writer.end()]);
    }
  });

  it('in a transaction that reads only, holds up nothing', async () => {
    const reader = new pg.Client(kit.test.url);
    await reader.connect();
    await reader.query('begin isolation level repeatable read; select count(*) from tock.job_runs_finished');
    await kit.end();
    await kit.advance(2 * MINUTE);
    await kit.rollUp();
    expect(await minutes()).toEqual([[0, 1]]);
    await reader.end();
  });
});

describe('a run that is retried', () => {
  it.each([
    ['before its minute is counted', 0],
    ['after its minute is counted', 3 * MINUTE],
    ['after its hour is summed up', 2 * HOUR],
  ])('%s: its end stays counted, and its next end counts too', async (_, wait) => {
    const { id } = await kit.end({ status: 'dead' });
    await kit.advance(wait);
    await kit.rollUp();
    await kit.test.tock.runs.retry(id);
    expect(await counted()).toEqual(exact());
    await kit.advance(10_000);
    await kit.test.tock.runs.cancel(id);
    kit.ends.push({
      id,
      at: kit.now(),
      job: 'mail',
      queue: 'default',
      status: 'cancelled',
      reason: '',
      occurrences: 1,
      durationMs: null,
      waitMs: 0,
    });
    expect(await counted()).toEqual(exact());
    await kit.advance(2 * HOUR);
    await kit.rollUp();
    expect(await counted()).toEqual(exact());
    expect(await kit.test.sql('select from tock.figures_retried')).toEqual([]);
  });

  it('while its minute is counted for now only', async () => {
    const late = await kit.endLater();
    const { id } = await kit.end({ status: 'dead' });
    await kit.advance(7 * MINUTE);
    await kit.rollUp();
    await kit.rollUp();
    expect(await minutes()).toEqual([[0, 1]]);
    await kit.test.tock.runs.retry(id);
    expect(await counted()).toEqual(exact());
    await late.commit();
    await kit.rollUp();
    expect(await counted()).toEqual(exact());
  });
});

describe('counters', () => {
  it('go on when retention drops the runs, and the minutes and hours', async () => {
    const spans = [0, 40 * MINUTE, 3 * HOUR, 15 * 24 * HOUR, 30 * 24 * HOUR];
    for (const span of spans) {
      await kit.setNow(Date.parse(START) + span);
      await kit.end();
      await kit.end({ status: 'dead', durationMs: 5000 });
    }
    await kit.advance(2 * HOUR);
    await kit.rollUp();
    await kit.test.sql('delete from tock.job_runs_finished where finished_at < $1', [
      new Date(kit.now() - HOUR),
    ]);
    expect(await counted()).toEqual(exact());
    const first = (await rowsOf('figures_by_minute'))[0]?.at.getTime() ?? 0;
    expect(first).toBeGreaterThan(kit.now() - 3 * 24 * HOUR);
    expect((await rowsOf('figures_by_hour'))[0]?.at.getTime()).toBe(Date.parse(START));
    await kit.advance(380 * 24 * HOUR);
    await kit.end();
    await kit.advance(2 * HOUR);
    await kit.rollUp();
    expect(await counted()).toEqual(exact());
    expect((await rowsOf('figures_by_hour'))[0]?.at.getTime()).toBeGreaterThan(Date.parse(START));
  });

  it.each(['as they are', 'of nearly empty tables'])(
    'keep few minutes, however many are added each hour, with statistics %s',
    async statistics => {
      const add = async (at: string, count: number) =>
        await kit.test.sql(
          `insert into tock.figures_by_minute (at, job, queue, status, reason, run_count, occurrence_count, duration_us, wait_us)
         select ${at}, 'job-' || n, 'default', 'cancelled', '', 1, 1, 0, 0 from generate_series(1, $1::int) n`,
          [count],
        );
      await kit.end();
      await kit.advance(2 * HOUR);
      if (statistics === 'of nearly empty tables') {
        await add(`tock.now() - interval '3 days'`, 1);
        await kit.test.sql('alter table tock.figures_by_minute set (autovacuum_enabled = false)');
        await kit.test.sql('analyze tock.figures_by_minute');
        await kit.test.sql('delete from tock.figures_by_minute');
      }
      await add(`tock.now() - interval '3 days'`, 70_000);
      await add(`date_bin('1 minute', tock.now() - interval '110 minutes', 'epoch')`, 30_000);
      await kit.rollUp();
      expect((await rowsOf('figures_by_minute')).length).toBeLessThanOrEqual(30_001);
    },
  );

  it('of a job that has not run for thirteen months go', async () => {
    await kit.end({ job: 'old' });
    await kit.advance(410 * 24 * HOUR);
    await kit.end({ job: 'new' });
    await kit.advance(2 * HOUR);
    await kit.rollUp();
    expect(Object.keys(await countedSums(kit.database))).toEqual(['new default succeeded ']);
  });

  it('are brought up to date by prune before it drops anything', async () => {
    for (let minute = 0; minute < 20; minute++) {
      await kit.end();
      await kit.advance(MINUTE);
    }
    await kit.advance(HOUR);
    await kit.test.tock.prune({ keep: '30m' });
    expect(await kit.test.sql('select from tock.job_runs_finished')).toEqual([]);
    expect(await counted()).toEqual(exact());
  });

  it('stay where the clock is set back, and count on', async () => {
    for (let minute = 0; minute < 150; minute += 10) {
      await kit.setNow(Date.parse(START) + minute * MINUTE);
      await kit.end();
    }
    await kit.advance(5 * MINUTE);
    await kit.rollUp();
    expect(await counted()).toEqual(exact());
    await kit.setNow(Date.parse(START) + 35 * MINUTE);
    await kit.rollUp();
    expect(await counted()).toEqual(exact());
    for (let step = 0; step < 10; step++) {
      await kit.end();
      await kit.advance(23 * MINUTE);
      await kit.rollUp();
      expect(await counted()).toEqual(exact());
    }
  });
});

it('several processes leave it to the one that is at it, without waiting', async () => {
  const holder = new pg.Client(kit.test.url);
  await holder.connect();
  await holder.query('begin; select from tock.figures_progress for update');
  await kit.end();
  await kit.advance(2 * MINUTE);
  expect(await kit.rollUp()).toBe(0);
  await holder.end();
  expect(await kit.rollUp()).toBe(1);
});

describe('a tick', () => {
  it('counts what ended, if it had something to do', async () => {
    const job = defineJob({ name: 'noop', run: () => null });
    const tock = kit.test.another({ jobs: [job] });
    await tock.enqueue(job);
    await tock.tick();
    await kit.advance(2 * MINUTE);
    await tock.enqueue(job);
    await tock.tick();
    expect(await minutes()).toEqual([[0, 1]]);
    expect((await readOutcomes(kit.database)).total.succeeded).toBe(2);
  });

  it('does not fail where it cannot count, and says so', async () => {
    const { logger, lines } = collectLines();
    const broken = await openTestTock([defineJob({ name: 'noop', run: () => null })], { logger });
    try {
      await broken.sql('drop table tock.figures_by_minute');
      await broken.tock.enqueue('noop');
      expect((await broken.tock.tick()).executed).toMatchObject({ succeeded: 1 });
      const count = createRollUp({
        database: openDatabase({ connectionString: broken.url }),
        logger,
      } as unknown as Engine);
      await broken.setClock('2040-01-01T00:00:00Z');
      await count();
      await count();
      // Once for the tick, if its minute was over, and once for the two calls.
      const left = lines.filter(({ event }) => event === 'figures.left');
      expect(left.length).toBeGreaterThanOrEqual(1);
      expect(left.length).toBeLessThanOrEqual(2);
      expect(String(left[0]?.['error'])).toContain('figures_by_minute');
    } finally {
      await broken.close();
    }
  });
});

describe('whatever happens', () => {
  const action = fc.oneof(
    {
      weight: 6,
      arbitrary: fc.record({
        kind: fc.constant('end' as const),
        status: fc.constantFrom(...FINISHED_STATUSES, 'dead', 'dead'),
        job: fc.constantFrom('a', 'b'),
        queue: fc.constantFrom('q', 'default'),
        durationMs: fc.option(fc.nat(5_000_000)),
        waitMs: fc.nat(10_000),
        occurrences: fc.integer({ min: 1, max: 9 }),
      }),
    },
    { weight: 2, arbitrary: fc.record({ kind: fc.constant('open' as const) }) },
    {
      weight: 2,
      arbitrary: fc.record({
        kind: fc.constantFrom('commit' as const, 'rollback' as const),
        which: fc.nat(9),
      }),
    },
    { weight: 2, arbitrary: fc.record({ kind: fc.constant('retry' as const), which: fc.nat(30) }) },
    {
      weight: 5,
      arbitrary: fc.record({
        kind: fc.constant('advance' as const),
        ms: fc.oneof(fc.nat(90_000), fc.nat(20 * MINUTE), fc.nat(5 * HOUR)),
      }),
    },
    {
      weight: 5,
      arbitrary: fc.record({
        kind: fc.constant('count' as const),
        processes: fc.integer({ min: 1, max: 3 }),
      }),
    },
    { weight: 1, arbitrary: fc.record({ kind: fc.constant('drop' as const) }) },
  );

  it('counters never fall, and are exact as soon as no transaction is open that was waited for in vain', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(action, { minLength: 5, maxLength: 60 }), async actions => {
        const here = await openFiguresKit();
        const open: OpenTransaction[] = [];
        let last = sumsOf([]);
        const check = async () => {
          const sums = await countedSums(here.database);
          for (const [key, sum] of Object.entries(last))
            for (const [index, value] of sum.entries())
              expect(sums[key]?.[index] ?? 0, `${key} ${index}`).toBeGreaterThanOrEqual(value);
          last = sums;
          const { final, counted: until } = await here.progress();
          if (final === until) expect(sums).toEqual(sumsOf(here.ends));
        };
        try {
          for (const each of actions) {
            // What is committed a day after its end is not counted: that is said, and not tried here.
            for (const one of open.filter(({ end }) => end.at < here.now() - 18 * HOUR)) {
              open.splice(open.indexOf(one), 1);
              await one.commit();
            }
            if (each.kind === 'end') await here.end(each);
            else if (each.kind === 'open') open.push(await here.endLater());
            else if (each.kind === 'advance') await here.advance(each.ms);
            else if (each.kind === 'count')
              await Promise.all(Array.from({ length: each.processes }, () => here.rollUp()));
            else if (each.kind === 'drop')
              await here.test.sql(
                'delete from tock.job_runs_finished r using tock.figures_progress p where r.finished_at < p.final_until',
              );
            else if (each.kind === 'retry') {
              const there = await here.test.sql<{ id: string }>(
                `select id::text from tock.job_runs_finished where status in ('dead', 'cancelled') order by id`,
              );
              const run = there[each.which];
              if (run) await here.test.tock.runs.retry(run.id);
            } else {
              const [one] = open.splice(each.which % Math.max(1, open.length), 1);
              await one?.[each.kind]();
            }
            await check();
          }
          for (const one of open) await one.commit();
          await here.advance(2 * HOUR);
          for (let round = 0; round < 4; round++) await here.rollUp();
          const { final, counted } = await here.progress();
          expect(final).toBe(counted);
          await check();
        } finally {
          await here.close();
        }
      }),
      { numRuns: 12 },
    );
  });
});
