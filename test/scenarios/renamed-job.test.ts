// Engine: a job is renamed, and has its old name as an alias: its runs, its definition, and both versions at once.
import { beforeEach, describe, expect, it } from 'vitest';
import { type AnyJob, defineJob, type JobOptions, nextOccurrence } from '../../src/index.js';
import { openForEach } from '../support/open.js';
import { reuseTestTock, until } from '../support/test-tock.js';

const test = openForEach(reuseTestTock);
let executed: string[];
let working: number;
let most: number;
beforeEach(async () => {
  executed = [];
  working = 0;
  most = 0;
  await test.setClock('2026-03-01T12:00:30Z');
});

type More = Partial<JobOptions>;
const job = (name: string, more: More = {}): AnyJob =>
  defineJob({
    name,
    retry: { maxAttempts: 1 },
    ...more,
    run: ({ scheduledFor }) =>
      void executed.push(`${name} ${scheduledFor?.toISOString().slice(11, 16) ?? ''}`.trim()),
  });
const before = (more: More = {}) => job('old', more);
const after = (more: More = {}) => job('new', { aliases: ['old'], ...more });
const others = ['a', 'b'].map(name => job(name));
const at = (minute: number) => test.setClock(`2026-03-01T12:${String(minute).padStart(2, '0')}:01Z`);
const minutely = { schedule: { cron: '* * * * *' } } as const;
const definitions = async () =>
  await test.sql<{ id: number; name: string; job: string }>(
    `select id::int, name, job, cron, vanished_at is not null as vanished from tock.job_definitions order by id`,
  );
const ids = async () => new Map((await definitions()).map(({ name, id }) => [name, id]));

describe('a run of a job’s former name', () => {
  it('is executed by the job, whether the library or SQL has enqueued it, before or after the rename', async () => {
    const [v1, v2] = [test.another({ jobs: [before()] }), test.another({ jobs: [after()] })];
    await v1.register();
    const first = await v1.enqueue('old');
    await v2.register();
    const second = await v1.enqueue('old');
    const third = await v2.enqueue('old');
    const [row] = await test.sql<{ id: string; queue: string }>(`select tock.enqueue('old') as id`);
    expect((await v2.tick()).executed).toMatchObject({ claimed: 4, succeeded: 4 });
    expect(executed).toEqual(['new', 'new', 'new', 'new']);
    const names = await Promise.all(
      [first, second, third, row?.id ?? ''].map(async id => (await v2.runs.get(id))?.job),
    );
    expect(names).toEqual(['old', 'old', 'new', 'old']);
  });

  it('has the job’s defaults where SQL enqueues it, and its retry policy, also when it is reaped', {
    tags: 'check',
  }, async () => {
    const policy = { maxAttempts: 7, backoff: 'fixed', base: '42s', jitter: 0 } as const;
    const failing = defineJob({
      name: 'new',
      aliases: ['old'],
      queue: 'mail',
      retry: policy,
      run: () => {
        throw new Error('no');
      },
    });
    const tock = test.another({ jobs: [failing] });
    await tock.register();
    await test.sql(`select tock.enqueue('old')`);
    await tock.tick();
    const due = () =>
      test.sql(`select queue, max_attempts, status, extract(epoch from run_at - tock.now())::int as seconds
        from tock.job_runs_live`);
    expect(await due()).toEqual([{ queue: 'mail', max_attempts: 7, status: 'failed', seconds: 42 }]);
    await test.sql(`update tock.job_runs_live set status = 'running', locked_until = tock.now() - interval '1 s',
      run_at = tock.now(), locked_by = gen_random_uuid()`);
    await tock.tick();
    expect(await due()).toMatchObject([{ status: 'failed', seconds: 42 }]);
  });

  it('is followed by the job’s onDead', { tags: 'check' }, async () => {
    const failing = defineJob({
      name: 'new',
      aliases: ['old'],
      retry: { maxAttempts: 1 },
      onDead: 'cleans',
      run: () => {
        throw new Error('no');
      },
    });
    const jobs = [before({ onDead: 'cleans' }), job('cleans')];
    await test.another({ jobs }).register();
    const tock = test.another({ jobs: [failing, job('cleans')] });
    await test.sql(`select tock.enqueue('old', max_attempts => 1)`);
    await tock.tick();
    await tock.tick();
    expect(executed).toEqual(['cleans']);
  });

  it('shares the limit of the job with runs of the new name, also those that older code executes', {
    tags: 'check',
  }, async () => {
    const counts = async () => {
      most = Math.max(most, ++working);
      await new Promise(resolve => setImmediate(resolve));
      working--;
    };
    const limit = { concurrency: { limit: 1 } };
    const v1 = test.another({ jobs: [defineJob({ name: 'old', ...limit, run: counts })] });
    const v2 = test.another({ jobs: [defineJob({ name: 'new', aliases: ['old'], ...limit, run: counts })] });
    await v1.register();
    await v2.register();
    for (let n = 0; n < 10; n++) {
      await v1.enqueue('old');
      await v2.enqueue('new');
    }
    const left = () => test.sql('select from tock.job_runs_live');
    for (let n = 0; n < 20 && (await left()).length > 0; n++) await Promise.all([v1.tick(), v2.tick()]);
    expect(await left()).toEqual([]);
    expect(most).toBe(1);
  });
});

