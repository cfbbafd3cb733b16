// Handlers that end to wait by ctx.sleep, and are called again from their top.
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { defineJob, isWait, TockError } from '../../src/index.js';
import { openOnce } from '../support/open.js';
import { openTestTock } from '../support/test-tock.js';

const NOON = '2026-03-01T12:00:00Z';
const at = (day: string) => new Date(`2026-03-${day}T12:00:00Z`);
const calls: string[] = [];
const cleaned: string[] = [];

const trial = defineJob({
  name: 'trial',
  retry: { maxAttempts: 1 },
  async run(ctx) {
    const began = await ctx.step('begin', () => 'begun');
    try {
      calls.push('top');
      await ctx.sleep('trial', '14d');
      calls.push('after 14 days');
      await ctx.sleep('grace', at('18'));
    } finally {
      cleaned.push('closed');
    }
    return { began, snoozes: ctx.snoozes, attempt: ctx.attempt };
  },
});
const wrong = defineJob({
  name: 'wrong',
  payload: z.object({ how: z.string() }),
  retry: { maxAttempts: 1 },
  async run(ctx, { how }) {
    if (how === 'swallow') await ctx.sleep('a', '1h').catch(() => undefined);
    if (how === 'wrap')
      await ctx.sleep('a', '1h').catch((cause: unknown) => {
        throw new Error('the API is away', { cause });
      });
    if (how === 'again')
      await ctx.sleep('a', '1h').catch((error: unknown) => {
        if (isWait(error)) throw error;
      });
    if (how === 'step') await ctx.step('s', async () => await ctx.sleep('a', '1h'));
    if (how === 'once') await ctx.once('s', async () => await ctx.sleep('a', '1h'));
    if (how === 'transaction') await ctx.transaction(async () => await ctx.sleep('a', '1h'));
    if (how === 'twice') {
      await ctx.sleep('a', 0);
      await ctx.sleep('a', '1h');
    }
    if (how === 'both') await Promise.all([ctx.sleep('a', '1h'), ctx.sleep('b', '1h')]);
    if (how === 'name') await ctx.sleep('', '1h');
    if (how === 'duration') await ctx.sleep('a', 'soon');
    if (how === 'date') await ctx.sleep('a', new Date(Number.NaN));
  },
});

const test = openOnce(
  () => openTestTock([trial, wrong]),
  ({ setClock }) => setClock(NOON),
);

