// The jobs of tracing.test.ts. A child process has a context manager of its own, as its SDK would set it.
import { context, trace } from '@opentelemetry/api';
import { defineJob } from '../../src/index.js';
import { asyncContextManager } from '../support/spans.js';

if (process.send !== undefined) context.setGlobalContextManager(asyncContextManager());

const tells = defineJob({
  name: 'tells',
  isolate: true,
  async run() {
    await new Promise(resolve => setImmediate(resolve));
    return { pid: process.pid, span: trace.getSpan(context.active())?.spanContext() ?? null };
  },
});

const enqueues = defineJob({
  name: 'enqueues',
  isolate: true,
  run: async ctx => await ctx.enqueue<string>('tells'),
});

export const jobs = [tells, enqueues];
