// Traces: a span for each call that enqueues, one trace for each attempt with a link to it, and what goes with them.
// The SDK is real, its exporter in memory.
import { context, SpanKind, SpanStatusCode, trace } from '@opentelemetry/api';
import type { ReadableSpan } from '@opentelemetry/sdk-trace-base';
import { beforeEach, describe, expect, it } from 'vitest';
import { createTock, defineJob, type JobContext, RetryLater, type Tock } from '../../src/index.js';
import type { AnyJob } from '../../src/model/job/job.js';
import { openForEach, openOnce } from '../support/open.js';
import { collectSpans } from '../support/spans.js';
import { reuseTestTock } from '../support/test-tock.js';

const test = openForEach(reuseTestTock);
const spans = openOnce(collectSpans);
beforeEach(() => {
  spans.clear();
});

const traced = (...jobs: AnyJob[]): Tock => test.another({ jobs, tracing: spans.provider });
const job = (run: (ctx: JobContext) => unknown = () => null, more: object = {}) =>
  defineJob({ name: 'mail', ...more, run });
const idOf = (span: ReadableSpan | undefined) => span?.spanContext().spanId;
const traceOf = (span: ReadableSpan | undefined) => span?.spanContext().traceId;
const linksOf = (span: ReadableSpan | undefined) => span?.links.map(link => link.context.spanId);
const SOMEBODY = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';

describe('a run that is enqueued', () => {
  it('has a span of its producer, and each attempt is a trace with a link to it', async () => {
    const mail = job(undefined, { queue: 'mails', retry: { maxAttempts: 7 } });
    const tock = traced(mail);
    const id = await tock.enqueue(mail);
    await tock.runs.wait(id, { execute: true });
    const [send, process] = spans.ended();
    expect(send).toMatchObject({ name: 'enqueue mail', kind: SpanKind.PRODUCER });
    expect(send?.attributes).toEqual({
      'messaging.system': 'pg-tock',
      'messaging.operation.type': 'send',
      'messaging.operation.name': 'enqueue',
      'messaging.destination.name': 'mails',
      'messaging.message.id': id,
      'tock.job': 'mail',
    });
    expect(process).toMatchObject({ name: 'process mail', kind: SpanKind.CONSUMER });
    expect(process?.attributes).toEqual({
      'messaging.system': 'pg-tock',
      'messaging.operation.type': 'process',
      'messaging.operation.name': 'process',
      'messaging.destination.name': 'mails',
      'messaging.message.id': id,
      'messaging.client.id': expect.stringMatching(/^[\da-f-]{36}$/),
      'tock.job': 'mail',
      'tock.trigger': 'api',
      'tock.attempt': 1,
      'tock.max_attempts': 7,
      'tock.fence': 1,
      'tock.outcome': 'succeeded',
    });
    expect(linksOf(process)).toEqual([idOf(send)]);
    expect(traceOf(process)).not.toBe(traceOf(send));
    expect(process?.parentSpanContext).toBeUndefined();
    expect(process?.status.code).toBe(SpanStatusCode.UNSET);
  });

  it('is a child of the span in which it was enqueued', async () => {
    const tock = traced(job());
    const tracer = spans.provider.getTracer('app');
    await tracer.startActiveSpan('request', async span => {
      await tock.enqueue('mail');
      span.end();
    });
    const [send, request] = spans.ended();
    expect(traceOf(send)).toBe(traceOf(request));
    expect(send?.parentSpanContext?.spanId).toBe(idOf(request));
  });

  it('with others at once has one span for all, to which each is linked', async () => {
    const [mail, sms] = [job(), defineJob({ name: 'sms', queue: 'phones', run: () => null })];
    const tock = traced(mail, sms);
    await tock.enqueueMany([
      { job: mail },
      { job: sms, key: 'once' },
      { job: mail, key: 'live', unique: 'live' },
    ]);
    expect(await tock.tick()).toMatchObject({ executed: { succeeded: 3 } });
    const [send] = spans.named('enqueue');
    expect(send?.attributes).toMatchObject({ 'messaging.batch.message_count': 3 });
    expect(send?.attributes).not.toHaveProperty('tock.job');
    expect(send?.attributes).not.toHaveProperty('messaging.destination.name');
    const attempts = [...spans.named('process mail'), ...spans.named('process sms')];
    expect(attempts.map(linksOf)).toEqual([[idOf(send)], [idOf(send)], [idOf(send)]]);
    expect(new Set(attempts.map(traceOf)).size).toBe(3);
    expect(spans.named('process sms')[0]?.attributes['messaging.destination.name']).toBe('phones');
  });

  it('in another queue than its job’s says so', async () => {
    const tock = traced(job());
    await tock.runs.wait(await tock.enqueue('mail', {}, { queue: 'slow' }), { execute: true });
    expect(spans.named('process mail')[0]?.attributes['messaging.destination.name']).toBe('slow');
  });

  it('in SQL with a traceparent has its attempts linked to that span', async () => {
    const tock = traced(job());
    await test.sql(`select tock.enqueue('mail', traceparent => $1)`, [SOMEBODY]);
    await tock.tick();
    const [process] = spans.ended();
    expect(process?.links).toMatchObject([
      {
        context: {
          traceId: SOMEBODY.slice(3, 35),
          spanId: SOMEBODY.slice(36, 52),
          traceFlags: 1,
          isRemote: true,
        },
      },
    ]);
    expect(traceOf(process)).not.toBe(SOMEBODY.slice(3, 35));
  });

  it.each([null, '', 'garbage', SOMEBODY.toUpperCase(), `${SOMEBODY}-more`, SOMEBODY.replace('00-', 'ff-')])(
    'in SQL with the traceparent %j is not linked, and is executed',
    { tags: 'check' },
    async traceparent => {
      const tock = traced(job());
      await test.sql(`select tock.enqueue('mail', traceparent => $1)`, [traceparent]);
      expect(await tock.tick()).toMatchObject({ executed: { succeeded: 1 } });
      expect(spans.ended().map(linksOf)).toEqual([[]]);
    },
  );

  it('and refused leaves a span with the error', async () => {
    const tock = traced(job());
    await test.sql('alter table tock.job_runs_live add constraint test_check check (priority <> 77)');
    await expect(tock.enqueue('mail', {}, { priority: 77 })).rejects.toThrow(/test_check/);
    await test.sql('alter table tock.job_runs_live drop constraint test_check');
    const [send] = spans.ended();
    expect(send?.status).toMatchObject({ code: SpanStatusCode.ERROR });
    expect(send?.attributes['error.type']).toBe('23514');
    expect(send?.events[0]).toMatchObject({ name: 'exception' });
  });
});

