// What follows a freeze: missed occurrences, deadlines, the ramp, and pauses, which a freeze does not touch.
import { beforeEach, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { defineJob, type Tock } from '../../src/index.js';
import { openForEach } from '../support/open.js';
import { proveAfterEach } from '../support/prove-all.js';
import { reuseTestTock } from '../support/test-tock.js';

const called: string[] = [];
const plain = defineJob({
  name: 'plain',
  payload: z.object({ n: z.number() }),
  run: (_, { n }) => void called.push(`plain ${n}`),
});
const fair = defineJob({
  name: 'fair',
  fair: { key: '$.tenant' },
  payload: z.object({ tenant: z.string() }),
  run: (_, { tenant }) => void called.push(`fair ${tenant}`),
});
const latest = defineJob({
  name: 'latest',
  schedule: { cron: '*/5 * * * *' },
  run: () => void called.push('latest'),
});
const all = defineJob({
  name: 'all',
  schedule: { cron: '*/5 * * * *', catchup: 'all', overlap: 'allow_all' },
  run: ctx => void called.push(`all ${ctx.scheduledFor?.toISOString().slice(11, 16) ?? ''}`),
});
const none = defineJob({
  name: 'none',
  schedule: { cron: '*/5 * * * *', catchup: 'none' },
  run: () => void called.push('none'),
});
const urgent = defineJob({
  name: 'urgent',
  schedule: { cron: '10 12 * * *', startDeadline: '1m' },
  run: () => void called.push('urgent'),
});

const NOON = '2026-03-01T12:00:30Z';
const MAINTENANCE = { until: new Date('2026-03-01T12:20:00Z'), note: 'maintenance' };
const END = Date.parse('2026-03-01T12:20:00Z');

beforeEach(() => {
  called.length = 0;
});

/** When the live runs are due, in seconds after the end. */
const dues = async (sql: (text: string) => Promise<{ readonly at: number }[]>, job: string) =>
  (
    await sql(
      `select extract(epoch from run_at - timestamptz '2026-03-01T12:20:00Z')::float8 as at from tock.job_runs_live where job = '${job}' order by run_at, id`,
    )
  ).map(row => row.at);

describe('occurrences', () => {
  const test = openForEach(
    () => reuseTestTock([latest, all, none, urgent]),
    async ({ setClock, tock }) => {
      await setClock(NOON);
      proveAfterEach(test);
      await tock.register();
    },
  );

  it('that were missed follow the catch-up of their definitions once it has ended', async () => {
    const { tock } = test;
    await tock.freeze({ ...MAINTENANCE, until: new Date('2026-03-01T12:19:00Z') });
    await test.setClock('2026-03-01T12:16:00Z');
    expect((await tock.tick()).materialized).toMatchObject({ definitions: 0, runs: 0 });
    await test.setClock('2026-03-01T12:19:00Z');
    await tock.tick();
    expect(called.toSorted()).toEqual(['all 12:05', 'all 12:10', 'all 12:15', 'latest', 'urgent']);
    const [run] = await tock.runs.list({ definition: 'latest' });
    expect(run).toMatchObject({ occurrenceCount: 3, scheduledFor: new Date('2026-03-01T12:15:00Z') });
    const [skipped] = await tock.runs.list({ definition: 'none' });
    expect(skipped).toMatchObject({ status: 'skipped', skipReason: 'catchup', occurrenceCount: 3 });
  });

  it('keep their start deadline: frozen time, and that of the ramp, does not count', {
    tags: 'check',
  }, async () => {
    const { tock } = test;
    await test.setClock('2026-03-01T12:10:00Z');
    await tock.freeze({ ...MAINTENANCE, ramp: '10m' });
    await test.setClock('2026-03-01T12:20:00Z');
    await tock.tick();
    await test.setClock('2026-03-01T12:30:00Z');
    await tock.tick();
    expect(called).toContain('urgent');
    const [run] = await tock.runs.list({ definition: 'urgent' });
    expect(run?.status).toBe('succeeded');
  });

  it('that were too late before it are too late after it', async () => {
    const { tock } = test;
    await test.setClock('2026-03-01T12:12:00Z');
    await tock.freeze(MAINTENANCE);
    await test.setClock('2026-03-01T12:20:00Z');
    await tock.tick();
    const [run] = await tock.runs.list({ definition: 'urgent' });
    expect(run).toMatchObject({ status: 'skipped', skipReason: 'deadline' });
  });

  it('come due under the old schedule before an edit, and their runs wait', { tags: 'check' }, async () => {
    const { tock } = test;
    await tock.schedules.upsert({ name: 'own', job: 'latest', cron: '5 * * * *' });
    await tock.freeze(MAINTENANCE);
    await test.setClock('2026-03-01T12:06:00Z');
    await tock.schedules.upsert({ name: 'own', job: 'latest', cron: '7 * * * *' });
    const [run] = await tock.runs.list({ definition: 'own' });
    expect(run).toMatchObject({ status: 'queued', scheduledFor: new Date('2026-03-01T12:05:00Z') });
    expect((await tock.tick()).executed.claimed).toBe(0);
  });
});

describe('a ramp', () => {
  const test = openForEach(
    () => reuseTestTock([plain, fair, all]),
    async ({ setClock, tock }) => {
      await setClock(NOON);
      await tock.register();
    },
  );
  const enqueue = async (tock: Tock, count: number) =>
    await tock.enqueueMany(Array.from({ length: count }, (_, n) => ({ job: plain, payload: { n } })));

  it('spreads what waits evenly, in its order, and what was missed too', { tags: 'check' }, async () => {
    const { tock } = test;
    await enqueue(tock, 50);
    await tock.freeze(MAINTENANCE);
    await test.setClock('2026-03-01T12:15:00Z');
    await enqueue(tock, 50);
    await test.setClock(new Date(END).toISOString());
    expect(await tock.thaw({ ramp: '100s' })).toMatchObject({ ended: null });
    await tock.freeze({ ...MAINTENANCE, until: '1h' });
    const thawed = await tock.thaw({ ramp: '100s' });
    expect(thawed).toMatchObject({ rampMs: 100_000, spread: 104, ended: { note: 'maintenance' } });
    const spread = await dues(test.sql, 'plain');
    expect(spread).toHaveLength(100);
    expect(spread.at(0)).toBeLessThan(1);
    expect(spread.at(-1)).toBeGreaterThan(95);
    expect(Math.max(...spread.map((at, n) => at - (spread[n - 1] ?? 0)))).toBeLessThan(5);
    for (const second of [10, 50, 100]) {
      await test.setClock(new Date(END + second * 1000).toISOString());
      await tock.tick();
      const started = called.filter(name => name.startsWith('plain'));
      expect(Math.abs(started.length - second)).toBeLessThan(6);
    }
    expect(called.filter(name => name.startsWith('plain')).map(name => Number(name.slice(6)) % 50)).toEqual(
      Array.from({ length: 100 }, (_, n) => n % 50),
    );
    expect(called.filter(name => name.startsWith('all'))).toHaveLength(4);
  });

  it('spreads the runs of fair keys, each in its order', { tags: 'check' }, async () => {
    const { tock } = test;
    await tock.freeze(MAINTENANCE);
    await tock.enqueueMany(
      Array.from({ length: 60 }, (_, n) => ({ job: fair, payload: { tenant: `t${n % 20}` } })),
    );
    await tock.tick();
    await tock.thaw({ ramp: '100s' });
    const start = Date.parse(NOON);
    await test.setClock(new Date(start + 50_000).toISOString());
    await tock.tick();
    expect(Math.abs(called.length - 30)).toBeLessThan(12);
    await test.setClock(new Date(start + 100_000).toISOString());
    await tock.tick();
    expect(called).toHaveLength(60);
  });

  it('does not make a schedule skip what comes due meanwhile, nor a strict key change its order', {
    tags: 'check',
  }, async () => {
    const each = defineJob({
      name: 'each',
      schedule: { cron: '* * * * *' },
      run: () => void called.push('each'),
    });
    const strict = defineJob({
      name: 'strict',
      payload: z.object({ account: z.number(), n: z.number() }),
      concurrency: { limit: 1, key: '$.account', order: 'strict' },
      run: (_ctx, { n }) => void called.push(`strict ${n}`),
    });
    const tock = test.another({ jobs: [all, fair, plain, each, strict] });
    await tock.register();
    await tock.freeze(MAINTENANCE);
    await tock.enqueue(strict, { account: 1, n: 1 });
    await test.setClock('2026-03-01T12:10:30Z');
    await tock.thaw({ ramp: '1h' });
    await tock.enqueue(strict, { account: 1, n: 2 });
    await test.setClock('2026-03-01T12:10:59Z');
    await tock.tick();
    for (let minute = 11; minute < 20; minute++) {
      await test.setClock(`2026-03-01T12:${minute}:30Z`);
      await tock.tick();
    }
    expect(await tock.runs.list({ definition: 'each', status: 'skipped' })).toMatchObject([
      { skipReason: 'catchup' },
    ]);
    expect(called.filter(name => name === 'each')).toHaveLength(10);
    expect(called.filter(name => name.startsWith('strict'))).toEqual(['strict 1', 'strict 2']);
  });

  it('holds what waits until the tick that spreads it, where the freeze ends by itself', {
    tags: 'check',
  }, async () => {
    const { tock } = test;
    await enqueue(tock, 10);
    await tock.freeze({ ...MAINTENANCE, ramp: '5m' });
    await test.setClock('2026-03-01T12:21:00Z');
    expect(await tock.frozen()).not.toBeNull();
    await tock.tick();
    expect(await tock.frozen()).toBeNull();
    expect(called.length).toBeLessThan(3);
    await test.advance('5m');
    await tock.tick();
    expect(called.filter(name => name.startsWith('plain'))).toHaveLength(10);
  });

  it('is gone on with by the next tick, if who thaws dies meanwhile', { tags: 'check' }, async () => {
    const { tock } = test;
    await enqueue(tock, 10);
    await tock.freeze(MAINTENANCE);
    // As thaw leaves it before it spreads.
    await test.sql(`update tock.freezes set until = tock.now(), ramp_ms = 100000`);
    await test.sql(`update tock.job_runs_live set run_at = tock.now() + interval '5 s' where id % 2 = 0`);
    await tock.tick();
    expect(await tock.frozen()).toBeNull();
    await test.advance('100s');
    await tock.tick();
    expect(called.filter(name => name.startsWith('plain'))).toHaveLength(10);
  });

  it('is written by one of several processes that end the freeze at once', async () => {
    const { tock } = test;
    await enqueue(tock, 40);
    await tock.freeze(MAINTENANCE);
    const thawed = await Promise.all(
      [tock, test.another(), test.another()].map(each => each.thaw({ ramp: '1h' })),
    );
    // The others have seen no freeze any more, or that it was ended meanwhile.
    expect(thawed.filter(({ spread }) => spread === 40)).toHaveLength(1);
    expect(thawed.filter(({ spread }) => spread === 0 || spread === null)).toHaveLength(2);
    expect(await test.sql(`select from tock.freezes where ended_at is not null`)).toHaveLength(1);
  });

  it('does not delay what is enqueued after the end', { tags: 'check' }, async () => {
    const { tock } = test;
    await enqueue(tock, 3);
    await tock.freeze(MAINTENANCE);
    await tock.thaw({ ramp: '1h' });
    await tock.enqueue('plain', { n: 100 });
    await tock.tick();
    expect(called).toContain('plain 100');
  });
});

describe('pauses', () => {
  const test = openForEach(
    () => reuseTestTock([plain, latest, all, none]),
    async ({ setClock, tock }) => {
      await setClock(NOON);
      await tock.register();
    },
  );

  it('are not touched by freeze and thaw', async () => {
    const { tock } = test;
    await tock.schedules.pause('latest', { note: 'legal hold, do not resume' });
    await tock.queues.pause('default', { note: 'the printer is on fire' });
    await tock.enqueue('plain', { n: 1 });
    await tock.freeze(MAINTENANCE);
    await tock.thaw();
    await tock.tick();
    expect(called).toEqual([]);
    expect(await tock.schedules.list({ name: 'latest' })).toMatchObject([
      { pauseReason: 'legal hold, do not resume' },
    ]);
    expect(await tock.queues.list()).toMatchObject([{ pauseReason: 'the printer is on fire' }]);
  });

  it('of a definition end by themselves: what came due within is skipped, what comes after runs', {
    tags: 'check',
  }, async () => {
    const { tock } = test;
    const until = new Date('2026-03-01T12:12:00Z');
    expect(await tock.schedules.pause('all', { until, note: 'stocktaking' })).toMatchObject({
      pausedUntil: until,
    });
    await test.setClock('2026-03-01T12:11:00Z');
    await tock.tick();
    expect(called.filter(name => name.startsWith('all'))).toEqual([]);
    await test.setClock('2026-03-01T12:21:00Z');
    await tock.tick();
    expect(called.filter(name => name.startsWith('all')).toSorted()).toEqual(['all 12:15', 'all 12:20']);
    const [record] = await tock.schedules.list({ name: 'all' });
    expect(record).toMatchObject({ pausedAt: null, pausedUntil: null, pauseReason: null });
    const skipped = await tock.runs.list({ definition: 'all', status: 'skipped' });
    expect(skipped).toMatchObject([{ skipReason: 'paused', occurrenceCount: 2 }]);
  });

  it('end at their time also where an edit comes before the reaping', { tags: 'check' }, async () => {
    const { tock } = test;
    const edit = (payload: number) =>
      tock.schedules.upsert({ name: 'own', job: 'all', cron: '*/5 * * * *', catchup: 'all', payload });
    await edit(1);
    await tock.schedules.pause('own', { until: new Date('2026-03-01T12:12:00Z') });
    await test.setClock('2026-03-01T12:21:00Z');
    await edit(2);
    const runs = await tock.runs.list({ definition: 'own' });
    const ends = runs.map(
      ({ scheduledFor, status }) => `${scheduledFor?.toISOString().slice(11, 16)} ${status}`,
    );
    expect(ends.toSorted()).toEqual(['12:10 skipped', '12:15 queued', '12:20 queued']);
    expect(await tock.schedules.list({ name: 'own' })).toMatchObject([{ pausedAt: null, pausedUntil: null }]);
  });

  it('of many end by themselves, and one that is paused again without an end holds', {
    tags: 'check',
  }, async () => {
    const { tock } = test;
    await tock.schedules.pauseMany({ names: ['latest', 'all'] }, { until: '10m' });
    await tock.schedules.pause('latest', { note: 'longer' });
    await test.advance('10m');
    await tock.tick();
    expect(await tock.schedules.list({ name: 'all' })).toMatchObject([{ pausedAt: null }]);
    expect(await tock.schedules.list({ name: 'latest' })).toMatchObject([
      { pauseReason: 'longer', pausedUntil: null },
    ]);
  });

  it('of a queue end by themselves', { tags: 'check' }, async () => {
    const { tock } = test;
    await tock.queues.pause('default', { until: '10m', note: 'stocktaking' });
    await tock.enqueue('plain', { n: 1 });
    await test.advance('9m');
    await tock.tick();
    expect(called).not.toContain('plain 1');
    await test.advance('1m');
    await tock.tick();
    expect(called).toContain('plain 1');
    expect(await tock.queues.list()).toMatchObject([{ pausedAt: null, pausedUntil: null }]);
  });
});

describe('freezing', () => {
  const test = openForEach(
    () => reuseTestTock([plain]),
    ({ setClock }) => setClock(NOON),
  );

  it.each([
    ['no end', { note: 'x' }, 'TOCK_BAD_OPTION', /needs until/],
    [
      'an end that has passed',
      { note: 'x', until: new Date('2026-03-01T12:00:00Z') },
      'TOCK_BAD_TIME',
      /is not in the future/,
    ],
    ['an end that is none', { note: 'x', until: 'soon' }, 'TOCK_BAD_DURATION', /until/],
    ['no note', { until: '1h' }, 'TOCK_BAD_OPTION', /does not say why/],
    ['a blank note', { until: '1h', note: ' ' }, 'TOCK_BAD_OPTION', /does not say why/],
    ['a ramp that is none', { until: '1h', note: 'x', ramp: 'slowly' }, 'TOCK_BAD_DURATION', /ramp/],
    ['a ramp over a day', { until: '1h', note: 'x', ramp: '25h' }, 'TOCK_BAD_OPTION', /longer than a day/],
    ['what it does not know', { until: '1h', note: 'x', queue: 'q' }, 'TOCK_BAD_OPTION', /queue/],
  ])('is refused with %s', async (_what, options, code, message) => {
    const refused = test.tock.freeze(options as never);
    await expect(refused).rejects.toMatchObject({ code, message: expect.stringMatching(message) as unknown });
    expect(await test.tock.frozen()).toBeNull();
  });

  it('again changes the end and the note, and keeps the beginning and the ramp', async () => {
    const { tock } = test;
    await tock.freeze({ until: '1h', note: 'first', ramp: '5m' });
    await test.advance('10m');
    const again = await tock.freeze({ until: '1h', note: 'second' });
    expect(again).toMatchObject({
      beganAt: new Date(NOON),
      until: new Date('2026-03-01T13:10:30Z'),
      note: 'second',
      rampMs: 300_000,
      before: { note: 'first', until: new Date('2026-03-01T13:00:30Z') },
    });
    expect(await test.sql('select 1 from tock.freezes')).toHaveLength(1);
  });

  it('by two at once is one freeze', async () => {
    const other = test.another();
    await Promise.all([
      test.tock.freeze({ until: '1h', note: 'a' }),
      other.freeze({ until: '1h', note: 'b' }),
    ]);
    expect(await test.sql('select 1 from tock.freezes where ended_at is null')).toHaveLength(1);
  });

  it('and thawing leave a row in the audit: who, until when and why; thawing nothing leaves none', async () => {
    const tock = test.tock.as({ name: 'ann', via: 'page', role: 'admin', seesPayloads: true });
    await tock.thaw();
    await tock.freeze({ until: '1h', note: 'maintenance', ramp: '5m' });
    await tock.freeze({ until: '2h', note: 'longer' });
    await tock.thaw({ ramp: 0 });
    const rows = await tock.audit.list();
    expect(rows.map(({ action, operator, details }) => ({ action, operator, ...details }))).toMatchObject([
      { action: 'thaw', operator: 'ann', note: 'longer' },
      { action: 'freeze', operator: 'ann', note: 'longer', wasUntil: '2026-03-01T13:00:30.000Z' },
      {
        action: 'freeze',
        operator: 'ann',
        note: 'maintenance',
        until: '2026-03-01T13:00:30.000Z',
        rampMs: 300_000,
      },
    ]);
  });
});
