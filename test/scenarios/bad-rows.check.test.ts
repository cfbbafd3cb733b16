// Engine: rows that no statement can work with, as a superuser's hand may leave them, or a time before the constraints. Each is
// set aside with its reason, and all others go on. That they are refused is in test/store/schema/constraints.test.ts.
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createTock, defineJob, type Tock } from '../../src/index.js';
import type { LogLine } from '../../src/testing/captured-logs.js';
import { capturingLogger } from '../../src/testing/captured-logs.js';
import { dropBounds } from '../support/bounds.js';
import { openForEach } from '../support/open.js';
import { whileLocked } from '../support/runs.js';
import { openTestTock } from '../support/test-tock.js';

const quick = defineJob({ name: 'quick', run: () => 'done' });
const limited = defineJob({ name: 'limited', concurrency: { limit: 5 }, run: () => 'done' });
const hourly = defineJob({ name: 'hourly', schedule: { cron: '0 * * * *' }, run: () => 'done' });
const daily = defineJob({ name: 'daily', schedule: { cron: '0 12 * * *' }, run: () => 'done' });
const follower = defineJob({ name: 'follower', schedule: { after: 'hourly' }, run: () => 'done' });
const jobs = [quick, limited, hourly, daily, follower];

const test = openForEach(() => openTestTock(jobs));
let tock: Tock;
let lines: LogLine[];
let deadHeard: string[];
beforeEach(async () => {
  await test.setClock('2026-03-01T11:59:30Z');
  lines = [];
  deadHeard = [];
  // A logger that takes all levels: what is logged of a run must not fail for what its row holds.
  tock = createTock({
    connectionString: test.url,
    jobs,
    logger: capturingLogger(line => lines.push(line), null),
    hooks: { onDead: run => void deadHeard.push(run.id) },
  });
  await tock.register();
});
afterEach(async () => {
  await tock.close();
});

const insertLive = async (columns: Readonly<Record<string, unknown>>) => {
  const row = { job: 'quick', payload: '{}', status: 'queued', ...columns };
  const names = Object.keys(row);
  const [made] = await test.sql<{ id: string }>(
    `insert into tock.job_runs_live (${names.join(', ')}) values (${names.map((_, n) => `$${n + 1}`).join(', ')}) returning id`,
    Object.values(row),
  );
  return made?.id ?? '';
};
const innocents = async (count: number) =>
  await tock.enqueueMany(Array.from({ length: count }, () => ({ job: quick })));
const statusesOf = async (ids: readonly string[]) =>
  new Set(await Promise.all(ids.map(async id => (await tock.runs.get(id))?.status)));
const MOST = 2_147_483_647;

