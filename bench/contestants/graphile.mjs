// graphile-worker in its best configuration: that of its own performance page, without a log line per job.
// In: a database's URL. Out: what every contestant gives (see contestants/index.mjs).
import { Logger, makeWorkerUtils, run } from 'graphile-worker';

const logger = new Logger(() => () => {});
const preset = url => ({ worker: { connectionString: url, logger } });

export const graphile = {
  name: 'graphile-worker',
  // https://worker.graphile.org/docs/performance
  documented: { concurrency: 24, localQueue: 500, batchDelay: 0 },
  // Faster than the documented one, where it was tried.
  settings: { concurrency: 24, localQueue: 2000, batchDelay: 0 },
  /** For latency and quiet: as it comes, a local queue only delays what comes singly. */
  plain: { concurrency: 24, localQueue: -1, batchDelay: 0 },
  install: async url => {
    const utils = await makeWorkerUtils({ preset: preset(url) });
    await utils.migrate();
    await utils.release();
  },
  /** `named`: each job is in the queue of its payload's `tenant`, which works off one at a time. */
  producer: async (url, { named = false } = {}) => {
    const utils = await makeWorkerUtils({ preset: preset(url) });
    return {
      add: async (payload, options) => await utils.addJob('noop', payload, options),
      addMany: async (payloads, { keys = false } = {}) =>
        await utils.addJobs(
          payloads.map(payload => ({
            identifier: 'noop',
            payload,
            ...(named ? { queueName: String(payload.tenant) } : {}),
            ...(keys ? { jobKey: `bench-${payload.n}` } : {}),
          })),
        ),
      close: async () => await utils.release(),
    };
  },
  worker: async (url, { handler, concurrency, localQueue, batchDelay, task = 'noop' }) => {
    process.env.NO_LOG_SUCCESS = '1';
    const runner = await run({
      preset: {
        worker: {
          ...preset(url).worker,
          concurrentJobs: concurrency,
          maxPoolSize: Math.max(10, Math.min(concurrency, 24) + 1),
          localQueue: { size: localQueue },
          completeJobBatchDelay: batchDelay,
          failJobBatchDelay: batchDelay,
        },
      },
      noHandleSignals: true,
      taskList: { [task]: async payload => await handler(payload) },
    });
    // Where an outcome cannot be written, it claims no more and stops by itself. With batched completion that
    // stop never comes to its end (0.18.0), nor does its promise settle: the beginning has to do.
    const ended = new Promise(resolve => {
      for (const name of ['pool:gracefulShutdown', 'stop']) runner.events.once(name, resolve);
    });
    runner.promise.catch(error => console.error(`graphile-worker: ${error.message}`));
    return { stop: async () => await runner.stop(), ended };
  },
  /** A job that has succeeded is deleted: what has finished is counted by its handlers. */
  counts:
    'select null::int as finished, (select count(*) from graphile_worker._private_jobs)::int as waiting',
  keepsHistory: false,
  canKey: true,
  adapter: {
    system: 'graphile_worker',
    package: '../node_modules/graphile-worker/package.json',
    settings: workers => ({ concurrency: workers, localQueue: -1, batchDelay: 0 }),
    schema: 'graphile_worker',
    hot: '_private_jobs',
    tables: '_private_jobs|_private_job_queues',
    schemaVersion: 'select max(id)::text as version from graphile_worker.migrations',
    depth: `select count(*)::int as depth from graphile_worker._private_jobs where is_available and run_at <= now()`,
    unfinished: `select (payload->>'n')::int as n from graphile_worker._private_jobs where payload->>'s' = $1`,
  },
};
