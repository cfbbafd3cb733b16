// Engine: a definition's window: runs that would start outside of it wait for the next opening, or are skipped.
import { describe, expect, it } from 'vitest';
import { defineJob, type OutsideWindow } from '../../src/index.js';
import { windowIn } from '../../src/model/planning/window.js';
import { openForEach } from '../support/open.js';
import { reuseTestTock } from '../support/test-tock.js';

const test = openForEach(reuseTestTock);

const open = async (outsideWindow: OutsideWindow, run: () => unknown = () => null, schedule: object = {}) => {
  const job = defineJob({
    name: 'report',
    retry: { maxAttempts: 5, base: '4h', max: '4h', jitter: 0 },
    schedule: {
      cron: '30 5,12 * * *',
      timezone: 'Europe/Berlin',
      window: '23:00-06:00',
      outsideWindow,
      ...schedule,
    },
    run,
  });
  await test.setClock('2026-07-01T00:00:00Z');
  const tock = test.another({ jobs: [job] });
  await tock.tick();
  return tock;
};
const runs = async () =>
  (await test.tock.runs.list({ definition: 'report' })).toReversed().map(run => ({
    at: run.scheduledFor?.toISOString().slice(11, 16),
    status: run.status === 'skipped' ? `skipped ${run.skipReason}` : run.status,
    runAt: run.runAt.toISOString().slice(5, 16),
  }));

describe('window', () => {
  it('defer: an occurrence outside waits for the next opening', async () => {
    const tock = await open('defer');
    await test.sql(`update tock.job_definitions set cursor = '2026-07-01T04:00:00Z'`);
    await test.setClock('2026-07-01T10:30:00Z');
    await tock.tick();
    expect(await runs()).toEqual([{ at: '10:30', status: 'queued', runAt: '07-01T21:00' }]);
    await test.setClock('2026-07-01T21:00:00Z');
    await tock.tick();
    expect(await runs()).toMatchObject([{ at: '10:30', status: 'succeeded' }]);
  });

  it.each([
    ['skip', 'within the window', '55 6 * * *', '06:55'],
    ['defer', 'within the window', '55 6 * * *', '06:55'],
    ['defer', 'before it, though jitter leads past it', '50 5 * * *', '06:00'],
  ] as const)(
    '%s: jitter puts no run off to the next day: an occurrence %s',
    async (outsideWindow, _where, cron, runAt) => {
      const times = { timezone: 'UTC', window: '06:00-07:00', cron, jitter: '3h' };
      const tock = await open(outsideWindow, () => null, times);
      await tock.queues.pause('default');
      await test.setClock('2026-07-01T06:56:00Z');
      await tock.tick();
      expect(await runs()).toMatchObject([{ status: 'queued', runAt: `07-01T${runAt}` }]);
    },
  );

  it('holds at the claim too: what comes late, or again, outside of it waits without losing an attempt', {
    tags: 'check',
  }, async () => {
    let calls = 0;
    const tock = await open('defer', () => {
      calls++;
      throw new Error('no');
    });
    await test.setClock('2026-07-01T03:30:00Z');
    await tock.tick();
    expect(await runs()).toMatchObject([{ status: 'failed', runAt: '07-01T07:30' }]);
    await test.setClock('2026-07-01T07:30:00Z');
    expect((await tock.tick()).executed).toMatchObject({ deferred: 1, failed: 0 });
    const [run] = await tock.runs.list({});
    expect(run).toMatchObject({ status: 'queued', attempts: 1, runAt: new Date('2026-07-01T21:00:00Z') });
    expect(calls).toBe(1);
    await test.setClock('2026-07-01T21:00:00Z');
    await tock.tick();
    expect(calls).toBe(2);
  });

  it('skip is for what has not begun: what is tried again outside waits for the opening', {
    tags: 'check',
  }, async () => {
    const tock = await open('skip', () => {
      throw new Error('no');
    });
    await test.setClock('2026-07-01T03:30:00Z');
    await tock.tick();
    await test.setClock('2026-07-01T07:30:00Z');
    await tock.tick();
    expect(await runs()).toMatchObject([{ status: 'queued', runAt: '07-01T21:00' }]);
  });

  it('skip at the claim: a run that comes too late for its window is skipped', {
    tags: 'check',
  }, async () => {
    const tock = await open('skip', () => null, { jitter: 0 });
    await test.setClock('2026-07-01T03:30:00Z');
    await tock.queues.pause('default');
    await tock.tick();
    await tock.queues.resume('default');
    await test.setClock('2026-07-01T08:00:00Z');
    await tock.tick();
    expect((await runs()).map(run => run.status)).toEqual(['skipped window']);
  });

  it.each([
    ['noon', 'window "noon" is not two times of day'],
    ['9:00-17:00', 'is not two times of day'],
    ['09:00-09:00', 'is empty'],
    ['00:00-24:00', 'is the whole day'],
    ['09:00-24:30', 'ends after 24:00'],
    ['09:00-25:00', 'is not two times of day'],
  ])('refuses %s', (window, message) => {
    expect(() => defineJob({ name: 'r', schedule: { cron: '* * * * *', window }, run: () => null })).toThrow(
      message,
    );
  });
});

