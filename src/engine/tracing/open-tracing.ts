// Spans by OpenTelemetry. Its API is loaded only when tracing is opened; the app brings it, and an SDK.
import type * as Api from '@opentelemetry/api';
import { TockError } from '../../model/errors.js';
import type { AnyJob } from '../../model/job/job.js';
import type { TracingOption } from '../../model/job/tracing-option.js';
import type { Outcome } from '../../model/run/decide.js';
import type { ErrorDescription } from '../../model/run/sanitize.js';
import { TRANSITIONS } from '../../model/run/states.js';
import type { ClaimedRun } from '../../store/runs/claim/claimed-run.js';
import type { AttemptSpan, Batch, Tracing } from './tracing.js';

const SYSTEM = { 'messaging.system': 'pg-tock' } as const;

/** @throws TockError TOCK_BAD_OPTION if the package is not installed */
export async function openTracing(option: Exclude<TracingOption, false>): Promise<Tracing> {
  const api = await loadApi();
  const provider = option === true ? api.trace : option;
  const tracer = provider.getTracer('pg-tock') as Api.Tracer;
  const { context, ROOT_CONTEXT, SpanKind, SpanStatusCode, trace } = api;

  const fail = (span: Api.Span, error: Api.Exception, message: string, type: string) => {
    span.recordException(error);
    span.setAttribute('error.type', type);
    span.setStatus({ code: SpanStatusCode.ERROR, message });
  };

  const failWith = (span: Api.Span, { name, code, message, stack }: ErrorDescription) =>
    fail(
      span,
      { name, message, ...(code === null ? {} : { code }), ...(stack === null ? {} : { stack }) },
      message,
      code ?? name,
    );

  return {
    enqueueing: async (batch, work, idsOf) =>
      await tracer.startActiveSpan(
        batch.jobs.length === 1 ? `enqueue ${batch.jobs[0]}` : 'enqueue',
        { kind: SpanKind.PRODUCER, attributes: attributesOfBatch(batch) },
        async span => {
          try {
            const result = await work(traceparentOf(api, span));
            const [id, ...others] = idsOf(result);
            if (id !== undefined && others.length === 0) span.setAttribute('messaging.message.id', id);
            return result;
          } catch (error) {
            const { message, code, name } = error as Partial<TockError>;
            fail(span, error as Error, message ?? String(error), code ?? name ?? 'Error');
            throw error;
          } finally {
            span.end();
          }
        },
      ),

    attempt: (run, job, workerId) => {
      const producer = run.trace && spanContextOf(api, run.trace.traceparent);
      const span = tracer.startSpan(
        `process ${run.job}`,
        {
          root: true,
          kind: SpanKind.CONSUMER,
          attributes: attributesOfRun(run, job, workerId),
          links: producer ? [{ context: producer }] : [],
        },
        ROOT_CONTEXT,
      );
      return attemptSpan(span, {
        traceparent: traceparentOf(api, span),
        around: work => context.with(trace.setSpan(ROOT_CONTEXT, span), work),
        fail: error => failWith(span, error),
      });
    },

    batch: (runs, job, workerId) => {
      const producers = runs.flatMap(run => (run.trace && spanContextOf(api, run.trace.traceparent)) ?? []);
      const span = tracer.startSpan(
        `process ${job.name}`,
        {
          root: true,
          kind: SpanKind.CONSUMER,
          attributes: attributesOfBatchOf(runs, job, workerId),
          links: producers.map(producer => ({ context: producer })),
        },
        ROOT_CONTEXT,
      );
      let left = runs.length;
      let hasFailed = false;
      return runs.map(run => ({
        traceparent: traceparentOf(api, span),
        around: work => context.with(trace.setSpan(ROOT_CONTEXT, span), work),
        end(outcome, isCommitted) {
          const word = isCommitted ? 'succeeded' : wordFor(outcome);
          span.addEvent('tock.run', {
            'messaging.message.id': run.id,
            'tock.attempt': run.attempts,
            'tock.fence': run.fence,
            'tock.outcome': word,
          });
          // The first error stands for all: mostly the handler has thrown, and it is the same.
          if (outcome?.error && !isCommitted && !hasFailed) {
            hasFailed = true;
            failWith(span, outcome.error);
          }
          if (--left === 0) span.end();
        },
      }));
    },

    within: (traceparent, work) => {
      const remote = spanContextOf(api, traceparent);
      return remote ? context.with(trace.setSpanContext(ROOT_CONTEXT, remote), work) : work();
    },
  };
}

