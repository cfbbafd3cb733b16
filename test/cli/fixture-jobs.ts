// The job module that the command line's tests point TOCK_JOBS to; compiled by esbuild to a temporary file.
// In: nothing. Out: jobs that succeed, fail, wait, print, and speak in escape sequences.
import { existsSync, writeFileSync } from 'node:fs';
import v8 from 'node:v8';
import * as z from 'zod';
import { Dead, defineJob } from '../../src/index.js';
import { until } from '../support/until.js';

const greet = defineJob({
  name: 'greet',
  description: 'Says hello.',
  payload: z.object({ name: z.string().default('you') }),
  run: (ctx, { name }) => {
    ctx.progress(0.5, 'half-way');
    console.log('a handler prints on standard output');
    return { greeting: `hello ${name}`, attempt: ctx.attempt };
  },
});

const nightly = defineJob({
  name: 'nightly',
  schedule: { cron: '30 2 * * *', timezone: 'America/New_York', jitter: '5m' },
  queue: 'reports',
  run: () => null,
});

const steady = defineJob({ name: 'steady', schedule: { every: '6h', phase: '1h' }, run: () => null });

const broken = defineJob({
  name: 'broken',
  retry: { maxAttempts: 2, base: '1s', backoff: 'fixed', jitter: 0 },
  run: () => {
    const members = [new RangeError('too far'), 'a text \u001B[31mred'];
    throw new TypeError('no such\nthing', { cause: new AggregateError(members, 'both\nof them') });
  },
});

const hopeless = defineJob({
  name: 'hopeless',
  run: () => {
    throw new Dead('given up: \u001B[31mred\u001B[0m \u001B]0;title\u0007 \u009B2J end');
  },
});

/** Runs until a file appears: tests decide when, with no clock. */
const patient = defineJob({
  name: 'patient',
  payload: z.object({ started: z.string(), until: z.string() }),
  run: async (ctx, { started, until: file }) => {
    ctx.progress(0.25, 'waiting');
    writeFileSync(started, String(process.pid));
    await until(async () => {
      ctx.signal.throwIfAborted();
      return existsSync(file);
    }, file);
    return 'seen';
  },
});

/** Makes garbage of which much survives for a while, as a busy worker does, and tells how large that space has become. */
const churning = defineJob({
  name: 'churning',
  run: async () => {
    let kept: unknown[] = [];
    for (let turn = 0; turn < 600; turn++) {
      for (let n = 0; n < 2000; n++) kept.push({ n, text: String(n), pair: [n, turn] });
      if (kept.length > 60_000) kept = kept.slice(30_000);
      await new Promise(resolve => setImmediate(resolve));
    }
    return {
      young: v8.getHeapSpaceStatistics().find(each => each.space_name === 'new_space')?.space_size ?? null,
    };
  },
});

export const jobs = [greet, nightly, steady, broken, hopeless, patient, churning];
