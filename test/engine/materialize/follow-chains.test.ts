// Engine: definitions that run after others, keyed by the others' occurrence; and dead runs that are redirected.
import { beforeEach, describe, expect, it } from 'vitest';
import { type After, type AnyJob, Dead, defineJob, type JobContext } from '../../../src/index.js';
import { openForEach } from '../../support/open.js';
import { reuseTestTock } from '../../support/test-tock.js';

const test = openForEach(reuseTestTock);
/** Jobs whose next runs are to end dead. */
let failing: Set<string>;
beforeEach(async () => {
  failing = new Set();
  await test.setClock('2026-03-01T11:59:30Z');
});

const parent = (name: string, cron = '0 * * * *'): AnyJob =>
  defineJob({
    name,
    schedule: { cron, overlap: 'allow_all', catchup: 'all' },
    run: () => {
      if (failing.has(name)) throw new Dead('no');
    },
  });
const child = (name: string, after: After, more: object = {}): AnyJob =>
  defineJob({
    name,
    schedule: { after, ...more },
    run: ctx => ({ at: ctx.scheduledFor, from: ctx.dataInterval?.start, trigger: ctx.trigger }),
  });
const states = async (definition: string) =>
  (await test.tock.runs.list({ definition })).toReversed().map(run => ({
    at: run.scheduledFor?.toISOString().slice(11, 16),
    status: run.status === 'skipped' ? `skipped ${run.skipReason}` : run.status,
  }));
const open = async (...jobs: AnyJob[]) => {
  const tock = test.another({ jobs });
  await tock.tick();
  await test.advance('30s');
  return tock;
};

