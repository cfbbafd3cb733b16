// Engine: two versions of the code side by side, as in a rolling deploy: runs of jobs that one of them lacks.
import { beforeEach, describe, expect, it } from 'vitest';
import { explainRun } from '../../src/answers/now/run-now.js';
import { nextStep } from '../../src/cli/views/run-text.js';
import { type AnyJob, defineJob, type JobSchedule } from '../../src/index.js';
import { openDatabase } from '../support/database.js';
import { openForEach } from '../support/open.js';
import { reuseTestTock, until } from '../support/test-tock.js';

const once = { retry: { maxAttempts: 1 } };
let executed: string[];
/** Handlers that wait, by the name of their job. */
let held: Map<string, () => void>;
const job = (name: string, more: object = {}): AnyJob =>
  defineJob({ name, ...once, ...more, run: ({ runId }) => void executed.push(`${name} ${runId}`) });
const holding = (name: string): AnyJob =>
  defineJob({ name, run: () => new Promise<void>(resolve => held.set(name, resolve)) });
const known = job('known');
const fresh = job('fresh');

const test = openForEach(reuseTestTock);
beforeEach(() => {
  executed = [];
  held = new Map();
});

/** What older code knows, and newer code; both have registered. */
const versions = async (newer: readonly AnyJob[] = [known, fresh], older: readonly AnyJob[] = [known]) => {
  const [v1, v2] = [test.another({ jobs: older }), test.another({ jobs: newer })];
  await v1.register();
  await v2.register();
  return { v1, v2 };
};
const run = async (id: string) => await test.tock.runs.get(id);
const ended = async (ids: readonly string[]) =>
  await until(
    async () =>
      (await test.sql('select from tock.job_runs_finished where id = any($1)', [ids])).length === ids.length,
    'the runs to end',
  );
const states = async () =>
  await test.sql<{ status: string; attempts: number; count: number }>(
    'select status, attempts, count(*)::int as count from tock.job_runs group by 1, 2 order by 1, 2',
  );
const WAITS = { status: 'queued', attempts: 0, blockedOn: 'code:fresh', errors: [] };

