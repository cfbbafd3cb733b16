// consume(): what it answers, what it refuses, what goes back; over a broker in memory.
import { afterEach, describe, expect, it, vi } from 'vitest';
import { z } from 'zod';
import { Cancel, Dead, defineJob, type JobContext, RetryLater } from '../../src/index.js';
import { type ConsumeOptions, consume, MessageRefused, type RunningConsumer } from '../../src/relay.js';
import { gate } from '../support/gate.js';
import { until } from '../support/until.js';
import { type FakeBroker, messageFor, openFakeBroker } from './fake-broker.js';

const stopping: RunningConsumer[] = [];
afterEach(async () => {
  await Promise.all(stopping.splice(0).map(each => each.stop({ grace: 0 })));
  vi.useRealTimers();
});

type Line = Readonly<Record<string, unknown>>;

async function open(jobs: ConsumeOptions['jobs'], more: Partial<ConsumeOptions> = {}) {
  const broker = openFakeBroker();
  const lines: Line[] = [];
  const keep = (fields: Line) => void lines.push(fields);
  const logger = { debug: keep, info: keep, warn: keep, error: keep, child: () => logger };
  const consumer = await consume({ broker, jobs, logger, ...more });
  stopping.push(consumer);
  return { broker, lines, consumer };
}

const job = (name: string, run: (ctx: JobContext, payload: unknown) => unknown, more: object = {}) =>
  defineJob({ name, queue: 'mail', run, ...more });
const last = (broker: FakeBroker) => broker.answers.at(-1);
const forever = () => new Promise<never>(() => undefined);

describe('what a handler gets', () => {
  it('is the payload, parsed by the schema, and the context of a worker', async () => {
    let seen: { ctx: JobContext; payload: unknown } | undefined;
    const send = defineJob({
      name: 'send',
      payload: z.object({ to: z.string().transform(to => to.toUpperCase()) }),
      run(ctx, payload) {
        seen = { ctx, payload };
        return { sent: payload.to };
      },
    });
    const { broker } = await open([send]);
    expect(broker.received).toEqual([{ queues: ['default'], concurrency: 10 }]);
    const message = messageFor('send', {
      payload: { to: 'ada' },
      definition: 'daily',
      attempt: 2,
      scheduledFor: '2026-03-01T12:00:00.000Z',
      intervalStart: '2026-03-01T11:00:00.000Z',
      occurrenceCount: 4,
      idempotencyKey: 'a key',
      trigger: 'cron',
    });
    expect(await broker.deliver(message)).toBe(true);
    expect(broker.answers).toEqual([
      { tock: 1, run: '812', fence: 3, kind: 'succeeded', result: { sent: 'ADA' } },
    ]);
    expect(seen?.payload).toEqual({ to: 'ADA' });
    expect(seen?.ctx).toMatchObject({
      runId: '812',
      job: 'send',
      definition: 'daily',
      attempt: 2,
      maxAttempts: 3,
      fence: 3,
      scheduledFor: new Date('2026-03-01T12:00:00Z'),
      dataInterval: { start: new Date('2026-03-01T11:00:00Z'), end: new Date('2026-03-01T12:00:00Z') },
      occurrenceCount: 4,
      idempotencyKey: 'a key',
      trigger: 'cron',
    });
    expect(seen?.ctx.signal.aborted).toBe(false);
  });

  it.each([
    ['step', (ctx: JobContext) => ctx.step('a', () => 1)],
    ['once', (ctx: JobContext) => ctx.once('a', () => 1)],
    ['transaction', (ctx: JobContext) => ctx.transaction(() => 1)],
    ['enqueue', (ctx: JobContext) => ctx.enqueue<string>('other')],
    ['enqueueMany', (ctx: JobContext) => ctx.enqueueMany([{ job: 'other' }])],
    ['complete', (ctx: JobContext) => ctx.complete('1', 1)],
    ['fail', (ctx: JobContext) => ctx.fail('1', 1, 'no')],
    ['extend', (ctx: JobContext) => ctx.extend('1', 1, '1h')],
    ['runs', (ctx: JobContext) => ctx.runs.list()],
    ['queues', (ctx: JobContext) => ctx.queues.list()],
    ['handOff', (ctx: JobContext) => ctx.handOff({ lease: '1d' })],
    ['db', (ctx: JobContext) => ctx.db],
    ['scheduler', (ctx: JobContext) => ctx.scheduler.status()],
  ])('ctx.%s says that it needs the database, and what to do', async (member, use) => {
    const { broker } = await open([job('a', use)]);
    await broker.deliver(messageFor('a'));
    expect(last(broker)).toMatchObject({
      kind: 'failed',
      code: 'TOCK_NEEDS_DATABASE',
      message: expect.stringMatching(new RegExp(`^ctx\\.${member} needs the database, .*: .{20}`)),
    });
  });

  // Regression: the error that nobody awaited ended the consumer's process.
  it('a call that is not awaited fails the attempt', async () => {
    const { broker } = await open([job('a', ctx => void ctx.enqueue<string>('other'))]);
    await broker.deliver(messageFor('a'));
    expect(last(broker)).toMatchObject({
      kind: 'failed',
      code: 'TOCK_NOT_AWAITED',
      message: expect.stringContaining('ctx.enqueue "other"'),
    });
  });

  it('includes progress: the first at once, and then one a second', { tags: 'check' }, async () => {
    const { broker } = await open([
      job('a', async ctx => {
        for (let part = 0; part <= 50; part++) ctx.progress(part / 50, 'copying');
        ctx.progress(Number.NaN);
        await until(async () => broker.answers.length === 2, 'the last of them');
      }),
    ]);
    await broker.deliver(messageFor('a'));
    expect(broker.answers).toMatchObject([
      { kind: 'progress', fraction: 0, stage: 'copying' },
      { kind: 'progress', fraction: 1, stage: 'copying' },
      { kind: 'succeeded' },
    ]);
  });
});