describe('live runs', () => {
  it.each<[string, Record<string, unknown>, RegExp]>([
    ['a fence without head room', { fence: MOST }, /fence 2147483647; integer out of range \(22003\)/],
    ['attempts without head room', { attempts: MOST, max_attempts: MOST }, /attempts 2147483647/],
    [
      'an occurrence that never comes',
      { scheduled_for: 'infinity' },
      /scheduled_for infinity; its occurrence is not between/,
    ],
    [
      'an interval before all time',
      { scheduled_for: '2026-03-01', interval_start: '-infinity' },
      /interval_start -infinity/,
    ],
    ['an occurrence that no Date can hold', { scheduled_for: '290000-01-01' }, /scheduled_for 290000-01-01/],
  ])('go on beside %s, which is dead with the reason and can be retried', async (_what, columns, reason) => {
    await test.sql(dropBounds('job_runs_live'));
    const before = await innocents(3);
    // The first that any claim finds.
    const bad = await insertLive({ ...columns, run_at: '2026-03-01T00:00:00Z' });
    const after = await innocents(3);
    await tock.tick();
    expect(await statusesOf([...before, ...after])).toEqual(new Set(['succeeded']));
    const run = await tock.runs.get(bad);
    expect(run).toMatchObject({ status: 'dead', errors: [{ name: 'BadRow', code: 'TOCK_BAD_ROW' }] });
    expect(run?.errors[0]?.message).toMatch(reason);
    expect(deadHeard).toEqual([bad]);
    expect(lines.filter(line => line.event === 'run.set_aside').map(line => line.fields['run_id'])).toEqual([
      bad,
    ]);
    expect((await tock.status()).lastDay).toMatchObject({ dead: 1, setAside: 1 });
    await tock.runs.retry(bad, { attempts: 1 });
    await tock.tick();
    // What was out of bounds has been set right; only one that used all attempts there are has none left.
    expect(await tock.runs.get(bad)).toMatchObject({ status: 'succeeded', generation: 2 });
  });

  it('go on beside several bad ones in several queues, also where a run needs a place', async () => {
    await test.sql(dropBounds('job_runs_live'));
    const bad = [
      await insertLive({ fence: MOST, queue: 'mail', run_at: '2026-03-01T00:00:00Z' }),
      await insertLive({ fence: MOST, run_at: '2026-03-01T00:00:00Z' }),
      await insertLive({ fence: MOST, job: 'limited', slot_keys: ['job:limited'], slot_limits: [5] }),
      // No index takes a key of this length, once it is long enough not to be compressed away.
      await insertLive({
        job: 'limited',
        slot_keys: [Array.from({ length: 3000 }, () => Math.random()).join('')],
        slot_limits: [5],
      }),
    ];
    const good = await tock.enqueueMany([
      ...Array.from({ length: 8 }, () => ({ job: limited })),
      ...Array.from({ length: 8 }, () => ({ job: quick, queue: 'mail' })),
    ]);
    await tock.tick();
    expect(await statusesOf(good)).toEqual(new Set(['succeeded']));
    expect(await statusesOf(bad)).toEqual(new Set(['dead']));
    expect(await test.sql('select * from tock.job_slots')).toEqual([]);
    expect(deadHeard.sort()).toEqual(bad.sort());
  });

  it('are not joined by a finished one that no claim could take: its retry is refused with the reason', async () => {
    await test.sql('alter domain tock.count_from_0 drop constraint count_in_0_to_1000000000');
    const [made] = await test.sql<{ id: string }>(
      `insert into tock.job_runs_finished (id, job, status, finished_at, fence)
       values (nextval('tock.job_runs_id_seq'), 'quick', 'dead', tock.now(), 2147483646) returning id`,
    );
    await test.sql(
      'alter domain tock.count_from_0 add constraint count_in_bounds check (value <= 1000000000) not valid',
    );
    await expect(tock.runs.retry(made?.id ?? '')).rejects.toMatchObject({
      code: 'TOCK_BAD_STATE',
      message: expect.stringMatching(/count_in_bounds.*enqueue a new one/),
    });
    expect(await tock.runs.get(made?.id ?? '')).toMatchObject({ status: 'dead' });
  });

  it('go on beside one that is waited for by hand', async () => {
    await test.sql(dropBounds('job_runs_live'));
    const bad = await insertLive({ fence: MOST });
    expect(await tock.runs.wait(bad, { execute: true })).toMatchObject({
      status: 'dead',
      errors: [{ code: 'TOCK_BAD_ROW' }],
    });
  });

  it('are reaped beside one whose errors are none; those that a worker holds are left to it', async () => {
    await test.sql(dropBounds('job_runs_live'));
    const lease = {
      status: 'running',
      attempts: 1,
      fence: 1,
      locked_by: '00000000-0000-4000-8000-000000000001',
    };
    const expired = { ...lease, locked_until: '2026-03-01T11:00:00Z', run_at: '2026-03-01T00:00:00Z' };
    const bad = await insertLive({ ...expired, errors: '5' });
    const last = await insertLive({ ...expired, errors: '"x"', max_attempts: 1 });
    const others = [await insertLive(expired), await insertLive(expired)];
    const held = await insertLive({ ...lease, errors: '5', locked_until: '2026-03-01T13:00:00Z' });
    expect((await tock.tick()).reaped).toEqual({ failed: 2, dead: 0, cancelled: 0 });
    expect(await statusesOf(others)).toEqual(new Set(['failed']));
    expect(await statusesOf([bad, last])).toEqual(new Set(['dead']));
    expect((await tock.runs.get(bad))?.errors).toMatchObject([
      { code: 'TOCK_BAD_ROW', message: expect.stringContaining('errors 5;') },
    ]);
    expect(await statusesOf([held])).toEqual(new Set(['running']));
    expect(lines.filter(line => line.event === 'reap.singly')).toHaveLength(1);
  });
});

