// Incidents, each prepared as it happens: one call of one tool names the cause and what it is about.
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type AnyJob, defineJob, type JobContext, type JobSchedule, typeOnly } from '../../src/index.js';
import { openForEach } from '../support/open.js';
import { reuseTestTock, until } from '../support/test-tock.js';
import { ask } from './agent-kit.js';

const test = openForEach(reuseTestTock);
let release: (() => void)[];
let work: (ctx: JobContext) => unknown;
beforeEach(async () => {
  release = [];
  work = () => null;
  await test.setClock('2026-03-02T11:59:30Z');
});
afterEach(() => {
  for (const each of release) each();
});

const job = (name: string, more: object = {}): AnyJob =>
  defineJob({ name, retry: { maxAttempts: 1 }, run: async ctx => await work(ctx), ...more });
const scheduled = (schedule: JobSchedule, more: object = {}) => job('report', { schedule, ...more });
const holds = (ctx: JobContext) =>
  new Promise(resolve => {
    release.push(() => resolve(null));
    ctx.signal.addEventListener('abort', () => resolve(null));
  });
const open = async (...jobs: AnyJob[]) => {
  const tock = test.another({ jobs, lease: '1h', heartbeat: '50ms', grace: '100ms' });
  await tock.tick();
  return tock;
};
type Open = Awaited<ReturnType<typeof open>>;
/** A tick that does not end as long as handlers run. */
const working = async (tock: Open, count = 1) => {
  const ticking = tock.tick();
  await until(async () => release.length === count, 'the handler to begin');
  return { end: async () => void (release.splice(0).forEach(each => each()), await ticking) };
};
/** The answer to one call, which is no error. */
const told = async (tock: Open, args: object, tool = 'why') => {
  const { text, isError } = await ask(tock, tool, args);
  expect(isError, text).toBe(false);
  return text;
};