describe('an attempt', () => {
  it('that fails has the error as its status and an event; the next one is a trace of its own', async () => {
    const mail = job(
      ({ attempt }) => {
        if (attempt === 1) throw Object.assign(new RangeError('too far'), { code: 'E_FAR' });
        if (attempt === 2) throw new RetryLater(1, 'not yet');
      },
      { retry: { base: 1, backoff: 'fixed', jitter: 0 } },
    );
    const tock = traced(mail);
    await tock.runs.wait(await tock.enqueue(mail), { execute: true });
    const [send] = spans.named('enqueue mail');
    const attempts = spans.named('process mail');
    expect(attempts.map(span => span.attributes['tock.attempt'])).toEqual([1, 2, 3]);
    expect(attempts.map(span => span.attributes['tock.outcome'])).toEqual(['failed', 'failed', 'succeeded']);
    expect(attempts.map(linksOf)).toEqual([[idOf(send)], [idOf(send)], [idOf(send)]]);
    expect(new Set(attempts.map(traceOf)).size).toBe(3);
    const [first, , last] = attempts;
    expect(first?.status).toEqual({ code: SpanStatusCode.ERROR, message: 'too far' });
    expect(first?.attributes).toMatchObject({ 'error.type': 'E_FAR', 'tock.retry_in_ms': 1 });
    expect(first?.events[0]).toMatchObject({
      name: 'exception',
      attributes: {
        'exception.message': 'too far',
        'exception.stacktrace': expect.stringContaining('tracing.test'),
      },
    });
    expect(last?.status.code).toBe(SpanStatusCode.UNSET);
    expect(last?.events).toEqual([]);
  });

  it('of a run that an operator has retried is linked to the producer too', async () => {
    let isBroken = true;
    const mail = job(
      () => {
        if (isBroken) throw new Error('refused');
      },
      { retry: { maxAttempts: 1 } },
    );
    const tock = traced(mail);
    const id = await tock.enqueue(mail);
    await tock.runs.wait(id, { execute: true });
    isBroken = false;
    await tock.runs.retry(id);
    await tock.runs.wait(id, { execute: true });
    const [send] = spans.named('enqueue mail');
    expect(spans.named('process mail').map(linksOf)).toEqual([[idOf(send)], [idOf(send)]]);
  });

  it('holds no password that was in its error', async () => {
    const mail = job(
      () => {
        throw new Error('postgres://ada:s3cret@db/app');
      },
      { retry: { maxAttempts: 1 } },
    );
    const tock = traced(mail);
    await tock.runs.wait(await tock.enqueue(mail), { execute: true });
    const [attempt] = spans.named('process mail');
    expect(attempt?.attributes['tock.outcome']).toBe('dead');
    expect(JSON.stringify([attempt?.status, attempt?.events])).not.toContain('s3cret');
  });

  it('is the active span in its handler, also after an await; what it enqueues is its child', async () => {
    const seen: (string | undefined)[] = [];
    const mail = job(async ctx => {
      seen.push(trace.getSpan(context.active())?.spanContext().spanId);
      await new Promise(resolve => setImmediate(resolve));
      seen.push(trace.getSpan(context.active())?.spanContext().spanId);
      await ctx.enqueue<string>('sms');
    });
    const sms = defineJob({ name: 'sms', run: () => null });
    const tock = traced(mail, sms);
    await tock.enqueue(mail);
    await tock.tick();
    const [attempt] = spans.named('process mail');
    const [send] = spans.named('enqueue sms');
    expect(seen).toEqual([idOf(attempt), idOf(attempt)]);
    expect(send?.parentSpanContext?.spanId).toBe(idOf(attempt));
    expect(linksOf(spans.named('process sms')[0])).toEqual([idOf(send)]);
  });

  it('that commits its success itself has succeeded, whatever it throws afterwards', async () => {
    const mail = job(async ctx => {
      await ctx.transaction(() => 'done');
      throw new Error('too late');
    });
    const tock = traced(mail);
    await tock.runs.wait(await tock.enqueue(mail), { execute: true });
    const [attempt] = spans.named('process mail');
    expect(attempt?.attributes['tock.outcome']).toBe('succeeded');
    expect(attempt?.status.code).toBe(SpanStatusCode.UNSET);
  });
});