describe('definitions', () => {
  it.each<[string, string, RegExp]>([
    ['a queue that no run can have', `queue = repeat('q', 9000)`, /name_of_1_to_200_bytes/],
    ['endless attempts', `max_attempts = 2147483647`, /count_in_1_to_1000000000/],
    ['a cursor before all time', `cursor = '-infinity'`, /cursor/],
    ['a deadline beyond all time', `start_deadline_ms = 9000000000000000000`, /timestamp out of range/],
  ])(
    'are materialized beside one with %s, which is broken with the reason',
    async (_what, change, reason) => {
      await expect(
        test.sql(`update tock.job_definitions set ${change} where name = 'hourly'`),
      ).rejects.toMatchObject({ code: '23514' });
      await test.sql(dropBounds('job_definitions'));
      await test.sql(`update tock.job_definitions set ${change} where name = 'hourly'`);
      await test.advance('1m');
      expect((await tock.tick()).materialized).toMatchObject({ runs: 1, broken: ['hourly'] });
      expect(await tock.runs.list({ definition: 'daily' })).toMatchObject([{ status: 'succeeded' }]);
      expect((await tock.schedules.list({ name: 'hourly' }))[0]?.brokenReason).toMatch(reason);
      expect((await tock.status()).definitions).toMatchObject({ broken: 1 });
    },
  );

  it('are edited beside one that cannot be materialized', async () => {
    await test.sql(dropBounds('job_definitions'));
    await test.sql(`update tock.job_definitions set queue = repeat('q', 9000) where name = 'hourly'`);
    await test.advance('1m');
    const edited = test.another({
      jobs: [quick, limited, follower, daily, defineJob({ ...hourly, schedule: { cron: '30 * * * *' } })],
    });
    expect(await edited.register()).toMatchObject({ changed: ['hourly'] });
    await test.advance('30m');
    expect((await edited.tick()).materialized).toMatchObject({ runs: 2, broken: [] });
  });

  it('that follow others are left out by themselves', async () => {
    const other = defineJob({ name: 'other', schedule: { after: 'hourly' }, run: () => 'done' });
    const more = test.another({ jobs: [...jobs, other] });
    await more.register();
    await test.sql(dropBounds('job_definitions'));
    await test.sql(`update tock.job_definitions set queue = repeat('q', 9000) where name = 'follower'`);
    await test.advance('1m');
    await more.tick();
    expect(await more.runs.list({ definition: 'other' })).toMatchObject([
      { status: 'succeeded', trigger: 'chain' },
    ]);
    expect((await more.schedules.list({ name: 'follower' }))[0]?.brokenReason).toMatch(
      /name_of_1_to_200_bytes/,
    );
    expect(await test.sql('select * from tock.job_outbox')).toEqual([]);
  });
});

it.each<[string, string, boolean]>([
  ['a window that is none', `active_window = 'all day'`, true],
  // A zone that an update of the server's data has taken away, say.
  ['a zone that the server does not know', `timezone = 'Mars/Phobos'`, false],
])('queues go on beside one with %s, which is paused with the reason', async (_what, change, isRefused) => {
  await tock.queues.set('mail', { window: '00:00-23:59' });
  if (isRefused)
    await expect(test.sql(`update tock.job_queues set ${change}`)).rejects.toMatchObject({ code: '23514' });
  await test.sql(dropBounds('job_queues'));
  await test.sql(`update tock.job_queues set ${change}`);
  const mail = await tock.enqueue(quick, {}, { queue: 'mail' });
  const good = await innocents(3);
  await tock.tick();
  expect(await statusesOf(good)).toEqual(new Set(['succeeded']));
  expect(await statusesOf([mail])).toEqual(new Set(['queued']));
  const [queue] = (await tock.queues.list()).filter(each => each.name === 'mail');
  expect(queue?.pauseReason).toMatch(/limits cannot be read: .*set them again/);
  await tock.queues.set('mail', { window: null, timezone: 'UTC' });
  await tock.queues.resume('mail');
  await tock.tick();
  expect(await statusesOf([mail])).toEqual(new Set(['succeeded']));
});