describe('an answer', () => {
  it('describes what the handler threw, without secrets', async () => {
    const { broker, lines } = await open([
      job('a', () => {
        throw new TypeError('no route to postgres://me:secret@host');
      }),
    ]);
    expect(await broker.deliver(messageFor('a', { payload: { card: '4111' } }))).toBe(true);
    expect(last(broker)).toEqual({
      tock: 1,
      run: '812',
      fence: 3,
      kind: 'failed',
      name: 'TypeError',
      message: 'no route to postgres://me:***@host',
      stack: expect.stringContaining('consume.test'),
    });
    expect(lines).toMatchObject([{ event: 'run.failed', run_id: '812', job: 'a', attempt: 1 }]);
    expect(JSON.stringify(lines)).not.toMatch(/4111|secret/);
  });

  it.each([
    ['RetryLater', new RetryLater('1h', 'later'), { message: 'later', retryAt: expect.any(String) }],
    ['Dead', new Dead('no such account'), { message: 'no such account', retry: false }],
    ['Cancel', new Cancel('not wanted'), { message: 'not wanted', retry: false }],
  ])('obeys %s', async (_name, error, expected) => {
    const { broker } = await open([
      job('a', () => {
        throw error;
      }),
    ]);
    const before = Date.now();
    await broker.deliver(messageFor('a'));
    const answer = last(broker);
    expect(answer).toMatchObject({ kind: 'failed', ...expected });
    if (answer?.kind === 'failed' && answer.retryAt !== undefined)
      expect(Date.parse(answer.retryAt) - before).toBeGreaterThanOrEqual(3_600_000);
  });

  it('says when to try again if the job or the consumer has a backoff, and leaves it to the relay if not', async () => {
    const fail = () => {
      throw new Error('no');
    };
    const own = job('own', fail, { retry: { backoff: () => '2h' } });
    const { broker } = await open([own, job('none', fail, { retry: { maxAttempts: 2 } })]);
    await broker.deliver(messageFor('own'));
    expect(last(broker)).toHaveProperty('retryAt');
    await broker.deliver(messageFor('none', { run: '2' }));
    expect(last(broker)).not.toHaveProperty('retryAt');
    const other = await open([job('none', fail)], { retry: { base: '1m' } });
    await other.broker.deliver(messageFor('none'));
    expect(last(other.broker)).toHaveProperty('retryAt');
  });

  it.each([
    ['a result that JSON cannot hold', () => ({ big: 2n }), 'TOCK_BAD_RESULT', /bigint/],
    ['a result over 1 MiB', () => 'x'.repeat(1_100_000), 'TOCK_BAD_RESULT', /over the limit/],
  ])('refuses %s', async (_what, run, code, message) => {
    const { broker } = await open([job('a', run)]);
    await broker.deliver(messageFor('a'));
    expect(last(broker)).toMatchObject({ kind: 'failed', code, message: expect.stringMatching(message) });
  });

  it('says that the payload does not fit, and that the job is not known here', async () => {
    const strict = defineJob({ name: 'send-mail', payload: z.object({ to: z.string() }), run: () => null });
    const { broker } = await open([strict]);
    await broker.deliver(messageFor('send-mail', { payload: {} }));
    expect(last(broker)).toMatchObject({ kind: 'failed', code: 'TOCK_BAD_PAYLOAD' });
    await broker.deliver(messageFor('send-mial', { run: '2' }));
    expect(last(broker)).toMatchObject({
      kind: 'failed',
      code: 'TOCK_UNKNOWN_JOB',
      message: expect.stringMatching(/did you mean send-mail\?/),
    });
    expect(last(broker)).not.toHaveProperty('retry');
  });

  it('that the broker refuses for what it holds becomes a failure that says so', async () => {
    const { broker } = await open([job('a', () => 'x'.repeat(1000))]);
    broker.onAnswer = answer =>
      answer.kind === 'succeeded' ? Promise.reject(new MessageRefused('it is too large')) : Promise.resolve();
    expect(await broker.deliver(messageFor('a'))).toBe(true);
    expect(broker.answers).toMatchObject([
      { kind: 'failed', code: 'TOCK_BAD_RESULT', message: 'it is too large' },
    ]);
  });

  it('comes after the timeout of the job', { tags: 'check' }, async () => {
    const { broker } = await open([
      job(
        'a',
        ctx =>
          new Promise((_, reject) =>
            ctx.signal.addEventListener('abort', () => reject(new Error('aborted'))),
          ),
        {
          timeout: '20ms',
        },
      ),
    ]);
    expect(await broker.deliver(messageFor('a'))).toBe(true);
    expect(last(broker)).toMatchObject({ kind: 'failed', code: 'TOCK_TIMEOUT' });
  });
});

