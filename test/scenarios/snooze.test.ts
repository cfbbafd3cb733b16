// Waiting is not failing: handlers that throw Snooze.
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { defineJob, Snooze } from '../../src/index.js';
import { openOnce } from '../support/open.js';
import { openTestTock, until } from '../support/test-tock.js';

const NOON = '2026-03-01T12:00:00Z';
const at = (time: string) => new Date(`2026-03-01T${time}Z`);

let stepped = 0;
const poll = defineJob({
  name: 'poll',
  payload: z.object({ times: z.number(), giveUpAfter: z.string().optional() }),
  // One attempt only: a wait must not cost it.
  retry: { maxAttempts: 1 },
  async run(ctx, { times, giveUpAfter }) {
    const made = await ctx.step('make', () => ++stepped);
    if (ctx.snoozes < times)
      throw new Snooze('5m', { reason: 'the export is not ready', ...(giveUpAfter && { giveUpAfter }) });
    return { made, snoozes: ctx.snoozes, attempt: ctx.attempt };
  },
});
const until6 = defineJob({
  name: 'until-six',
  run(ctx) {
    if (ctx.snoozes === 0) throw new Snooze({ until: at('18:00:00') });
    if (ctx.snoozes === 1) throw new Snooze({ until: at('11:00:00'), reason: 'it is over' });
    if (ctx.snoozes === 2) throw new Snooze(1);
    return null;
  },
});
const fragile = defineJob({
  name: 'fragile',
  retry: { maxAttempts: 2, base: '10s', jitter: 0 },
  run(ctx) {
    if (ctx.attempt === 1 && ctx.snoozes === 1) throw new Error('no');
    if (ctx.snoozes < 2) throw new Snooze('1m');
    return ctx.attempt;
  },
});
/** Its first attempt may fail. */
const patient = defineJob({
  name: 'patient',
  payload: z.object({ fails: z.boolean() }),
  retry: { maxAttempts: 3, backoff: 'fixed', base: '3h', jitter: 0 },
  run(ctx, { fails }) {
    if (fails && ctx.attempt === 1) throw new Error('no');
    throw new Snooze('1h', { giveUpAfter: '2h' });
  },
});
/** Which runs of `stops` have begun. */
const begun = new Set<string>();
const stops = defineJob({
  name: 'stops',
  payload: z.object({ how: z.enum(['snooze', 'throw']) }),
  retry: { maxAttempts: 1 },
  timeout: '30s',
  async run(ctx, { how }) {
    begun.add(ctx.runId);
    await new Promise(resolve => ctx.signal.addEventListener('abort', resolve));
    throw how === 'snooze' ? new Snooze('1h') : new Error('stopped');
  },
});
const times = defineJob({
  name: 'times-out',
  retry: { maxAttempts: 1 },
  timeout: '20ms',
  async run(ctx) {
    await new Promise(resolve => ctx.signal.addEventListener('abort', resolve));
    throw new Snooze('1h');
  },
});
const office = defineJob({
  name: 'office',
  schedule: {
    cron: '0 9 * * *',
    timezone: 'UTC',
    window: '09:00-13:00',
    outsideWindow: 'skip',
    startDeadline: '1h',
  },
  run(ctx) {
    if (ctx.snoozes === 0) throw new Snooze('6h');
    return 'done';
  },
});

const test = openOnce(
  () => openTestTock([poll, until6, fragile, patient, stops, times, office], { grace: '2s', drain: '0s' }),
  ({ setClock }) => setClock(NOON),
);