describe('a constraint of somebody’s own, with which a statement fails for all', () => {
  const constrain = async (condition: string) =>
    await test.sql(`alter table tock.job_runs_live add constraint mine check (${condition}) not valid`);
  const relent = async () => await test.sql('alter table tock.job_runs_live drop constraint mine');

  it('ends no run that cannot be claimed; without it they are executed', async () => {
    const ids = [...(await innocents(3)), await tock.enqueue(limited)];
    await constrain('fence = 0');
    await expect(tock.tick()).rejects.toMatchObject({ code: '23514' });
    expect(await statusesOf(ids)).toEqual(new Set(['queued']));
    await relent();
    await tock.tick();
    expect(await statusesOf(ids)).toEqual(new Set(['succeeded']));
  });

  it('ends no run that cannot be reaped, but for one whose row is out of bounds', async () => {
    await test.sql(dropBounds('job_runs_live'));
    const expired = {
      status: 'running',
      attempts: 1,
      fence: 1,
      locked_until: '2026-03-01T11:00:00Z',
      run_at: '2026-03-01T00:00:00Z',
    };
    const good = await insertLive(expired);
    const bad = await insertLive({ ...expired, errors: '5' });
    await constrain(`status <> 'failed'`);
    await tock.tick();
    expect([await statusesOf([good]), await statusesOf([bad])]).toEqual([
      new Set(['running']),
      new Set(['dead']),
    ]);
    // The tick goes on all the same.
    const other = await tock.enqueue(quick);
    expect((await tock.tick()).reaped).toEqual({ failed: 0, dead: 0, cancelled: 0 });
    expect([await statusesOf([good]), await statusesOf([other])]).toEqual([
      new Set(['running']),
      new Set(['succeeded']),
    ]);
    expect(lines.map(line => line.event)).toContain('reap.refused');
    await relent();
    expect((await tock.tick()).reaped).toMatchObject({ failed: 1 });
  });

  const leased = {
    status: 'running',
    attempts: 1,
    max_attempts: 2,
    fence: 1,
    locked_until: '2026-03-01T11:00:00Z',
    run_at: '2026-03-01T00:00:00Z',
  };

  it.each([
    ['dead', { max_attempts: 1 }],
    ['cancelled', { cancel_requested_at: '2026-03-01T11:00:00Z' }],
  ])('ends a run that cannot be reaped where another could, which is %s', async (status, columns) => {
    const other = await insertLive({ ...leased, ...columns });
    const bad = await insertLive(leased);
    await constrain(`status <> 'failed'`);
    await tock.tick();
    expect([await statusesOf([other]), await statusesOf([bad])]).toEqual([
      new Set([status]),
      new Set(['dead']),
    ]);
  });

  it('does not hold up what follows from one of several runs that are reaped', async () => {
    await test.sql(`update tock.job_definitions set on_dead = 'limited' where name = 'hourly'`);
    await insertLive({ ...leased, max_attempts: 1, job: 'hourly' });
    await insertLive({ ...leased, max_attempts: 1 });
    await insertLive(leased);
    await constrain(`status <> 'failed'`);
    expect((await tock.tick()).reaped).toMatchObject({ dead: 2 });
    expect(await tock.runs.list({ job: 'limited' })).toHaveLength(1);
  });

  it('ends no run that cannot be reaped where all others are locked', async () => {
    const other = await insertLive({ ...leased, max_attempts: 1 });
    const bad = await insertLive(leased);
    await constrain(`status <> 'failed'`);
    await whileLocked(test, [other], () => tock.tick());
    expect(await statusesOf([bad, other])).toEqual(new Set(['running']));
  });

  it('breaks no definition that cannot be materialized, and loses no occurrence', async () => {
    await test.advance('1m');
    await constrain('definition_id is null');
    await expect(tock.tick()).rejects.toMatchObject({ code: '23514' });
    expect((await tock.status()).definitions).toMatchObject({ broken: 0 });
    await relent();
    expect((await tock.tick()).materialized).toMatchObject({ runs: 2, broken: [] });
  });

  it('loses nothing of what follows from a run', async () => {
    await constrain(`trigger <> 'chain'`);
    await test.advance('1m');
    await tock.tick();
    expect(await tock.runs.list({ definition: 'hourly' })).toMatchObject([{ status: 'succeeded' }]);
    expect(await tock.runs.list({ definition: 'follower' })).toEqual([]);
    await relent();
    await tock.tick();
    expect(await tock.runs.list({ definition: 'follower' })).toMatchObject([{ status: 'succeeded' }]);
    expect((await tock.status()).definitions).toMatchObject({ broken: 0 });
  });
});