describe('windowIn', () => {
  const at = (text: string) => Date.parse(text);
  it('includes its first moment and not its last, and may end at midnight', () => {
    const day = windowIn('09:00-17:30', 'UTC');
    expect(
      ['08:59:59', '09:00:00', '17:29:59', '17:30:00'].map(time => day.isOpen(at(`2026-01-01T${time}Z`))),
    ).toEqual([false, true, true, false]);
    expect(windowIn('20:00-24:00', 'UTC').isOpen(at('2026-01-01T23:59:59Z'))).toBe(true);
    expect(windowIn('20:00-00:00', 'UTC').isOpen(at('2026-01-02T00:00:00Z'))).toBe(false);
  });

  it('opens by the clocks of its zone, also where they skip or repeat the hour', () => {
    const early = windowIn('02:30-05:00', 'Europe/Berlin');
    // 02:30 does not exist on 29 March, when 03:00 follows on 01:59.
    expect(early.opening(at('2026-03-28T20:00:00Z'))).toBe(at('2026-03-29T01:00:00Z'));
    expect(early.opening(at('2026-10-24T20:00:00Z'))).toBe(at('2026-10-25T00:30:00Z'));
    const chatham = windowIn('00:00-01:00', 'Pacific/Chatham');
    expect(chatham.opening(at('2026-07-01T00:00:00Z'))).toBe(at('2026-07-01T11:15:00Z'));
  });

  it.each([
    ['Europe/Berlin', '2026-03-28'],
    ['Europe/Berlin', '2026-10-24'],
    ['Australia/Lord_Howe', '2026-04-04'],
    ['Australia/Lord_Howe', '2026-10-03'],
    ['America/Havana', '2026-03-07'],
    ['America/Havana', '2026-10-31'],
    ['Asia/Kathmandu', '2026-01-01'],
  ])(
    'agrees with itself in %s from %s on: it opens at the first instant at which it is open',
    (zone, day) => {
      const QUARTER = 900_000;
      const times = Array.from({ length: 4 * 96 }, (_, i) => at(`${day}T00:00:00Z`) + i * QUARTER);
      for (const hours of [
        '23:00-06:00',
        '00:15-00:45',
        '00:30-01:15',
        '01:30-03:00',
        '02:15-02:45',
        '02:30-03:30',
        '02:45-06:00',
      ]) {
        const window = windowIn(hours, zone);
        const last = times.findLast(window.isOpen) ?? 0;
        const before = times.filter(time => time <= last);
        const first = (from: number) => before.find(time => time >= from && window.isOpen(time));
        expect([hours, ...before.map(window.opening)]).toEqual([hours, ...before.map(first)]);
      }
    },
  );
});
