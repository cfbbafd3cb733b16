// Queues in code: registered like definitions; what an operator sets lies on top, with an end.
import { describe, expect, it } from 'vitest';
import { defineJob, defineQueue, type QueueOptions } from '../../../src/index.js';
import { openForEach } from '../../support/open.js';
import { reuseTestTock } from '../../support/test-tock.js';

const NOW = '2026-03-02T12:00:00Z';
const test = openForEach(
  () => reuseTestTock([], { operator: 'ana' }),
  ({ setClock }) => setClock(NOW),
);
const send = defineJob({ name: 'send', queue: 'mail', run: () => null });
/** The code that states these queues. */
const code = (...queues: QueueOptions[]) =>
  test.another({ jobs: [send], queues: queues.map(defineQueue), operator: 'the code' });
const mail = async () => (await test.tock.queues.list()).find(({ name }) => name === 'mail');
const scopes = () =>
  test.sql(`select queue, path::text as path, slot_limit from tock.fair_scopes order by queue`);
const later = (ms: number) => new Date(new Date(NOW).getTime() + ms);
const HOUR = 3_600_000;

describe('registering', () => {
  it('puts in force what code states, all of it, and says so', async () => {
    const tock = code({
      name: 'mail',
      concurrency: 4,
      rate: { count: 100, per: '1m' },
      window: '08:00-18:00',
      timezone: 'Europe/Berlin',
      relay: 'rabbitmq',
      fair: { key: '$."tenant"', limit: 2 },
    });
    expect(await tock.register()).toMatchObject({ status: 'registered', added: ['send'] });
    const inCode = {
      concurrency: 4,
      rate: { count: 100, perMs: 60_000 },
      window: '08:00-18:00',
      timezone: 'Europe/Berlin',
      relay: 'rabbitmq',
      fair: { path: '$.tenant', limit: 2, rate: null },
    };
    const { relay, ...holds } = inCode;
    expect(await mail()).toMatchObject({ ...holds, relayedTo: relay, inCode, overrides: {} });
    expect(await scopes()).toEqual([{ queue: 'mail', path: '$."tenant"', slot_limit: 2 }]);
    expect(await test.tock.audit.list()).toEqual([]);
  });

  it('sends one statement where nothing is new, also for queues', async () => {
    const queues = [defineQueue({ name: 'mail', concurrency: 4 })];
    const tock = test.another({ jobs: [send], queues });
    await tock.register();
    expect(await tock.register()).toMatchObject({ status: 'unchanged' });
    const before = await test.sql(`select xmin::text from tock.job_queues`);
    await test.another({ jobs: [send], queues: [...queues, defineQueue({ name: 'other' })] }).register();
    expect(await test.sql(`select xmin::text from tock.job_queues where name = 'mail'`)).toEqual(before);
  });

  it('keeps the tokens of a rate that has not changed', { tags: 'check' }, async () => {
    const rate = { count: 1, per: '1h' };
    await code({ name: 'mail', rate }).register();
    await test.sql(`update tock.job_queues set rate_next_at = tock.now() + interval '1 hour'`);
    await code({ name: 'mail', rate, concurrency: 4 }).register();
    expect(await test.sql(`select rate_next_at from tock.job_queues`)).toEqual([
      { rate_next_at: later(HOUR) },
    ]);
    await code({ name: 'mail', rate: { count: 2, per: '1h' } }).register();
    expect(await test.sql(`select rate_next_at from tock.job_queues`)).toEqual([{ rate_next_at: null }]);
  });

  it('holds runs back, and lets them start once the code does', { tags: 'check' }, async () => {
    const shut = code({ name: 'mail', concurrency: 0 });
    await shut.register();
    await shut.enqueue('send');
    expect(await shut.tick()).toMatchObject({ executed: { claimed: 0 } });
    expect(await code({ name: 'mail', concurrency: 1 }).tick()).toMatchObject({ executed: { succeeded: 1 } });
  });

  it('writes nothing for another version that is in force beside it, and after a roll-back does', {
    tags: 'check',
  }, async () => {
    const older = code({ name: 'mail', concurrency: 4 });
    await older.register();
    await test.advance('1m');
    const newer = code({ name: 'mail', concurrency: 6 });
    await newer.register();
    expect(await older.register()).toMatchObject({ status: 'superseded' });
    expect(await mail()).toMatchObject({ concurrency: 6, inCode: { concurrency: 6 } });
    await test.advance('6m');
    expect(await older.register()).toMatchObject({ status: 'registered' });
    expect(await mail()).toMatchObject({ concurrency: 4, inCode: { concurrency: 4 } });
  });

  it('ends what code states no more: a row that says nothing else is gone, a pause stays', async () => {
    await code(
      { name: 'mail', concurrency: 4, fair: '$.tenant' },
      { name: 'paused', rate: { count: 1, per: '1s' } },
    ).register();
    await test.tock.queues.pause('paused');
    await code().register();
    expect(await test.tock.queues.list()).toMatchObject([
      { name: 'paused', rate: null, inCode: null, pausedAt: new Date(NOW) },
    ]);
    expect(await scopes()).toEqual([]);
  });

  it('removes a row too that says only that a handler had closed the queue', async () => {
    await code({ name: 'over' }, { name: 'closed' }).register();
    await test.sql(`update tock.job_queues set closed_until = tock.now() + interval '1 minute'`);
    await test.sql(`update tock.job_queues set closed_until = tock.now() where name = 'over'`);
    await code().register();
    expect((await test.tock.queues.list()).map(({ name }) => name)).toEqual(['closed']);
  });
});

