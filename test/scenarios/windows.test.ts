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
    // 02:30 does not exist on 29 March: it opens at 03:30 summer time, when 02:30 would have been.
    expect(early.opening(at('2026-03-28T20:00:00Z'))).toBe(at('2026-03-29T01:30:00Z'));
    expect(early.opening(at('2026-10-24T20:00:00Z'))).toBe(at('2026-10-25T00:30:00Z'));
    const chatham = windowIn('00:00-01:00', 'Pacific/Chatham');
    expect(chatham.opening(at('2026-07-01T00:00:00Z'))).toBe(at('2026-07-01T11:15:00Z'));
  });

  it('agrees with itself: an opening is open, and nothing between is', { tags: 'check' }, () => {
    for (const zone of ['Europe/Berlin', 'Australia/Lord_Howe', 'America/Havana', 'Asia/Kathmandu'])
      for (const hours of ['23:00-06:00', '00:15-00:45', '01:30-03:00']) {
        const window = windowIn(hours, zone);
        for (
          let from = at('2026-01-01T00:00:00Z');
          from < at('2027-01-01T00:00:00Z');
          from += 13 * 3_600_000
        ) {
          const opens = window.opening(from);
          expect([zone, hours, new Date(opens).toISOString(), window.isOpen(opens)]).toEqual([
            zone,
            hours,
            new Date(opens).toISOString(),
            true,
          ]);
          expect(opens - from).toBeLessThan(50 * 3_600_000);
        }
      }
  });
});
