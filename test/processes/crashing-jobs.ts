// The job module of the tests in which a handler ends its process. Bundled by esbuild, and named in TOCK_JOBS.
// FIXTURE_SIGNAL: it listens for SIGTERM itself, as many modules do, and calls process.exit(0).
import { EventEmitter } from 'node:events';
import { existsSync } from 'node:fs';
import { defineJob } from '../../src/index.js';
import { until } from '../support/until.js';

interface Tables {
  executions: { run_id: string; attempt: number; pid: number };
  releases: { at: Date };
}

/** Node's own, from before anything could take its place. */
const keptExit = process.exit.bind(process);
const isChild = process.send !== undefined;
const never = () => new Promise<null>(() => undefined);

if (process.env['FIXTURE_SIGNAL'] && !isChild) process.on('SIGTERM', () => process.exit(0));

interface Payload {
  readonly how: keyof typeof WAYS;
  /** How many others must be at work first, unless it is alone in a child. */
  readonly beside?: number;
  /** It records that it began, and waits for this file. */
  readonly until?: string;
}

const WAYS = {
  'floating rejection': () => {
    void Promise.reject(new TypeError('nobody awaited this'));
  },
  timer: () => {
    setTimeout(() => {
      throw new TypeError('thrown in a timer');
    }, 1);
  },
  emitter: () => {
    const error = new TypeError('nobody listens for this', { cause: new Error('the socket is closed') });
    setTimeout(() => new EventEmitter().emit('error', error), 1);
  },
  'exit in a timer': () => {
    setTimeout(() => process.exit(0), 1);
  },
  exit: () => process.exit(0),
  'kept exit': () => keptExit(0),
  SIGKILL: () => void process.kill(process.pid, 'SIGKILL'),
};

type Context = Parameters<ReturnType<typeof defineJob>['run']>[0];
const begins = async (ctx: Context) => {
  const row = { run_id: ctx.runId, attempt: ctx.attempt, pid: process.pid };
  await ctx.db.withTables<Tables>().insertInto('executions').values(row).execute();
};

/** Ends its process, at each attempt. */
const crashing = defineJob({
  name: 'crashing',
  retry: { maxAttempts: 3, base: 0, jitter: 0 },
  async run(ctx, payload) {
    const { how, beside = 0, until: file } = payload as Payload;
    const begun = () => ctx.db.withTables<Tables>().selectFrom('executions').select('pid').execute();
    await until(async () => isChild || (await begun()).length >= beside, 'the runs beside it');
    if (file !== undefined) {
      await begins(ctx);
      await until(async () => existsSync(file), file);
    }
    WAYS[how]();
    return await never();
  },
});

const innocent = {
  retry: { maxAttempts: 3, base: 0, jitter: 0 },
  async run(ctx: Context) {
    await begins(ctx);
    // Also where the process is asked to stop.
    const released = () => ctx.db.withTables<Tables>().selectFrom('releases').selectAll().execute();
    await until(async () => (await released()).length > 0, 'a release');
    return { isChild };
  },
};
/** Records that it began, then waits until the table `releases` has a row. */
const steady = defineJob({ name: 'steady', ...innocent });
const steadyIsolated = defineJob({ name: 'steady-isolated', isolate: true, ...innocent });

/** Returns at once, and leaves behind what throws later. */
const leaky = defineJob({
  name: 'leaky',
  run: () => {
    setTimeout(() => {
      throw new TypeError('left behind');
    }, 300);
  },
});

/** One of its runs ends the process, at each attempt. */
const crashingBatch = defineJob({
  name: 'crashing-batch',
  retry: { maxAttempts: 3, base: 0, jitter: 0 },
  batch: { size: 10 },
  async run(ctx, runs) {
    const rows = runs.map(run => ({ run_id: run.id, attempt: run.attempt, pid: process.pid }));
    await ctx.db.withTables<Tables>().insertInto('executions').values(rows).execute();
    const how = runs.map(run => (run.payload as Partial<Payload>).how).find(Boolean);
    if (how === undefined) return;
    WAYS[how]();
    await never();
  },
});

export const jobs = [crashing, steady, steadyIsolated, leaky, crashingBatch];