describe('the definition of a renamed job', () => {
  it('keeps its id, and so its cursor: no occurrence is lost, and none comes twice', {
    tags: 'check',
  }, async () => {
    const v1 = test.another({ jobs: [before(minutely), ...others] });
    await v1.tick();
    const { old } = Object.fromEntries(await ids());
    await at(1);
    await v1.tick();
    // Three come due while both versions stand still.
    await at(4);
    const all = { schedule: { ...minutely.schedule, catchup: 'all' } } as const;
    const v2 = test.another({ jobs: [after(all), ...others] });
    expect((await v2.tick()).registered).toMatchObject({
      status: 'registered',
      changed: ['new'],
      added: ['old'],
      vanished: [],
    });
    expect(await definitions()).toMatchObject([
      { name: 'a' },
      { name: 'b' },
      { id: old, name: 'new', job: 'new', cron: '* * * * *', vanished: false },
      { name: 'old', job: 'new', cron: null, vanished: false },
    ]);
    for (const minute of [5, 6]) {
      await at(minute);
      await v1.tick();
      await v2.tick();
    }
    // What came due before follows the old definition, whose catch-up is the latest.
    expect(executed).toEqual(['old 12:01', 'new 12:04', 'new 12:05', 'new 12:06']);
    expect((await v2.tick()).registered.status).toBe('unchanged');
  });

  it('has its H by the old name for what is due before the rename', async () => {
    const times = { schedule: { cron: 'H H * * *' } };
    const due = nextOccurrence(times.schedule, new Date('2026-03-01T12:00:30Z'), 'old') ?? new Date(0);
    await test.another({ jobs: [before(times), ...others] }).register();
    await test.setClock(new Date(due.getTime() + 30_000).toISOString());
    const v2 = test.another({ jobs: [after(times), ...others] });
    await v2.tick();
    expect((await v2.runs.list({})).map(run => run.scheduledFor)).toContainEqual(due);
    expect((await v2.prove({ from: '2026-03-01T00:00:00Z' })).found).toEqual([]);
  });

  it('stays paused', { tags: 'check' }, async () => {
    const v1 = test.another({ jobs: [before(minutely)] });
    await v1.tick();
    await v1.schedules.pause('old', { note: 'not now' });
    await at(3);
    const v2 = test.another({ jobs: [after(minutely)] });
    await v2.tick();
    expect(executed).toEqual([]);
    expect(await v2.schedules.list({ name: 'new' })).toMatchObject([{ pauseReason: 'not now' }]);
  });

  it('has its turn taken by a run of the old name that is still at work', { tags: 'check' }, async () => {
    let end: (() => void) | undefined;
    const slow = defineJob({
      name: 'old',
      ...minutely,
      run: () => new Promise<void>(resolve => (end = resolve)),
    });
    const v1 = test.another({ jobs: [slow] });
    await v1.register();
    await at(1);
    const ticking = v1.tick();
    await until(async () => end !== undefined, 'the handler to begin');
    const v2 = test.another({ jobs: [after(minutely)] });
    await at(2);
    await v2.tick();
    expect(executed).toEqual([]);
    end?.();
    await ticking;
    await at(3);
    await v2.tick();
    expect(executed).toEqual(['new 12:03']);
  });

  it('is followed, and executed, by what was made at run time for the old name', {
    tags: 'check',
  }, async () => {
    const v1 = test.another({ jobs: [before(minutely), job('sums')] });
    await v1.register();
    await v1.schedules.upsert({ name: 'other', job: 'old', cron: '* * * * *' });
    await v1.schedules.upsert({ name: 'sum', job: 'sums', after: 'old' });
    await at(1);
    const v2 = test.another({ jobs: [after(minutely), job('sums')] });
    await v2.tick();
    await at(2);
    await v2.tick();
    await v2.tick();
    expect(executed.toSorted()).toEqual([
      'new 12:01',
      'new 12:01',
      'new 12:02',
      'new 12:02',
      'sums 12:01',
      'sums 12:02',
    ]);
    await expect(v2.schedules.upsert({ name: 'old', job: 'sums', every: '1h' })).rejects.toMatchObject({
      code: 'TOCK_BAD_STATE',
    });
  });

  it('comes back under the old name in a roll-back, and goes on', { tags: 'check' }, async () => {
    const v1 = test.another({ jobs: [before(minutely), ...others] });
    const v2 = test.another({ jobs: [after(minutely), ...others] });
    await v1.tick();
    await v2.tick();
    await at(1);
    await v2.tick();
    await at(7);
    expect((await v1.tick()).registered).toMatchObject({
      status: 'registered',
      changed: ['old'],
      vanished: ['new'],
    });
    await at(8);
    await v1.tick();
    expect(executed).toEqual(['new 12:01', 'old 12:07', 'old 12:08']);
  });

  it('lists the alias as another name, and nothing is wrong with it', { tags: 'check' }, async () => {
    const tock = test.another({ jobs: [after(minutely), ...others] });
    await tock.tick();
    const { checks } = await tock.doctor();
    expect(checks.find(({ code }) => code === 'jobs')).toMatchObject({ level: 'ok' });
    expect(await tock.schedules.list({ name: 'old' })).toMatchObject([
      { name: 'old', job: 'new', cron: null },
    ]);
  });
});