async function loadApi(): Promise<typeof Api> {
  try {
    return await import('@opentelemetry/api');
  } catch (cause) {
    throw new TockError(
      'TOCK_BAD_OPTION',
      'tracing needs the package @opentelemetry/api: npm install @opentelemetry/api, or leave tracing out',
      { cause },
    );
  }
}

function attemptSpan(
  span: Api.Span,
  {
    fail,
    ...parts
  }: Pick<AttemptSpan, 'traceparent' | 'around'> & { fail: (error: ErrorDescription) => void },
): AttemptSpan {
  return {
    ...parts,
    end(outcome: Outcome | null, isCommitted: boolean) {
      span.setAttribute('tock.outcome', isCommitted ? 'succeeded' : wordFor(outcome));
      if (outcome?.transition === 'fail') span.setAttribute('tock.retry_in_ms', outcome.delayMs);
      if (outcome?.error && !isCommitted) fail(outcome.error);
      span.end();
    },
  };
}

function wordFor(outcome: Outcome | null): string {
  if (outcome === null) return 'lost';
  if (outcome.transition === 'release') return 'released';
  if (outcome.transition === 'suspend') return 'waiting';
  if (outcome.transition === 'handOff') return 'handed off';
  return outcome.transition === 'defer' ? 'deferred' : TRANSITIONS[outcome.transition].to;
}

function attributesOfBatch({ jobs, queues, count }: Batch): Api.Attributes {
  return {
    ...SYSTEM,
    'messaging.operation.type': 'send',
    'messaging.operation.name': 'enqueue',
    ...(queues.length === 1 && { 'messaging.destination.name': queues[0] }),
    ...(jobs.length === 1 && { 'tock.job': jobs[0] }),
    ...(count > 1 && { 'messaging.batch.message_count': count }),
  };
}

function attributesOfRun(run: ClaimedRun, job: AnyJob, workerId: string): Api.Attributes {
  return {
    ...SYSTEM,
    'messaging.operation.type': 'process',
    'messaging.operation.name': 'process',
    'messaging.destination.name': run.trace?.queue ?? job.queue ?? 'default',
    'messaging.message.id': run.id,
    'messaging.client.id': workerId,
    'tock.job': run.job,
    'tock.trigger': run.trigger,
    'tock.attempt': run.attempts,
    'tock.max_attempts': run.max_attempts,
    'tock.fence': run.fence,
    ...(run.definition !== null && { 'tock.definition': run.definition }),
    ...(run.scheduled_for !== null && { 'tock.scheduled_for': new Date(run.scheduled_for).toISOString() }),
    ...(run.trigger === 'cron' && { 'faas.trigger': 'timer' }),
  };
}

function attributesOfBatchOf(runs: readonly ClaimedRun[], job: AnyJob, workerId: string): Api.Attributes {
  return {
    ...SYSTEM,
    'messaging.operation.type': 'process',
    'messaging.operation.name': 'process',
    'messaging.destination.name': runs.find(run => run.trace)?.trace?.queue ?? job.queue ?? 'default',
    'messaging.client.id': workerId,
    'messaging.batch.message_count': runs.length,
    'tock.job': job.name,
  };
}

function traceparentOf(api: typeof Api, span: Api.Span): string | null {
  const { traceId, spanId, traceFlags } = span.spanContext();
  if (!api.isSpanContextValid(span.spanContext())) return null;
  return `00-${traceId}-${spanId}-${(traceFlags & 0xff).toString(16).padStart(2, '0')}`;
}

/** Null for what is no valid traceparent. */
function spanContextOf(api: typeof Api, traceparent: string): Api.SpanContext | null {
  const [, traceId = '', spanId = '', flags = ''] =
    /^00-([\da-f]{32})-([\da-f]{16})-([\da-f]{2})$/.exec(traceparent) ?? [];
  const spanContext = { traceId, spanId, traceFlags: Number.parseInt(flags, 16), isRemote: true };
  return api.isSpanContextValid(spanContext) ? spanContext : null;
}