describe('a run of a job that a worker does not know', () => {
  it('is executed by one that does, in its only attempt, while both claim from the first run on', async () => {
    const [v1, v2] = [test.another({ jobs: [known] }), test.another({ jobs: [known, fresh] })];
    // It has registered before the newer version, and does not know that there is one.
    const older = await v1.start();
    const newer = await v2.start();
    const ids: string[] = [];
    for (let n = 0; n < 40; n++) ids.push(await v2.enqueue(n % 4 === 0 ? 'known' : 'fresh'));
    await ended(ids);
    await Promise.all([older.stop(), newer.stop()]);
    expect(await states()).toEqual([{ status: 'succeeded', attempts: 1, count: 40 }]);
    expect(executed).toHaveLength(40);
  });

  it('is given back uncounted by a tick, and claimed by no later one of that version', async () => {
    const { v1, v2 } = await versions();
    const id = await v2.enqueue('fresh');
    expect((await v1.tick()).executed).toMatchObject({ claimed: 1, deferred: 1, dead: 0 });
    expect(await run(id)).toMatchObject({ ...WAITS, fence: 1, releases: 0 });
    for (let n = 0; n < 3; n++) expect((await v1.tick()).executed).toMatchObject({ claimed: 0 });
    expect((await v2.tick()).executed).toMatchObject({ claimed: 1, succeeded: 1 });
    expect(await run(id)).toMatchObject({ status: 'succeeded', attempts: 1, fence: 2, blockedOn: null });
  });

  it('is claimed once by a daemon of that version, also where it is given back again and again', async () => {
    const { v1, v2 } = await versions();
    const older = await v1.start();
    const ids = await v2.enqueueMany(Array.from({ length: 20 }, () => ({ job: 'fresh' })));
    const given = async (fence: number) =>
      (await test.sql('select from tock.job_runs_live where blocked_on is not null and fence >= $1', [fence]))
        .length;
    await until(async () => (await given(1)) === 20, 'all to be given back');
    // It claims what comes after, and leaves them.
    await ended([await v2.enqueue('known')]);
    expect(await test.sql('select max(fence) as fence from tock.job_runs_live')).toEqual([{ fence: 1 }]);
    await older.stop();
    expect((await v2.tick()).executed).toMatchObject({ claimed: 20, succeeded: 20 });
    expect(executed).toHaveLength(21);
    expect(ids).toHaveLength(20);
  });

  it('starts at once in a daemon that knows it and is there when it is given back', async () => {
    const { v1, v2 } = await versions();
    const id = await v2.enqueue('fresh');
    await v1.tick();
    expect(await run(id)).toMatchObject(WAITS);
    const other = await v2.enqueue('fresh', {}, { delay: '1h' });
    const newer = await v2.start();
    await ended([id]);
    // It sleeps, and is told.
    await test.sql(`update tock.job_runs_live set run_at = tock.now(), queue = 'default' where id = $1`, [
      other,
    ]);
    await v1.tick();
    await ended([other]);
    await newer.stop();
    expect(await run(other)).toMatchObject({ status: 'succeeded', attempts: 1 });
  });

  it('is found by a tick that leaves the reaping to another process, which may not know it', async () => {
    const { v1, v2 } = await versions();
    const id = await v2.enqueue('fresh');
    await v1.tick();
    const other = openDatabase({ connectionString: test.url });
    await other.transaction(async session => {
      await session.run(`select pg_advisory_xact_lock(hashtextextended('tock.reap', 0))`);
      expect((await v2.tick()).executed).toMatchObject({ succeeded: 1 });
    });
    await other.close();
    expect(await run(id)).toMatchObject({ status: 'succeeded', attempts: 1 });
  });

  it('waits for a handler of a busy worker, and is not claimed by others meanwhile', async () => {
    const busy = holding('busy');
    const { v1, v2 } = await versions([known, fresh, busy], [known]);
    await v2.enqueue('busy');
    const newer = await v2.start({ concurrency: 1 });
    await until(() => Promise.resolve(held.has('busy')), 'the only handler to be at work');
    const ids = await v2.enqueueMany([{ job: 'fresh' }, { job: 'fresh' }]);
    for (let n = 0; n < 3; n++) await v1.tick();
    for (const id of ids) expect(await run(id)).toMatchObject({ ...WAITS, fence: 1 });
    held.get('busy')?.();
    await ended(ids);
    await newer.stop();
    for (const id of ids) expect(await run(id)).toMatchObject({ status: 'succeeded', attempts: 1, fence: 2 });
  });

  it('goes on waiting, and is lost to nobody, where no version knows it', async () => {
    const { v1 } = await versions([known], [known, job('older')]);
    const [row] = await test.sql<{ id: string }>(`select tock.enqueue('gone', max_attempts => 1) as id`);
    const id = row?.id ?? '';
    await test.setClock('2026-03-01T12:00:00Z');
    await test.sql('update tock.job_runs_live set run_at = tock.now()');
    for (let hour = 0; hour < 5; hour++) {
      await v1.tick();
      await test.advance('1h');
    }
    expect(await run(id)).toMatchObject({ ...WAITS, blockedOn: 'code:gone', fence: 1 });
    expect(await test.another({ jobs: [known, job('gone')], allowVanishing: true }).tick()).toMatchObject({
      executed: { succeeded: 1 },
    });
  });

  it('is named by status, doctor, why and show, with what can be done', async () => {
    await test.setClock('2026-03-01T12:00:30Z');
    const fast = { schedule: { cron: '* * * * *' } } as const;
    const { v1, v2 } = await versions([known, job('fresh', fast)]);
    await test.setClock('2026-03-01T12:01:00Z');
    for (let n = 0; n < 5; n++) await test.sql(`select tock.enqueue('gone', max_attempts => 1)`);
    await v1.tick();
    await test.advance('3m');
    const gone = { job: 'gone', runs: 5, isCapped: false, waitMs: 180_000, isKnown: false };
    const awaited = { job: 'fresh', runs: 1, isCapped: false, waitMs: 180_000, isKnown: true };
    expect(await v1.status()).toMatchObject({ awaitedJobs: [gone, awaited], oldestWaitMs: 0 });
    const sentences = async () =>
      (await v1.health()).sentences.flatMap(({ code, text }) => (code?.endsWith('-jobs') ? [text] : []));
    const nobody = /^[Nn]obody has the job gone: 5 runs wait for code that does, the oldest for 3m$/;
    expect(await sentences()).toEqual([expect.stringMatching(nobody)]);
    const { checks } = await v1.doctor();
    expect(checks.find(({ code }) => code === 'runs')).toMatchObject({
      level: 'warning',
      text: expect.stringMatching(/nobody has the job gone/i),
      remedy: expect.stringMatching(/Deploy code that has the job, or aliases for it/),
    });
    const why = await v2.why('fresh', '2026-03-01T12:01:00Z');
    expect(why.sentences.join('; ')).toMatch(
      /waits for a worker whose code has job fresh: the one that claimed it does not\. Deploy code that has the job/,
    );
    // Only in a rolling deploy that takes long is the other one worth a word.
    await test.advance('3m');
    expect(await sentences()).toEqual([
      expect.stringMatching(/nobody has the job gone/i),
      expect.stringMatching(
        /^1 run of the job fresh waits for a worker whose code has the job, the oldest for 6m$/,
      ),
    ]);
    const [first] = await v1.runs.list({ job: 'gone' });
    if (first === undefined) throw new Error('it is not there');
    expect(nextStep(first, Date.parse('2026-03-01T12:07:00Z'))).toBe(
      "attempt 1 of 1 is due and waits for a worker whose code has job gone: the one that claimed it does not. Deploy code that has the job, or a job with aliases: ['gone']; or cancel the run",
    );
    const around = { now: new Date('2026-03-01T12:07:00Z'), queue: null, workerSeenAt: null, frozen: null };
    expect(explainRun({ ...first, worker: null }, { ...around, holders: { ids: [], count: 0 } })).toEqual({
      tone: 'attention',
      sentence:
        'Attempt 1 of 1 waits for a worker whose code has job gone: the one that claimed it does not.',
      remedy: "Deploy code that has the job, or a job with aliases: ['gone']; or cancel the run.",
      waitsFor: 'a worker whose code has job gone',
    });
    await v2.runs.cancelMany({ job: 'gone' });
    expect((await v1.status()).awaitedJobs).toMatchObject([{ job: 'fresh' }]);
  });

  it('is not touched by a process without any job', async () => {
    const { v2 } = await versions();
    const id = await v2.enqueue('fresh');
    const none = test.another({ jobs: [] });
    expect((await none.tick()).executed).toMatchObject({ claimed: 0 });
    expect(await run(id)).toMatchObject({ status: 'queued', fence: 0, blockedOn: null });
  });
});