describe('one call names the cause', () => {
  it('of a dead run: its error', async () => {
    const tock = await open(job('mail'));
    work = () => {
      throw new Error('the SMTP server said no');
    };
    const run = await tock.enqueue('mail');
    await tock.tick();
    const text = await told(tock, { run });
    expect(text).toContain(`run ${run} of mail: dead`);
    expect(text).toContain('Its only attempt failed: the SMTP server said no.');
    expect(await told(tock, {}, 'errors')).toContain('1 of job mail: Error: the SMTP server said no');
  });

  it('of missed occurrences: the pause of their definition', { tags: 'check' }, async () => {
    const tock = await open(scheduled({ cron: '0 * * * *' }));
    await tock.schedules.pause('report', { note: 'stocktaking' });
    await test.advance('2h');
    await tock.tick();
    const text = await told(tock, { definition: 'report' });
    expect(text).toContain('definition report: paused');
    expect(text).toContain('(stocktaking): it makes no runs until it is resumed');
    expect(await told(tock, {}, 'status')).toContain('definition report: paused since');
  });

  it('of a run whose key a handler has closed', { tags: 'check' }, async () => {
    const send = defineJob({
      name: 'send',
      queue: 'mails',
      payload: typeOnly<{ tenant: string }>(),
      fair: { key: '$.tenant' },
      run: async ctx => await work(ctx),
    });
    const tock = await open(send);
    work = async ctx => await ctx.closeUntil('10m');
    await tock.enqueue(send, { tenant: 'acme' });
    await tock.tick();
    const run = await tock.enqueue(send, { tenant: 'acme' });
    await tock.tick();
    expect(await told(tock, { run })).toMatch(
      /waits for the turn of key acme, which a handler has closed: it opens in/,
    );
    expect(await told(tock, { key: 'acme' })).toContain(
      'key acme in queue mails of job send: closed by a handler',
    );
  });

  it('of a queue that no worker claims from', { tags: 'check' }, async () => {
    const tock = await open(job('mail', { queue: 'mails' }));
    await tock.enqueue('mail');
    await test.advance('10m');
    await tock.tick({ queues: ['other'] });
    expect(await told(tock, { queue: 'mails' })).toContain('queue mails: late, and no worker claims from it');
  });

  it('of a run whose job no worker knows', { tags: 'check' }, async () => {
    const tock = await open(job('fresh'), job('other'));
    const run = await tock.enqueue('fresh');
    await test.another({ jobs: [job('other')], allowVanishing: true }).tick();
    expect(await told(tock, { run })).toMatch(
      /waits for a worker whose code has job fresh: the one that claimed it/,
    );
  });

  it('of a queue whose limit is full, and who holds it', { tags: 'check' }, async () => {
    const tock = await open(job('mail', { queue: 'mails' }));
    await tock.queues.set('mails', { concurrency: 1 });
    work = holds;
    const first = await tock.enqueue('mail');
    const { end } = await working(tock);
    const second = await tock.enqueue('mail');
    const text = await told(tock, { queue: 'mails' });
    expect(text).toContain('queue mails: full: all its slots are held');
    expect(text).toContain(`run ${first} of mail (running`);
    expect(await told(tock, { run: second })).toContain('its queue mails is full: 1 of 1 slots are taken');
    work = () => null;
    await end();
  });

  it('of a queue outside its window', { tags: 'check' }, async () => {
    const tock = await open(job('mail', { queue: 'mails' }));
    await tock.queues.set('mails', { window: '23:00-06:00' });
    const run = await tock.enqueue('mail');
    expect(await told(tock, { run })).toContain('its queue mails is outside its window 23:00-06:00 (UTC)');
    expect(await told(tock, { queue: 'mails' })).toContain(
      'outside its window, which opens at 2026-03-02T23:00:00Z',
    );
  });

  it('of a queue that its rate holds back', { tags: 'check' }, async () => {
    const tock = await open(job('mail', { queue: 'mails' }));
    await tock.queues.set('mails', { rate: { count: 1, per: '1h' } });
    await tock.enqueueMany([{ job: 'mail' }, { job: 'mail' }]);
    await tock.tick();
    expect(await told(tock, { queue: 'mails' })).toContain(
      'queue mails: held back by its rate of 1 per hour',
    );
  });

  it('of a run that waits for its next attempt', async () => {
    const tock = await open(
      job('mail', { retry: { maxAttempts: 3, backoff: 'fixed', base: '10m', jitter: 0 } }),
    );
    work = () => {
      throw new Error('the SMTP server is away');
    };
    const run = await tock.enqueue('mail');
    await tock.tick();
    const text = await told(tock, { run });
    expect(text).toContain('Attempt 1 failed. Attempt 2 of 3 is due in 10m.');
    expect(text).toContain('the SMTP server is away');
  });

  it('of a run that somebody has cancelled', async () => {
    const tock = await open(job('mail'));
    const run = await tock.enqueue('mail', {}, { delay: '1h' });
    const mia = tock.as({ name: 'mia', via: 'page', role: 'operate', seesPayloads: false });
    await mia.runs.cancel(run, { reason: 'the wrong customer' });
    const text = await told(tock, { run });
    expect(text).toContain('It was cancelled: the wrong customer.');
    expect(text).toContain('mia (via page) cancelled');
  });

  it('of a run in a queue that is paused, and who has paused it', async () => {
    const tock = await open(job('mail', { queue: 'mails' }));
    await tock
      .as({ name: 'mia', via: 'cli', role: 'operate', seesPayloads: true })
      .queues.pause('mails', { note: 'out of paper' });
    const run = await tock.enqueue('mail');
    expect(await told(tock, { run })).toMatch(/its queue mails has been paused for .* \(out of paper\)/);
    const text = await told(tock, { queue: 'mails' });
    expect(text).toContain('queue mails: paused: out of paper');
    expect(text).toContain('mia (via cli) paused');
  });

  it('of a run that will be replaced, and of the one that replaces it', { tags: 'check' }, async () => {
    const tock = await open(job('sync'));
    work = holds;
    const live = { key: 'user:7', unique: 'live', replace: true } as const;
    const run = await tock.enqueue('sync', { n: 1 }, live);
    const { end } = await working(tock);
    const next = await tock.enqueue('sync', { n: 2 }, live);
    expect(await told(tock, { run })).toContain(
      `When it has ended, run ${next} starts, which was enqueued meanwhile with its key.`,
    );
    expect(await told(tock, { run: next })).toContain(`run ${next} starts when run ${run} has ended`);
    work = () => null;
    await end();
  });
});