describe('what an operator sets in a queue that is in code', () => {
  it('lies on top, and is said with its operator; the rest is as code states', async () => {
    await code({ name: 'mail', concurrency: 4, window: '08:00-18:00' }).register();
    const set = await test.tock.queues.set('mail', { concurrency: 2 });
    const shown = {
      concurrency: 2,
      window: '08:00-18:00',
      inCode: { concurrency: 4, window: '08:00-18:00' },
      overrides: { concurrency: { by: 'ana', until: null } },
    };
    expect(set).toMatchObject(shown);
    expect(await mail()).toMatchObject(shown);
    expect((await test.tock.audit.list())[0]).toMatchObject({
      action: 'queues.set',
      details: { changes: { concurrency: { from: 4, to: 2 } } },
    });
  });

  it('holds while the code below it changes, and the rest follows the code', async () => {
    await code({ name: 'mail', concurrency: 4, window: '08:00-18:00' }).register();
    await test.tock.queues.set('mail', { concurrency: 2 });
    await code({ name: 'mail', concurrency: 8, window: '09:00-17:00' }).register();
    expect(await mail()).toMatchObject({
      concurrency: 2,
      window: '09:00-17:00',
      inCode: { concurrency: 8 },
      overrides: { concurrency: { by: 'ana' } },
    });
    await test.tock.queues.reset('mail');
    expect(await mail()).toMatchObject({ concurrency: 8, overrides: {} });
  });

  it('ends at its time, each limit by itself, by the next reaping: a tick that finds nothing else too', {
    tags: 'check',
  }, async () => {
    const tock = code({ name: 'mail', concurrency: 4, fair: '$.tenant' });
    await tock.register();
    await test.tock.queues.set('mail', { concurrency: 0, until: '2h' });
    await test.tock.queues.set('mail', { fair: null, window: '08:00-18:00', until: later(3 * HOUR) });
    const [window, fair] = [0, 0].map(() => ({ by: 'ana', until: later(3 * HOUR) }));
    const concurrency = { by: 'ana', until: later(2 * HOUR) };
    expect(await mail()).toMatchObject({ overrides: { concurrency, fair, window } });
    expect(await scopes()).toEqual([]);
    await tock.enqueue('send');
    await test.setClock('2026-03-02T13:59:59.999Z');
    expect(await tock.tick()).toMatchObject({ executed: { claimed: 0 } });
    expect(await mail()).toMatchObject({ concurrency: 0 });
    await test.setClock('2026-03-02T14:00:00Z');
    expect(await tock.tick()).toMatchObject({ executed: { succeeded: 1 } });
    expect((await mail())?.overrides).toEqual({ fair, window });
    expect(await mail()).toMatchObject({ concurrency: 4, fair: null, window: '08:00-18:00' });
    await test.setClock('2026-03-02T15:00:00Z');
    await tock.tick();
    expect(await mail()).toMatchObject({ fair: { path: '$.tenant' }, window: null, overrides: {} });
    expect(await scopes()).toEqual([{ queue: 'mail', path: '$."tenant"', slot_limit: null }]);
    // What the scheduler does by itself is no operator's action.
    expect(await test.tock.audit.list()).toHaveLength(2);
  });

  it('ends by itself also after the code has left the queue, and a limit without an end stays', {
    tags: 'check',
  }, async () => {
    await code({ name: 'mail', concurrency: 4 }).register();
    await test.tock.queues.set('mail', { concurrency: 2, until: '1h' });
    await test.tock.queues.set('mail', { window: '08:00-18:00' });
    const without = code();
    await without.register();
    expect(await mail()).toMatchObject({ concurrency: 2, window: '08:00-18:00', inCode: null });
    await test.advance('1h');
    await without.tick();
    expect(await mail()).toMatchObject({ concurrency: null, window: '08:00-18:00' });
    await test.advance('6m');
    await code({ name: 'mail', concurrency: 4 }).register();
    expect(await mail()).toMatchObject({
      concurrency: 4,
      window: '08:00-18:00',
      overrides: { window: { by: 'ana', until: null } },
    });
  });

  it('that was set before the queue was in code lies on top too, where it says something else', async () => {
    await test.tock.queues.set('mail', { concurrency: 2, rate: { count: 5, per: '1s' }, fair: '$.tenant' });
    await code({ name: 'mail', concurrency: 4, rate: { count: 5, per: '1s' }, fair: '$.tenant' }).register();
    expect((await mail())?.overrides).toEqual({ concurrency: { by: null, until: null } });
    expect(await mail()).toMatchObject({ concurrency: 2, rate: { count: 5 } });
  });

  it('takes the place of what was set before, with its end', async () => {
    await code({ name: 'mail', concurrency: 4 }).register();
    await test.tock.queues.set('mail', { concurrency: 2, until: '1h' });
    await test.tock.queues.set('mail', { concurrency: 2 });
    expect((await mail())?.overrides).toEqual({ concurrency: { by: 'ana', until: null } });
    await test.tock.queues.set('mail', { concurrency: 2 });
    expect(await test.tock.audit.list()).toHaveLength(2);
    const as = { name: 'mia', via: 'page', role: 'admin', seesPayloads: false } as const;
    await test.tock
      .as(as)
      .queues.set('mail', { concurrency: null, until: '2026-03-02T13:00:00+01:00' })
      .catch((error: unknown) => expect(error).toMatchObject({ code: 'TOCK_BAD_TIME' }));
    await test.tock.as(as).queues.set('mail', { concurrency: null, until: '2026-03-02T14:00:00+01:00' });
    expect(await mail()).toMatchObject({
      concurrency: null,
      overrides: { concurrency: { by: 'mia', until: later(HOUR) } },
    });
    expect((await test.tock.audit.list())[0]).toMatchObject({
      operator: 'mia',
      details: { until: '2026-03-02T13:00:00.000Z' },
    });
  });

  it('is a rate too with which a queue was resumed, and a broker whose relay has started', async () => {
    await code({ name: 'mail' }).register();
    await test.tock.queues.pause('mail');
    await test.tock.queues.resume('mail', { rate: { count: 5, per: '1s' } });
    await test.tock.queues.set('mail', { relay: 'rabbitmq' });
    await code({ name: 'mail', concurrency: 3 }).register();
    const override = { by: 'ana', until: null };
    expect(await mail()).toMatchObject({
      concurrency: 3,
      rate: { count: 5 },
      relayedTo: 'rabbitmq',
      overrides: { rate: override, relay: override },
    });
  });
});

