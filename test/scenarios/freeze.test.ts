// Freeze and thaw: what waits, what goes on, and what comes after it. The clock stands still; one tick passes for each call.
import { beforeEach, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { defineJob, type Tock } from '../../src/index.js';
import { admitRuns } from '../../src/store/runs/claim/admit.js';
import { databaseOf } from '../../src/tock/database-of.js';
import { openForEach } from '../support/open.js';
import { proveAfterEach } from '../support/prove-all.js';
import { reuseTestTock, until } from '../support/test-tock.js';

const called: string[] = [];
const plain = defineJob({
  name: 'plain',
  payload: z.object({ n: z.number() }),
  run: (_, { n }) => void called.push(`plain ${n}`),
});
const limited = defineJob({
  name: 'limited',
  concurrency: { limit: 1 },
  run: () => void called.push('limited'),
});
const fair = defineJob({
  name: 'fair',
  fair: { key: '$.tenant' },
  payload: z.object({ tenant: z.string() }),
  run: (_, { tenant }) => void called.push(`fair ${tenant}`),
});
const waiting = defineJob({
  name: 'waiting',
  async run(ctx) {
    await ctx.waitFor('paid', { key: 'x', timeout: '1d' });
    called.push('paid');
  },
});
const handing = defineJob({
  name: 'handing',
  run: ctx => ctx.handOff({ to: 'elsewhere', lease: '1h' }),
});
let release = () => {};
const held = new Promise<void>(resolve => {
  release = resolve;
});
let begin = () => {};
const begun = new Promise<void>(resolve => {
  begin = resolve;
});
const slow = defineJob({
  name: 'slow',
  concurrency: { limit: 1 },
  run: async () => {
    begin();
    await held;
  },
});
const failing = defineJob({
  name: 'failing',
  retry: { maxAttempts: 2, backoff: 'fixed', base: '5m', jitter: 0 },
  run: ctx => {
    called.push(`failing ${ctx.attempt}`);
    if (ctx.attempt === 1) throw new Error('once');
  },
});
const NOON = '2026-03-01T12:00:30Z';
const MAINTENANCE = { until: new Date('2026-03-01T12:20:00Z'), note: 'maintenance' };

beforeEach(() => {
  called.length = 0;
});

const statusOf = async (tock: Tock, id: string) => (await tock.runs.get(id))?.status;

describe('while everything is frozen', () => {
  const test = openForEach(
    () => reuseTestTock([plain, limited, fair, waiting, handing, slow, failing]),
    async ({ setClock, tock }) => {
      await setClock(NOON);
      proveAfterEach(test);
      await tock.register();
    },
  );

  it('no run is claimed: plain, limited, fair or retried; and all start once it has ended by itself', async () => {
    const { tock } = test;
    const failed = await tock.enqueue('failing');
    await tock.tick();
    await tock.freeze(MAINTENANCE);
    await test.advance('6m');
    const ids = [
      await tock.enqueue('plain', { n: 1 }),
      await tock.enqueue('limited'),
      await tock.enqueue('limited'),
      await tock.enqueue('fair', { tenant: 'a' }),
    ];
    expect((await tock.tick()).executed.claimed).toBe(0);
    await test.setClock('2026-03-01T12:19:59Z');
    expect((await tock.tick()).executed.claimed).toBe(0);
    expect(called).toEqual(['failing 1']);
    await test.setClock('2026-03-01T12:20:00Z');
    await tock.tick();
    for (const id of [failed, ...ids]) expect(await statusOf(tock, id)).toBe('succeeded');
    expect(await tock.frozen()).toBeNull();
  });

  it('what was claimed before goes on, its outcome is written, and its slot is passed on to nobody', {
    tags: 'check',
  }, async () => {
    const { tock } = test;
    const [first, second] = await tock.enqueueMany([{ job: slow }, { job: slow }]);
    const ticking = tock.tick();
    await begun;
    await tock.freeze(MAINTENANCE);
    release();
    await ticking;
    expect(await statusOf(tock, first)).toBe('succeeded');
    expect(await statusOf(tock, second)).toBe('queued');
    await tock.thaw();
    await tock.tick();
    expect(await statusOf(tock, second)).toBe('succeeded');
  });

  it.each([
    ['one slot', limited, null],
    ['several', limited, 5],
  ])('no run is admitted that a claim has named before: it needs %s', async (_, job, concurrency) => {
    await test.tock.queues.set('default', { concurrency });
    const id = await test.tock.enqueue(job, {});
    await test.tock.freeze(MAINTENANCE);
    const lease = { workerId: '00000000-0000-4000-8000-000000000009', leaseMs: 60_000 };
    const database = await databaseOf(test.tock);
    expect((await admitRuns(database, [id], lease)).admitted).toEqual([]);
    expect(await statusOf(test.tock, id)).toBe('queued');
    expect((await admitRuns(database, [id], { ...lease, byHand: true })).admitted).toHaveLength(1);
  });

  it('expired leases are taken back', async () => {
    const { tock } = test;
    const id = await tock.enqueue('plain', { n: 1 });
    await test.sql(
      `update tock.job_runs_live set status = 'running', attempts = 1, fence = 1, locked_by = gen_random_uuid(), locked_until = tock.now() - interval '1 s'`,
    );
    await tock.freeze(MAINTENANCE);
    expect((await tock.tick()).reaped.failed).toBe(1);
    expect(await statusOf(tock, id)).toBe('failed');
  });

  it('answers of handoffs and events are taken, and what they let go on waits', {
    tags: 'check',
  }, async () => {
    const { tock } = test;
    const handed = await tock.enqueue('handing');
    const wait = await tock.enqueue('waiting');
    await tock.tick();
    await tock.freeze(MAINTENANCE);
    const run = await tock.runs.get(handed);
    await tock.complete(handed, run?.handOff?.fence ?? 1, { ok: true });
    await tock.emit('paid', { key: 'x' });
    await tock.tick();
    expect(await statusOf(tock, handed)).toBe('succeeded');
    expect(await tock.runs.get(wait)).toMatchObject({ status: 'queued' });
    expect(called).toEqual([]);
    await tock.thaw();
    await tock.tick();
    expect(called).toEqual(['paid']);
  });

  it('a run by hand is executed', async () => {
    const { tock } = test;
    await tock.freeze(MAINTENANCE);
    const other = await tock.enqueue('plain', { n: 1 });
    const id = await tock.enqueue('limited');
    expect((await tock.runs.wait(id, { execute: true })).status).toBe('succeeded');
    expect(await statusOf(tock, other)).toBe('queued');
  });

  it('alerts are delivered', async () => {
    const { tock } = test;
    await tock.freeze(MAINTENANCE);
    const other = await tock.enqueue('plain', { n: 1 });
    const id = await tock.enqueue('plain', { n: 2 }, { queue: 'tock:alerts' });
    await tock.tick({ queues: ['default', 'tock:alerts'] });
    expect(await statusOf(tock, id)).toBe('succeeded');
    expect(await statusOf(tock, other)).toBe('queued');
  });

  it('a daemon that sleeps starts nothing that a notification brings, and goes on once it has ended', {
    tags: 'check',
  }, async () => {
    const { tock } = test;
    await test.setClock(null);
    const daemon = await tock.start({ concurrency: 2 });
    try {
      const first = await tock.enqueue('plain', { n: 1 });
      await until(async () => (await statusOf(tock, first)) === 'succeeded', 'the first run');
      await tock.freeze({ until: '1h', note: 'maintenance' });
      const id = await tock.enqueue('plain', { n: 2 });
      // A run by hand ends after the notification was heard.
      const byHand = await tock.enqueue('limited');
      await test.another().runs.wait(byHand, { execute: true });
      const alerts = await tock.enqueue('plain', { n: 3 }, { queue: 'tock:alerts' });
      await until(async () => (await statusOf(tock, alerts)) === 'succeeded', 'the run of the alerts');
      expect(await statusOf(tock, id)).toBe('queued');
      await tock.thaw();
      await until(async () => (await statusOf(tock, id)) === 'succeeded', 'what waited');
    } finally {
      await daemon.stop();
    }
  });

  it('why says until when, by whom and why', async () => {
    const tock = test.tock.as({ name: 'ann', via: 'page', role: 'admin', seesPayloads: true });
    await tock.schedules.upsert({ name: 'hourly', job: 'plain', payload: { n: 0 }, cron: '5 * * * *' });
    await tock.freeze(MAINTENANCE);
    await test.advance('10m');
    const why = await tock.why('hourly', '12:05');
    expect(why.verdict).toBe('frozen');
    expect(why.sentences.join('; ')).toMatch(
      /everything is frozen until 2026-03-01.12:20.* by ann: maintenance/,
    );
  });
});
