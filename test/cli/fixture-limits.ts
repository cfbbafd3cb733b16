// The job module of tests about limits, chains and following; compiled by esbuild to a temporary file.
// In: nothing. Out: jobs that are held, that fail once, and that run after one another.
import { existsSync, writeFileSync } from 'node:fs';
import * as z from 'zod';
import { Dead, defineJob } from '../../src/index.js';
import { until } from '../support/until.js';

const idle = defineJob({ name: 'idle', run: () => null });

/** One at a time per tenant; runs until a file appears. */
const held = defineJob({
  name: 'held',
  payload: z.object({ tenant: z.string().default('a'), started: z.string(), until: z.string() }),
  concurrency: { limit: 1, key: ({ tenant }) => tenant },
  run: async (ctx, { started, until: file }) => {
    ctx.progress(0.25, 'reading');
    ctx.progress(0.5, 'writing');
    writeFileSync(started, '');
    await until(async () => {
      ctx.signal.throwIfAborted();
      return existsSync(file);
    }, file);
    return 'seen';
  },
});

const flaky = defineJob({
  name: 'flaky',
  retry: { maxAttempts: 2, base: '1s', backoff: 'fixed', jitter: 0 },
  run: ctx => {
    if (ctx.attempt === 1) throw new TypeError('not yet');
    return null;
  },
});

const doomed = defineJob({
  name: 'doomed',
  run: () => {
    throw new Dead('out of paper');
  },
});

const nightly = defineJob({
  name: 'nightly',
  schedule: { cron: '0 * * * *', timezone: 'Europe/Berlin', window: '23:00-06:00' },
  run: () => null,
});

const report = defineJob({
  name: 'report',
  schedule: { after: { any: ['nightly', 'idle'], on: 'completion' }, pauseOnFailure: 3 },
  run: () => null,
});

export const jobs = [idle, held, flaky, doomed, nightly, report];
