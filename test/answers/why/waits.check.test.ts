// Engine: why a run that is there does not start: slots under a limit, windows, queues; and what took its place.
// In the check: ticks that go on for as long as their handlers are held.
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type AnyJob, defineJob, type JobSchedule, type Why } from '../../../src/index.js';
import { openForEach } from '../../support/open.js';
import { reuseTestTock, until } from '../../support/test-tock.js';

const test = openForEach(reuseTestTock);
let release: (() => void)[];
let begun: number;
beforeEach(async () => {
  release = [];
  begun = 0;
  await test.setClock('2026-03-01T11:59:30Z');
});
afterEach(() => {
  for (const each of release) each();
});

/** Runs until it is released; heeds its signal. */
const holding = (schedule: JobSchedule, more: object = {}): AnyJob =>
  defineJob({
    name: 'report',
    schedule: { cron: '* * * * *', ...schedule },
    ...more,
    run: ctx => {
      begun++;
      return new Promise((resolve, reject) => {
        release.push(() => resolve(null));
        ctx.signal.addEventListener('abort', () => reject(ctx.signal.reason));
      });
    },
  });
const open = async (job: AnyJob) => {
  const tock = test.another({ jobs: [job], lease: '1h', heartbeat: '50ms', grace: '100ms' });
  await tock.tick();
  await test.advance('30s');
  return tock;
};
const idle = (schedule: JobSchedule, more: object = {}) =>
  defineJob({ name: 'report', schedule: { cron: '0 * * * *', ...schedule }, ...more, run: () => null });
const told = ({ sentences }: Why) => sentences.join('\n');
const atMinute = async (tock: Awaited<ReturnType<typeof open>>, minute: string) =>
  await tock.why('report', `2026-03-01T12:${minute}`);
/** A minute later, and a tick that does not end as long as handlers run. */
const minuteLater = async (tock: Awaited<ReturnType<typeof open>>, minute: string) => {
  await test.advance('1m');
  const ticking = tock.tick();
  await until(async () => (await atMinute(tock, minute)).run !== null, `${minute} to be on record`);
  return ticking;
};