describe('ctx.sleep', () => {
  it('ends the handler, and calls it again from its top when the time has come', async () => {
    const id = await test.tock.enqueue(trial, {});
    expect((await test.tock.tick()).executed).toMatchObject({ claimed: 1, waiting: 1 });
    expect(await test.tock.runs.get(id)).toMatchObject({
      status: 'queued',
      attempts: 0,
      runAt: at('15'),
      errors: [],
      waits: [{ kind: 'sleep', name: 'trial', since: at('01'), until: at('15'), outcome: null }],
    });
    await test.setClock('2026-03-15T12:00:00Z');
    await test.tock.tick();
    expect(await test.tock.runs.get(id)).toMatchObject({
      status: 'queued',
      runAt: at('18'),
      waits: [
        { name: 'trial', outcome: 'time', endedAt: at('15') },
        { name: 'grace', outcome: null },
      ],
    });
    await test.setClock('2026-03-18T12:00:00Z');
    await test.tock.tick();
    expect(await test.tock.runs.get(id)).toMatchObject({
      status: 'succeeded',
      output: { began: 'begun', snoozes: 0, attempt: 1 },
      beganAt: at('01'),
    });
    expect(calls).toEqual(['top', 'top', 'after 14 days', 'top', 'after 14 days']);
    expect(cleaned).toHaveLength(3);
    await test.setClock(NOON);
  });

  it('keeps the time of a wait that has begun, where its attempt is lost', { tags: 'check' }, async () => {
    const id = await test.tock.enqueue(trial, {});
    await test.tock.tick();
    // As if the process had died between the wait and the end of the attempt, and the run was reaped.
    await test.sql(`update tock.job_runs_live set run_at = tock.now(), status = 'failed' where id = $1`, [
      id,
    ]);
    await test.advance('1d');
    await test.tock.tick();
    expect(await test.tock.runs.get(id)).toMatchObject({ status: 'queued', runAt: at('15') });
    await test.tock.runs.cancel(id);
    await test.setClock(NOON);
  });

  it('keeps what its run has done and waits for, however old, as long as the run is live', {
    tags: 'check',
  }, async () => {
    const id = await test.tock.enqueue(trial, {});
    await test.tock.tick();
    await test.sql(`update tock.job_effects set created_at = '2020-01-01'`);
    await test.sql(`update tock.job_waits set created_at = '2020-01-01'`);
    const count = async () =>
      await test.sql(
        'select (select count(*)::int from tock.job_effects) as effects, (select count(*)::int from tock.job_waits) as waits',
      );
    const own = { effects: 1, waits: 1 };
    await test.tock.prune({ keepKeys: '400d' });
    expect(await count()).toEqual([own]);
    const { checks } = await test.tock.doctor();
    expect(checks.find(({ code }) => code === 'keys')).toMatchObject({ level: 'ok' });
    await test.tock.runs.cancel(id);
    await test.tock.prune({ keepKeys: '400d' });
    expect(await count()).toEqual([{ effects: 0, waits: 0 }]);
  });

  it.each([
    ['swallow', 'TOCK_WAIT_CAUGHT'],
    ['wrap', 'TOCK_WAIT_CAUGHT'],
    ['step', 'TOCK_BAD_STATE'],
    ['once', 'TOCK_BAD_STATE'],
    ['transaction', 'TOCK_BAD_STATE'],
    ['both', 'TOCK_BAD_STATE'],
    ['name', 'TOCK_BAD_KEY'],
    ['duration', 'TOCK_BAD_DURATION'],
    ['date', 'TOCK_BAD_TIME'],
  ])('is refused, or found, where it cannot be (%s)', { tags: 'check' }, async (how, code) => {
    const id = await test.tock.enqueue(wrong, { how });
    await test.tock.tick();
    expect(await test.tock.runs.get(id)).toMatchObject({ status: 'dead', errors: [{ code }] });
  });

  it('is refused a name that was used, once the first wait of it is over', async () => {
    const id = await test.tock.enqueue(wrong, { how: 'twice' });
    await test.tock.tick();
    await test.advance('1s');
    await test.tock.tick();
    const run = await test.tock.runs.get(id);
    expect(run).toMatchObject({ status: 'dead', errors: [{ code: 'TOCK_BAD_STATE' }] });
    expect(run?.errors[0]?.message).toContain('its own name');
    await test.setClock(NOON);
  });

  it('may be caught and thrown again', async () => {
    const id = await test.tock.enqueue(wrong, { how: 'again' });
    await test.tock.tick();
    expect(await test.tock.runs.get(id)).toMatchObject({ status: 'queued', waits: [{ name: 'a' }] });
    expect(isWait(new TockError('TOCK_TIMEOUT', 'no'))).toBe(false);
  });
});

it('a scheduled run that waits keeps the turn of its definition, of which the doctor warns where it waits past the next occurrence', {
  tags: 'check',
}, async () => {
  const daily = defineJob({
    name: 'daily',
    schedule: { cron: '0 13 * * *', timezone: 'UTC' },
    run: ctx => ctx.sleep('two days', '2d'),
  });
  const tock = test.another({ jobs: [trial, wrong, daily] });
  await tock.tick();
  const waits = async () => (await tock.doctor()).checks.find(({ code }) => code === 'waits');
  expect(await waits()).toMatchObject({ level: 'ok' });
  await test.advance('1h');
  await tock.tick();
  expect(await waits()).toMatchObject({
    level: 'warning',
    text: expect.stringContaining('daily (overlap: skip)'),
  });
  await test.advance('24h');
  await tock.tick();
  expect(await tock.runs.list({ job: 'daily' })).toMatchObject([
    { status: 'skipped', skipReason: 'overlap' },
    { status: 'queued' },
  ]);
  await test.setClock(NOON);
});