describe('a message', () => {
  it('goes back if its answer is not confirmed; and its handler is not called again for it', async () => {
    let calls = 0;
    const { broker, lines } = await open([job('a', () => ++calls)]);
    broker.onAnswer = () => Promise.reject(new Error('no route'));
    expect(await broker.deliver(messageFor('a'))).toBe(false);
    expect(lines).toMatchObject([{ event: 'consumer.unanswered', run_id: '812', error: 'no route' }]);
    broker.onAnswer = () => Promise.resolve();
    expect(await broker.deliver(messageFor('a'))).toBe(true);
    expect(await broker.deliver(messageFor('a'))).toBe(true);
    expect(broker.answers).toEqual([{ tock: 1, run: '812', fence: 3, kind: 'succeeded', result: 1 }]);
  });

  it('that is delivered again while its handler is at work waits for it', async () => {
    let calls = 0;
    const { opened: held, open: release } = gate();
    const { broker } = await open([
      job('a', async () => {
        calls++;
        await held;
      }),
    ]);
    const deliveries = [broker.deliver(messageFor('a')), broker.deliver(messageFor('a'))];
    await until(async () => calls === 1, 'the handler');
    release();
    expect(await Promise.all(deliveries)).toEqual([true, true]);
    expect([calls, broker.answers.length]).toEqual([1, 1]);
    expect(await broker.deliver(messageFor('a', { fence: 4 }))).toBe(true);
    expect(calls).toBe(2);
  });

  it('whose lease has ended is dropped, with one line for many', async () => {
    const { broker, lines } = await open([job('a', () => 1)]);
    const publishedAt = new Date(Date.now() - 61_000).toISOString();
    for (const run of ['1', '2', '3'])
      expect(await broker.deliver(messageFor('a', { run, publishedAt }))).toBe(true);
    expect(broker.answers).toEqual([]);
    expect(lines).toEqual([{ event: 'consumer.expired', run_id: '1', job: 'a', count: 1 }]);
  });

  it.each([
    ['a text', 'hello', /no object/],
    ['another version', { ...messageFor('a'), tock: 2 }, /version 2/],
    ['no message of a relay', { hello: 1 }, /not from a relay/],
    ['a run that is none', messageFor('a', { run: '1; drop' }), /run$/],
    ['no fence', { ...messageFor('a'), fence: undefined }, /fence$/],
    ['a time that is none', messageFor('a', { publishedAt: 'soon', leaseMs: -1 }), /leaseMs, publishedAt$/],
  ])('that is %s is dropped, and the line names no value', async (_what, body, problem) => {
    const { broker, lines } = await open([job('a', () => 1)]);
    expect(await broker.deliver(body)).toBe(true);
    expect(broker.answers).toEqual([]);
    expect(lines).toEqual([
      { event: 'consumer.bad_message', problem: expect.stringMatching(problem), count: 1 },
    ]);
  });

  it('with members of a later version is executed', async () => {
    const { broker } = await open([job('a', () => 1)]);
    await broker.deliver({ ...messageFor('a'), colour: 'red' });
    expect(last(broker)).toMatchObject({ kind: 'succeeded' });
  });
});