describe('a run that has waited for code', () => {
  const scheduled = (schedule: JobSchedule) =>
    defineJob({ name: 'fresh', schedule, ...once, run: () => void executed.push('fresh') });

  it('has kept its definition’s turn', async () => {
    await test.setClock('2026-03-01T12:00:30Z');
    const { v1, v2 } = await versions([known, scheduled({ cron: '* * * * *', overlap: 'buffer_all' })]);
    for (const minute of [1, 2]) {
      await test.setClock(`2026-03-01T12:0${minute}:01Z`);
      await v1.tick();
    }
    const blocked = () =>
      test.sql(`select split_part(blocked_on, ':', 1) as on from tock.job_runs_live order by scheduled_for`);
    expect(await blocked()).toEqual([{ on: 'code' }, { on: 'definition' }]);
    expect((await v2.tick()).executed).toMatchObject({ succeeded: 2 });
  });

  it('has left its slot to others, and gets one again', async () => {
    const limited = job('fresh', { concurrency: { limit: 1 } });
    const { v1, v2 } = await versions([known, limited]);
    const ids = await v2.enqueueMany(Array.from({ length: 5 }, () => ({ job: limited })));
    await v1.tick();
    expect(await test.sql('select from tock.job_slots')).toEqual([]);
    await v2.tick();
    for (const id of ids) expect(await run(id)).toMatchObject({ status: 'succeeded', attempts: 1 });
  });

  it('stays where its queue is paused, or is not among the worker’s', async () => {
    const { v1, v2 } = await versions();
    const id = await v2.enqueue('fresh', {}, { queue: 'mail' });
    await v1.tick();
    await v2.queues.pause('mail');
    expect((await v2.tick()).executed).toMatchObject({ claimed: 0 });
    await v2.queues.resume('mail');
    expect((await v2.tick({ queues: ['other'] })).executed).toMatchObject({ claimed: 0 });
    expect(await run(id)).toMatchObject(WAITS);
    expect((await v2.tick({ queues: ['mail'] })).executed).toMatchObject({ succeeded: 1 });
  });

  it('takes turns with others, so that neither more urgent runs nor those that wait starve', async () => {
    // As long as one waits, something more urgent is due.
    const urgent = defineJob({
      name: 'urgent',
      priority: 1,
      async run({ runId, enqueue }) {
        const count = executed.push(`urgent ${runId}`);
        if (executed.filter(each => each.startsWith('fresh')).length < 3 && count < 1000)
          await enqueue<string>('urgent');
      },
    });
    const { v1, v2 } = await versions([known, fresh, urgent], [known, urgent]);
    const [a, b, c] = await v2.enqueueMany([
      { job: 'fresh', priority: 5 },
      { job: 'fresh', priority: 4 },
      { job: 'fresh', priority: 5 },
    ]);
    await v1.tick();
    await v2.enqueue('urgent');
    await v2.tick({ concurrency: 1 });
    const places = [b, a, c].map(id => executed.indexOf(`fresh ${id}`));
    const [first = 0, second = 0, third = 0] = places;
    expect([...places].sort((x, y) => x - y)).toEqual(places);
    expect(first).toBeGreaterThanOrEqual(0);
    expect(third).toBeLessThan(999);
    expect(second - first).toBeGreaterThan(1);
  });

  it('is one of many, which are executed as fast as others', async () => {
    const { v1, v2 } = await versions();
    await v2.enqueueMany(Array.from({ length: 3000 }, () => ({ job: 'fresh' })));
    await v1.tick();
    expect(
      await test.sql(`select count(*)::int as count from tock.job_runs_live where blocked_on is not null`),
    ).toEqual([{ count: 3000 }]);
    const summary = await v2.tick({ concurrency: 50 });
    expect(summary).toMatchObject({ stoppedEarly: false, executed: { succeeded: 3000 } });
  });
});