describe('a run of a schedule', () => {
  const planned = (name: string, more: object = {}, run: (ctx: JobContext) => unknown = () => null) =>
    defineJob({ name, ...more, run });
  const due = (name: string) =>
    test.sql(
      `update tock.job_definitions set cursor = tock.now() - interval '2 hours', next_at = tock.now() - interval '1 hour' where name = $1`,
      [name],
    );

  it('says that a timer began it; what follows is linked to its attempt', { tags: 'check' }, async () => {
    const tock = traced(
      planned('extract', { schedule: { every: '1h' } }),
      planned('load', { schedule: { after: 'extract' } }, ctx => ctx.transaction(() => 'loaded')),
      planned('report', { schedule: { after: 'load' } }),
    );
    await tock.register();
    await due('extract');
    await tock.tick();
    const [extract, load, report] = ['extract', 'load', 'report'].map(
      name => spans.named(`process ${name}`)[0],
    );
    expect(extract?.attributes).toMatchObject({
      'faas.trigger': 'timer',
      'tock.trigger': 'cron',
      'tock.definition': 'extract',
      'tock.scheduled_for': expect.stringMatching(/^\d{4}-.*Z$/),
    });
    expect(linksOf(extract)).toEqual([]);
    expect(linksOf(load)).toEqual([idOf(extract)]);
    // Its success was committed by its own transaction.
    expect(linksOf(report)).toEqual([idOf(load)]);
    expect(load?.attributes).not.toHaveProperty('faas.trigger');
    expect(new Set([extract, load, report].map(traceOf)).size).toBe(3);
  });

  it('that ends dead is what the run of onDead is linked to', async () => {
    const mail = job(
      () => {
        throw new Error('refused');
      },
      { retry: { maxAttempts: 1 }, onDead: 'support' },
    );
    const tock = traced(mail, planned('support'));
    await tock.register();
    await tock.enqueue(mail);
    await tock.tick();
    await tock.tick();
    expect(linksOf(spans.named('process support')[0])).toEqual([idOf(spans.named('process mail')[0])]);
  });
});

describe('without tracing', () => {
  it('a run that somebody traced is executed, and no span is made', async () => {
    await test.sql(`select tock.enqueue('mail', traceparent => $1)`, [SOMEBODY]);
    const tock = test.another({ jobs: [job()] });
    expect(await tock.tick()).toMatchObject({ executed: { succeeded: 1 } });
    expect(spans.ended()).toEqual([]);
  });

  it('nothing is kept with a run', async () => {
    const tock = test.another({ jobs: [job()] });
    await tock.runs.wait(await tock.enqueue('mail'), { execute: true });
    expect(await test.sql('select distinct traceparent, last_traceparent from tock.job_runs')).toEqual([
      { traceparent: null, last_traceparent: null },
    ]);
  });

  it.each([
    ['a text', 'yes'],
    ['no provider', {}],
    ['null', null],
  ])('%s in its place is refused', (_what, tracing) => {
    expect(() => createTock({ connectionString: 'postgres://x', tracing: tracing as never })).toThrow(
      expect.objectContaining({ code: 'TOCK_BAD_OPTION', message: expect.stringContaining('tracing') }),
    );
  });
});

it('the global provider is taken for true; where there is none, no span is made and nothing is kept', {
  tags: 'check',
}, async () => {
  const tock = test.another({ jobs: [job()], tracing: true });
  await tock.runs.wait(await tock.enqueue('mail'), { execute: true });
  expect(spans.ended()).toEqual([]);
  expect(await test.sql('select distinct traceparent from tock.job_runs')).toEqual([{ traceparent: null }]);
  trace.setGlobalTracerProvider(spans.provider);
  const other = test.another({ jobs: [job()], tracing: true });
  await other.runs.wait(await other.enqueue('mail'), { execute: true });
  trace.disable();
  expect(spans.ended().map(span => span.name)).toEqual(['enqueue mail', 'process mail']);
});