it('a queue that only a handler has closed can be resumed at a rate, as one that is paused', async () => {
  await test.sql(
    `insert into tock.job_queues (name, closed_until) values ('mail', tock.now() + interval '1h')`,
  );
  const rate = { count: 5, per: '1s' };
  expect(await test.tock.queues.resume('mail', { rate })).toMatchObject({
    wasPaused: true,
    closedUntil: null,
    rate: { count: 5, perMs: 1000 },
  });
  await expect(test.tock.queues.resume('mail', { rate })).rejects.toThrow('is neither paused nor closed');
});

describe('resetting a queue', () => {
  it('resets it to its code, leaves its pause, and is audited once', async () => {
    await code({ name: 'mail', concurrency: 4, fair: '$.tenant' }).register();
    await test.tock.queues.set('mail', { concurrency: 2, fair: null, until: '1h' });
    await test.tock.queues.pause('mail');
    const reset = await test.tock.queues.reset('mail');
    expect(reset).toMatchObject({ concurrency: 4, fair: { path: '$.tenant' }, overrides: {} });
    expect(reset.pausedAt).toEqual(new Date(NOW));
    await test.tock.queues.reset('mail');
    const { length } = await test.tock.audit.list({ action: 'queues.reset' });
    expect(length).toBe(1);
    expect(await test.sql(`select override_ends_at as at from tock.job_queues`)).toEqual([{ at: null }]);
  });

  it.each([
    ['reset', () => test.tock.queues.reset('own'), /the queue "own" is not in code: .*tock queue remove own/],
    ['an end', () => test.tock.queues.set('own', { concurrency: 1, until: '1h' }), /set it without until/],
  ])('refuses %s where the queue is not in code, and changes nothing', async (_, call, message) => {
    await test.tock.queues.set('own', { concurrency: 3 });
    await expect(call()).rejects.toMatchObject({
      code: 'TOCK_BAD_STATE',
      message: expect.stringMatching(message),
    });
    expect(await test.tock.queues.list()).toMatchObject([{ name: 'own', concurrency: 3, inCode: null }]);
  });

  it('is the remedy for one that cannot be removed, since code states it', async () => {
    await code({ name: 'mail', concurrency: 4 }).register();
    await expect(test.tock.queues.remove('mail')).rejects.toMatchObject({
      code: 'TOCK_BAD_STATE',
      message: expect.stringContaining('tock queue reset mail'),
    });
    expect(await mail()).toMatchObject({ concurrency: 4 });
  });

  it('refuses an end without a limit, and one that has passed', async () => {
    await code({ name: 'mail' }).register();
    await expect(test.tock.queues.set('mail', { until: '1h' })).rejects.toMatchObject({
      code: 'TOCK_BAD_OPTION',
    });
    for (const until of [new Date(NOW), '2026-03-02', '0s'])
      await expect(test.tock.queues.set('mail', { concurrency: 1, until })).rejects.toMatchObject({
        code: 'TOCK_BAD_TIME',
      });
    await expect(test.tock.queues.set('mail', { concurrency: 1, until: 'soon' })).rejects.toMatchObject({
      code: 'TOCK_BAD_DURATION',
    });
  });
});