describe('a run that is snoozed', () => {
  it('waits without an attempt, an error or an alert, keeps its steps, and says what for', async () => {
    const id = await test.tock.enqueue(poll, { times: 3 });
    const summary = await test.tock.tick();
    expect(summary.executed).toMatchObject({ claimed: 1, waiting: 1, failed: 0 });
    const run = await test.tock.runs.get(id);
    expect(run).toMatchObject({
      status: 'queued',
      attempts: 0,
      snoozes: 1,
      beganAt: at('12:00:00'),
      runAt: at('12:05:00'),
      lockedBy: null,
      errors: [],
      waits: [
        {
          kind: 'snooze',
          name: '',
          reason: 'the export is not ready',
          since: at('12:00:00'),
          until: at('12:05:00'),
          outcome: null,
        },
      ],
    });
    expect(await test.sql('select from tock.alert_events')).toEqual([]);
    await test.advance('4m59s');
    expect((await test.tock.tick()).executed.claimed).toBe(0);
    for (const snoozes of [2, 3]) {
      await test.advance('5m');
      await test.tock.tick();
      expect(await test.tock.runs.get(id)).toMatchObject({ snoozes, attempts: 0, beganAt: at('12:00:00') });
    }
    await test.advance('5m');
    await test.tock.tick();
    expect(await test.tock.runs.get(id)).toMatchObject({
      status: 'succeeded',
      attempts: 1,
      output: { made: 1, snoozes: 3, attempt: 1 },
      snoozes: 3,
      beganAt: at('12:00:00'),
    });
    await test.setClock(NOON);
  });

  it('waits until a time, and for a second at least', { tags: 'check' }, async () => {
    const id = await test.tock.enqueue(until6, {});
    await test.tock.tick();
    expect((await test.tock.runs.get(id))?.runAt).toEqual(at('18:00:00'));
    await test.setClock('2026-03-01T18:00:00Z');
    await test.tock.tick();
    expect((await test.tock.runs.get(id))?.runAt).toEqual(at('18:00:01'));
    await test.advance('1s');
    await test.tock.tick();
    expect(await test.tock.runs.get(id)).toMatchObject({ runAt: at('18:00:02'), snoozes: 3 });
    await test.advance('1s');
    await test.tock.tick();
    expect((await test.tock.runs.get(id))?.status).toBe('succeeded');
    await test.setClock(NOON);
  });

  it('is called once more when it is to give up, and then is dead with the reason', {
    tags: 'check',
  }, async () => {
    const id = await test.tock.enqueue(poll, { times: 99, giveUpAfter: '12m' });
    await test.tock.tick();
    await test.advance('5m');
    await test.tock.tick();
    await test.advance('5m');
    await test.tock.tick();
    // Ten of twelve minutes are over: five more would be too many.
    expect(await test.tock.runs.get(id)).toMatchObject({ status: 'queued', snoozes: 3 });
    await test.advance('2m');
    await test.tock.tick();
    const run = await test.tock.runs.get(id);
    expect(run?.status).toBe('dead');
    expect(run?.errors).toMatchObject([
      { code: 'TOCK_GAVE_UP', message: expect.stringContaining('the export is not ready') },
    ]);
    await test.setClock(NOON);
  });

  it('gives up by its first start, also where the first attempt failed', async () => {
    const id = await test.tock.enqueue(patient, { fails: true });
    await test.tock.tick();
    await test.advance('3h');
    await test.tock.tick();
    expect(await test.tock.runs.get(id)).toMatchObject({ status: 'dead', beganAt: at('12:00:00') });
    await test.tock.runs.retry(id);
    await test.tock.tick();
    // A retry begins anew.
    expect(await test.tock.runs.get(id)).toMatchObject({ status: 'queued', runAt: at('16:00:00') });
    await test.tock.runs.cancel(id);
    await test.setClock(NOON);
  });

  it('does not count the time in which everything was frozen', async () => {
    const id = await test.tock.enqueue(patient, { fails: false });
    await test.tock.tick();
    await test.tock.freeze({ until: at('20:00:00'), note: 'maintenance' });
    await test.advance('6h');
    await test.tock.thaw();
    await test.tock.tick();
    expect(await test.tock.runs.get(id)).toMatchObject({ status: 'queued', runAt: at('19:00:00') });
    await test.advance('3h');
    await test.tock.tick();
    expect(await test.tock.runs.get(id)).toMatchObject({ status: 'dead' });
    await test.setClock(NOON);
  });

  it('may fail between two waits, which counts', { tags: 'check' }, async () => {
    const id = await test.tock.enqueue(fragile, {});
    await test.tock.tick();
    await test.advance('1m');
    await test.tock.tick();
    expect(await test.tock.runs.get(id)).toMatchObject({ status: 'failed', attempts: 1, snoozes: 1 });
    await test.advance('10s');
    await test.tock.tick();
    expect(await test.tock.runs.get(id)).toMatchObject({ status: 'queued', attempts: 1, snoozes: 2 });
    await test.advance('1m');
    await test.tock.tick();
    expect(await test.tock.runs.get(id)).toMatchObject({ status: 'succeeded', output: 2 });
    await test.setClock(NOON);
  });

  it.each([
    ['snooze', { status: 'queued', snoozes: 1, releases: 0, attempts: 0 }],
    ['throw', { status: 'queued', snoozes: 0, releases: 1, attempts: 0 }],
  ] as const)(
    'keeps a wait that begins while its worker drains (%s)',
    { tags: 'check' },
    async (how, expected) => {
      const id = await test.tock.enqueue(stops, { how });
      const daemon = await test.tock.start();
      await until(async () => begun.has(id), 'the handler to begin');
      await daemon.stop();
      expect(await test.tock.runs.get(id)).toMatchObject(expected);
      await test.tock.runs.cancel(id);
    },
  );

  it('is cancelled where an operator has asked for that meanwhile', { tags: 'check' }, async () => {
    const id = await test.tock.enqueue(stops, { how: 'snooze' });
    const daemon = await test.tock.start();
    await until(async () => begun.has(id), 'the handler to begin');
    await test.tock.runs.cancel(id);
    const run = await until(async () => {
      const found = await test.tock.runs.get(id);
      return found?.finishedAt && found;
    }, 'its end');
    await daemon.stop();
    expect(run).toMatchObject({ status: 'cancelled', snoozes: 0 });
  });

  it('has failed where it was out of time', { tags: 'check' }, async () => {
    const id = await test.tock.enqueue(times, {});
    await test.tock.tick();
    const run = await test.tock.runs.get(id);
    expect(run).toMatchObject({ status: 'dead', snoozes: 0, errors: [{ code: 'TOCK_TIMEOUT' }] });
  });

  it('has begun: its deadline is over, and outside of its window it waits for the opening', {
    tags: 'check',
  }, async () => {
    await test.setClock('2026-03-02T08:59:00Z');
    await test.tock.tick();
    await test.setClock('2026-03-02T09:00:00Z');
    await test.tock.tick();
    const [run] = await test.tock.runs.list({ job: 'office' });
    expect(run).toMatchObject({ status: 'queued', snoozes: 1, runAt: new Date('2026-03-02T15:00:00Z') });
    await test.setClock('2026-03-02T15:00:00Z');
    await test.tock.tick();
    expect(await test.tock.runs.get(run?.id ?? '')).toMatchObject({
      status: 'queued',
      runAt: new Date('2026-03-03T09:00:00Z'),
    });
    await test.setClock('2026-03-03T09:00:00Z');
    await test.tock.tick();
    expect(await test.tock.runs.get(run?.id ?? '')).toMatchObject({ status: 'succeeded', output: 'done' });
    await test.setClock(NOON);
  });
});