describe('why of a run that waits', () => {
  it('names who has its turn', async () => {
    const tock = await open(holding({ overlap: 'buffer_all' }));
    const ticks: Promise<unknown>[] = [tock.tick()];
    await until(async () => begun === 1, 'the first to begin');
    ticks.push(minuteLater(tock, '01'));
    await until(async () => (await atMinute(tock, '01')).run?.blockedOn, 'the second to be blocked');
    const why = await atMinute(tock, '01');
    const first = (await atMinute(tock, '00')).run;
    expect(why).toMatchObject({
      verdict: 'queued',
      run: { blockedOn: expect.stringMatching(/^definition:\d+$/) },
    });
    expect(told(why)).toContain(
      `it waits for the turn of report, which run ${first?.id} has (tock show ${first?.id})`,
    );
    expect(first?.concurrencyKeys).toEqual([why.run?.blockedOn]);
    const free = setInterval(() => release.splice(0).forEach(each => each()), 20);
    await Promise.all(ticks);
    clearInterval(free);
  });

  it('names the runs that have the slots of its job, by key', async () => {
    const job = holding(
      { overlap: 'allow_all', payload: { shop: 7 } },
      { concurrency: { limit: 1, key: (payload: { shop: number }) => payload.shop } },
    );
    const tock = await open(job);
    const ticks: Promise<unknown>[] = [tock.tick()];
    await until(async () => begun === 1, 'the first to begin');
    ticks.push(minuteLater(tock, '01'));
    await until(
      async () => (await atMinute(tock, '01')).run?.blockedOn === 'job:report/7',
      'it to be blocked',
    );
    const first = (await atMinute(tock, '00')).run?.id;
    expect(told(await atMinute(tock, '01'))).toContain(
      `it waits for a slot of job report for 7, which run ${first} has`,
    );
    const free = setInterval(() => release.splice(0).forEach(each => each()), 20);
    await Promise.all(ticks);
    clearInterval(free);
  });

  it('tells of a window that defers it, and of one that left it out', async () => {
    const deferring = await open(idle({ window: '23:00-06:00', timezone: 'Europe/Berlin' }));
    await deferring.tick();
    const why = await deferring.why('report', '13:00');
    expect(why).toMatchObject({ verdict: 'queued', run: { runAt: new Date('2026-03-01T22:00:00Z') } });
    expect(told(why)).toContain("it waits for the definition's window to open: 23:00-06:00 (Europe/Berlin)");
    await deferring.close();
    const skipping = test.another({ jobs: [idle({ window: '23:00-06:00', outsideWindow: 'skip' })] });
    await skipping.tick();
    await test.setClock('2026-03-01T14:00:00Z');
    await skipping.tick();
    const skipped = await skipping.why('report', '14:00');
    expect(skipped).toMatchObject({ verdict: 'skipped', run: { skipReason: 'window' } });
    expect(told(skipped)).toContain(
      "the definition's window is 23:00-06:00 (UTC), and what is outside it is skipped",
    );
  });

  it('tells that its queue is paused, outside its window, full, or slow', async () => {
    const tock = await open(idle({}, { queue: 'reports' }));
    await tock.queues.pause('reports', { note: 'out of paper' });
    await tock.tick();
    const at = async () => told(await tock.why('report', '12:00'));
    expect(await at()).toContain(
      'its queue reports is paused since 2026-03-01T12:00:00Z (out of paper) (tock queue resume reports)',
    );
    await tock.queues.resume('reports');
    await tock.queues.set('reports', { window: '23:00-06:00' });
    expect(await at()).toContain(
      'its queue reports is outside its window 23:00-06:00 (UTC), which opens at 2026-03-01T23:00:00Z',
    );
    await tock.queues.set('reports', { window: null, concurrency: 0 });
    expect(await at()).toContain('its queue reports is full: 0 running, 0 at once at most');
    await tock.queues.set('reports', { concurrency: null, rate: { count: 2, per: '1h' } });
    expect(await at()).toContain('its queue reports starts at most 2 runs per 1h');
    await tock.queues.remove('reports');
    expect(await at()).not.toContain('its queue');
  });
});

describe('why of a run that gave way', () => {
  it('says which one took its place', async () => {
    const tock = await open(holding({ overlap: 'terminate_other' }));
    const ticks: Promise<unknown>[] = [tock.tick()];
    await until(async () => begun === 1, 'the first to begin');
    ticks.push(minuteLater(tock, '01'));
    await until(async () => begun === 2, 'the second to begin');
    const second = (await atMinute(tock, '01')).run?.id;
    const why = await atMinute(tock, '00');
    expect(why.verdict).toBe('cancelled');
    expect(told(why)).toContain(
      `the definition's overlap policy is terminate_other: run ${second}, of 2026-03-01T12:01:00Z, took its place`,
    );
    for (const each of release) each();
    await Promise.all(ticks);
  });

  it('names both that were live under buffer_one', async () => {
    const tock = await open(holding({ overlap: 'buffer_one' }));
    const ticks: Promise<unknown>[] = [tock.tick()];
    await until(async () => begun === 1, 'the first to begin');
    ticks.push(minuteLater(tock, '01'));
    await until(async () => (await atMinute(tock, '01')).run !== null, 'the second to be there');
    await test.advance('1m');
    ticks.push(tock.tick());
    await until(async () => (await atMinute(tock, '02')).run !== null, 'the third to be on record');
    const [one, two] = [(await atMinute(tock, '00')).run?.id, (await atMinute(tock, '01')).run?.id];
    const why = await atMinute(tock, '02');
    expect(why).toMatchObject({ verdict: 'skipped', run: { skipReason: 'overlap' } });
    expect(told(why)).toContain('buffer_one: one run may wait for the one that is live, and one did');
    expect(told(why)).toContain(`the runs that were live then: ${two} and ${one}`);
    const free = setInterval(() => release.splice(0).forEach(each => each()), 20);
    await Promise.all(ticks);
    clearInterval(free);
  });
});