describe('after', () => {
  it('runs once for each occurrence that succeeded, with its instant, interval and trigger', async () => {
    const tock = await open(parent('load'), child('report', 'load'));
    await tock.tick();
    expect(await states('report')).toEqual([{ at: '12:00', status: 'succeeded' }]);
    const [run] = await tock.runs.list({ definition: 'report' });
    expect(run).toMatchObject({
      trigger: 'chain',
      output: { at: '2026-03-01T12:00:00.000Z', from: '2026-03-01T11:00:00.000Z', trigger: 'chain' },
    });
    await tock.tick();
    expect(await states('report')).toHaveLength(1);
    expect(await test.sql('select * from tock.job_outbox')).toEqual([]);
  });

  it('follows a run that an operator cancels, at once', { tags: 'check' }, async () => {
    const tock = await open(parent('load'), child('sweep', { all: ['load'], on: 'completion' }));
    await tock.tick({ queues: ['another'] });
    const [waits] = await tock.runs.list({ definition: 'load', status: ['queued'] });
    await tock.runs.cancel(waits?.id ?? '');
    // Regression: two columns of the statement had one name, and what follows waited for the next tick.
    expect(await states('sweep')).toEqual([{ at: '12:00', status: 'queued' }]);
  });

  it('leaves a skipped row where the outcome is not the one asked for; a retry that succeeds runs it', {
    tags: 'check',
  }, async () => {
    failing.add('load');
    const tock = await open(
      parent('load'),
      child('report', 'load'),
      child('alarm', { all: 'load', on: 'failure' }),
      child('sweep', { all: ['load'], on: 'completion' }),
    );
    await tock.tick();
    expect(await states('report')).toEqual([{ at: '12:00', status: 'skipped chain' }]);
    expect(await states('alarm')).toEqual([{ at: '12:00', status: 'succeeded' }]);
    expect(await states('sweep')).toEqual([{ at: '12:00', status: 'succeeded' }]);
    failing.clear();
    const [dead] = await tock.runs.list({ status: 'dead' });
    await tock.runs.retry(dead?.id ?? '');
    await tock.tick();
    expect(await states('report')).toEqual([
      { at: '12:00', status: 'skipped chain' },
      { at: '12:00', status: 'succeeded' },
    ]);
    // What has run for the occurrence does not run again.
    expect(await states('alarm')).toHaveLength(1);
    expect(await states('sweep')).toHaveLength(1);
  });

  it('all waits for each of them, any for the first; of the same occurrence', { tags: 'check' }, async () => {
    const tock = await open(
      parent('hourly'),
      parent('daily', '0 12 * * *'),
      child('both', ['hourly', 'daily']),
      child('either', { any: ['hourly', 'daily'] }),
    );
    await tock.tick();
    await test.advance('1h');
    await tock.tick();
    expect(await states('both')).toEqual([{ at: '12:00', status: 'succeeded' }]);
    expect(await states('either')).toEqual([
      { at: '12:00', status: 'succeeded' },
      { at: '13:00', status: 'succeeded' },
    ]);
  });

  it('two parents that end at the same moment in two processes start it once', {
    tags: 'check',
  }, async () => {
    const parents = Array.from({ length: 6 }, (_, index) => parent(`part-${index}`));
    const jobs = [
      ...parents,
      child(
        'whole',
        parents.map(each => each.name),
      ),
    ];
    const tock = await open(...jobs);
    const ticks = Array.from({ length: 6 }, () => test.another({ jobs }).tick({ concurrency: 1 }));
    await Promise.all([tock.tick({ concurrency: 1 }), ...ticks]);
    await tock.tick();
    expect(await states('whole')).toEqual([{ at: '12:00', status: 'succeeded' }]);
  });

  it('goes on over several links, and with a backfill of the first', { tags: 'check' }, async () => {
    const tock = await open(parent('load'), child('clean', 'load'), child('report', 'clean'));
    await tock.schedules.backfill('load', { from: '2026-03-01T08:00:00Z', to: '2026-03-01T12:00:00Z' });
    await tock.tick();
    await tock.tick();
    const all = ['08:00', '09:00', '10:00', '11:00', '12:00'].map(at => ({ at, status: 'succeeded' }));
    const sorted = async (name: string) =>
      (await states(name)).sort((a, b) => (a.at ?? '').localeCompare(b.at ?? ''));
    expect(await sorted('clean')).toEqual(all);
    expect(await sorted('report')).toEqual(all);
  });

  it('goes one after another also where parents end out of turn: who has begun ends first', {
    tags: 'check',
  }, async () => {
    const begun: string[] = [];
    const failsFirst = new Set(['load 12:00', 'report 13:00']);
    const note = (ctx: JobContext) => {
      const name = `${ctx.definition} ${ctx.scheduledFor?.toISOString().slice(11, 16)}`;
      begun.push(name);
      if (failsFirst.delete(name)) throw new Error('not yet');
    };
    const load = defineJob({
      name: 'load',
      schedule: { cron: '0 * * * *', overlap: 'allow_all', catchup: 'all' },
      retry: { base: '5m', jitter: 0 },
      run: note,
    });
    const report = defineJob({
      name: 'report',
      schedule: { after: 'load' },
      retry: { base: '10m', jitter: 0 },
      run: note,
    });
    const tock = test.another({ jobs: [load, report] });
    await tock.tick();
    await test.setClock('2026-03-01T13:00:00Z');
    await tock.tick();
    // Of 12:00 the parent waits for its next attempt; of 13:00 the child does, and keeps the one place.
    expect(await states('load')).toMatchObject([{ status: 'failed' }, { status: 'succeeded' }]);
    expect(await states('report')).toEqual([{ at: '13:00', status: 'failed' }]);
    await test.advance('5m');
    await tock.tick();
    expect(await states('report')).toEqual([
      { at: '13:00', status: 'failed' },
      { at: '12:00', status: 'queued' },
    ]);
    await test.advance('5m');
    // Regression: 12:00 waited for the place of 13:00, and 13:00 for 12:00 to have its turn, for ever.
    await tock.tick();
    await tock.tick();
    expect(begun.filter(name => name.startsWith('report'))).toEqual([
      'report 13:00',
      'report 13:00',
      'report 12:00',
    ]);
    expect((await states('report')).map(each => each.status)).toEqual(['succeeded', 'succeeded']);
    expect(await test.sql('select from tock.job_slots')).toEqual([]);
  });

  it('heeds a pause and what remains', { tags: 'check' }, async () => {
    const tock = await open(parent('load'), child('report', 'load', { remaining: 2 }));
    await tock.tick();
    await tock.schedules.pause('report');
    await test.advance('1h');
    await tock.tick();
    await tock.schedules.resume('report');
    for (let hour = 0; hour < 3; hour++) {
      await test.advance('1h');
      await tock.tick();
    }
    expect(await states('report')).toEqual([
      { at: '12:00', status: 'succeeded' },
      { at: '13:00', status: 'skipped paused' },
      { at: '14:00', status: 'succeeded' },
    ]);
  });

  it('skips what its parent skips, with a reason', { tags: 'check' }, async () => {
    const tock = await open(
      defineJob({ name: 'load', schedule: { cron: '0 * * * *' }, run: () => null }),
      child('report', 'load'),
    );
    await test.advance('3h');
    await tock.tick();
    expect(await states('report')).toEqual([
      { at: '14:00', status: 'skipped chain' },
      { at: '15:00', status: 'succeeded' },
    ]);
  });

  it('may be stated at run time; circles and unknown names are refused there', {
    tags: 'check',
  }, async () => {
    const idle = defineJob({ name: 'idle', run: () => null });
    const tock = await open(parent('load'), idle);
    await tock.schedules.upsert({ name: 'one', job: idle, after: 'load' });
    await tock.schedules.upsert({ name: 'two', job: idle, after: 'one' });
    await expect(tock.schedules.upsert({ name: 'one', job: idle, after: 'two' })).rejects.toThrow(
      'after makes a circle, and none of it would ever run: one after two after one',
    );
    await expect(tock.schedules.upsert({ name: 'three', job: idle, after: 'nobody' })).rejects.toThrow(
      'after names "nobody", which no definition is called',
    );
    await tock.tick();
    expect(await states('two')).toEqual([{ at: '12:00', status: 'succeeded' }]);
    expect((await tock.schedules.list({ name: 'one' }))[0]).toMatchObject({
      after: { definitions: ['load'], require: 'all', on: 'success' },
    });
  });

  it('refuses circles in code, itself, and options of time beside it', () => {
    expect(() => test.another({ jobs: [child('a', 'b'), child('b', 'a')] })).toThrow(
      'after makes a circle, and none of it would ever run: a after b after a',
    );
    expect(() => child('a', ['b', 'a'])).toThrow('after names "a" itself');
    expect(() => child('a', 'b', { cron: '* * * * *', jitter: '1m' })).toThrow(
      'a schedule has after and cron, jitter',
    );
    expect(() => child('a', [])).toThrow('after names 0 definitions');
    expect(() => child('a', { all: ['b'], on: 'never' as 'success' })).toThrow(
      'none of success, failure, completion',
    );
  });
});