describe('the lease', () => {
  it('is extended every third while the handler is at work', { tags: 'check' }, async () => {
    let extensions = 0;
    const { broker } = await open([
      job('a', async () => {
        await until(async () => extensions >= 3, 'three extensions');
      }),
    ]);
    broker.onAnswer = answer => {
      if (answer.kind === 'extend') extensions++;
      return Promise.resolve();
    };
    expect(await broker.deliver(messageFor('a', { leaseMs: 1500 }))).toBe(true);
    expect(broker.answers.slice(0, 3)).toEqual(
      [1, 2, 3].map(() => ({ tock: 1, run: '812', fence: 3, kind: 'extend', leaseMs: 1500 })),
    );
    expect(last(broker)).toMatchObject({ kind: 'succeeded' });
  });

  it('is lost if no extension is confirmed: the signal aborts, and nothing is answered', {
    tags: 'check',
  }, async () => {
    let reason: unknown;
    const { broker, lines } = await open([
      job(
        'a',
        async ctx =>
          await new Promise<void>(resolve => {
            ctx.signal.addEventListener('abort', () => {
              reason = ctx.signal.reason;
              resolve();
            });
          }),
      ),
    ]);
    broker.onAnswer = () => Promise.reject(new Error('no route'));
    expect(await broker.deliver(messageFor('a', { leaseMs: 300 }))).toBe(true);
    expect(reason).toMatchObject({ code: 'TOCK_LEASE_LOST' });
    expect(broker.answers).toEqual([]);
    expect(lines.map(line => line['event'])).toEqual(['run.lease_lost']);
  });
});

describe('stop', () => {
  it('waits for what is at work, and answers it', async () => {
    const { opened: held, open: release } = gate();
    const { broker, consumer } = await open([job('a', () => held)]);
    const delivery = broker.deliver(messageFor('a'));
    const stopped = consumer.stop({ grace: '30s' });
    release();
    await stopped;
    expect(await delivery).toBe(true);
    expect(last(broker)).toMatchObject({ kind: 'succeeded' });
    expect(await broker.deliver(messageFor('a', { run: '2' }))).toBe(false);
  });

  it('aborts signals after the grace, and gives back what does not end, unanswered', {
    tags: 'check',
  }, async () => {
    let reason: unknown;
    const { broker, consumer } = await open([
      job('a', async ctx => {
        ctx.signal.addEventListener('abort', () => {
          reason = ctx.signal.reason;
        });
        await forever();
      }),
    ]);
    const delivery = broker.deliver(messageFor('a'));
    await consumer.stop({ grace: 10 });
    expect(await delivery).toBe(false);
    expect(reason).toMatchObject({ code: 'TOCK_DRAINING' });
    expect(broker.answers).toEqual([]);
  });
});

describe('the options', () => {
  const a = job('a', () => 1);
  it.each([
    [{ jobs: [] }, /jobs is empty/],
    [{ jobs: [{ name: 'a' }] }, /was not made by defineJob/],
    [
      { jobs: [defineJob({ name: 'a', batch: { size: 2 }, run: () => null })] },
      /job a has batch, and a consumer gets its runs one by one: leave batch out/,
    ],
    [{ jobs: [a, a] }, /two jobs have the name or alias a/],
    [{ jobs: [a], queues: [] }, /queues is empty/],
    [{ jobs: [a], queues: ['no spaces'] }, /cannot be the name of a queue/],
    [{ jobs: [a], concurrency: 0 }, /concurrency 0/],
    [{ jobs: [a], queue: ['mail'] }, /did you mean "queues"\?/],
    [{ jobs: [a], retry: { base: 'x' } }, /retry\.base/],
    [{ jobs: [a], broker: undefined }, /broker is missing/],
  ])('%o are refused', async (options, message) => {
    const given = { broker: openFakeBroker(), logger: false, ...options } as unknown as ConsumeOptions;
    await expect(consume(given)).rejects.toThrow(message);
  });
});