describe('onDead', () => {
  it('enqueues its job once for each time that a run ends dead, with what is known', {
    tags: 'check',
  }, async () => {
    failing.add('load');
    const seen: unknown[] = [];
    const care = defineJob({
      name: 'care',
      run: (_ctx, payload: unknown) => {
        seen.push(payload);
      },
    });
    const load = defineJob({
      name: 'load',
      schedule: { cron: '0 * * * *', payload: { shop: 7 } },
      onDead: care,
      run: () => {
        throw new Dead('out of paper');
      },
    });
    const tock = await open(load, care);
    await tock.tick();
    const [dead] = await tock.runs.list({ status: 'dead' });
    expect(seen).toEqual([
      {
        run: dead?.id,
        job: 'load',
        definition: 'load',
        scheduledFor: '2026-03-01T12:00:00Z',
        payload: { shop: 7 },
        errors: [expect.objectContaining({ message: 'out of paper', attempt: 1 })],
      },
    ]);
    await tock.runs.retry(dead?.id ?? '', { attempts: 1 });
    await tock.tick();
    expect(seen).toHaveLength(2);
  });

  it('names a job that is there, and not itself', () => {
    const make = (onDead: string) => defineJob({ name: 'load', onDead, run: () => null });
    expect(() => make('load')).toThrow('onDead of job load is the job itself');
    expect(() => test.another({ jobs: [make('care')] })).toThrow(
      'onDead of job load names "care", which is not among',
    );
  });
});

it('pauseOnFailure pauses after so many dead runs in a row, and counts afresh once resumed', {
  tags: 'check',
}, async () => {
  failing.add('load');
  const load = defineJob({
    name: 'load',
    schedule: { cron: '0 * * * *', pauseOnFailure: 2 },
    run: () => {
      if (failing.has('load')) throw new Dead('no');
    },
  });
  const tock = await open(load);
  const definition = async () => (await tock.schedules.list({ name: 'load' }))[0];
  const hours = async (count: number) => {
    for (let hour = 0; hour < count; hour++) {
      await tock.tick();
      await test.advance('1h');
    }
  };
  await hours(1);
  failing.clear();
  await hours(1);
  failing.add('load');
  await hours(1);
  expect(await definition()).toMatchObject({ pausedAt: null });
  await hours(1);
  expect(await definition()).toMatchObject({ pauseReason: 'paused by itself after 2 dead runs in a row' });
  await hours(2);
  await tock.schedules.resume('load');
  await hours(2);
  expect(await definition()).toMatchObject({ pausedAt: null });
  await hours(1);
  expect(await definition()).toMatchObject({ pausedAt: expect.any(Date) });
  expect((await states('load')).map(each => each.status)).toEqual([
    'dead',
    'succeeded',
    'dead',
    'dead',
    'skipped paused',
    'dead',
    'dead',
  ]);
});
