// BullMQ on its PostgreSQL backend: `createPostgresBackend` in place of Redis.
// In: a database's URL. Out: what every contestant gives (see contestants/index.mjs).
import { createPostgresBackend, Queue, Worker } from 'bullmq';

const QUEUE = 'noop';

/** An emitter's error without a listener would end the process. */
function logErrors(emitter) {
  emitter.on('error', error => console.error(`bullmq: ${error.message}`));
  return emitter;
}

function openQueue(url, migrate = false) {
  const connection = { connectionString: url, migrate };
  return logErrors(new Queue(QUEUE, { connection }, createPostgresBackend));
}

export const bull = {
  name: 'BullMQ',
  // It completes a job and claims the next in one transaction for each job: only more of them at once help, until the
  // server's cores are full.
  settings: { workers: 2, concurrency: 48, connections: 10, lockMs: 300_000 },
  single: { workers: 1, concurrency: 24, connections: 10, lockMs: 300_000 },
  /** For latency and quiet: one worker, woken by NOTIFY, as it comes. */
  plain: { workers: 1, concurrency: 24, connections: 10, lockMs: 30_000 },
  install: async url => {
    const queue = openQueue(url, true);
    await queue.waitUntilReady();
    await queue.close();
  },
  producer: async url => {
    const queue = openQueue(url);
    await queue.waitUntilReady();
    return {
      add: async payload => await queue.add('noop', payload),
      addMany: async (payloads, { keys = false } = {}) =>
        await queue.addBulk(
          payloads.map(data => ({
            name: 'noop',
            data,
            ...(keys ? { opts: { jobId: `bench-${data.n}` } } : {}),
          })),
        ),
      close: async () => await queue.close(),
    };
  },
  worker: async (url, { handler, workers: count, concurrency, connections, lockMs, removes = false }) => {
    const options = {
      connection: { connectionString: url, max: connections },
      // Of one process; with several workers in it, each has its part.
      concurrency: Math.ceil(concurrency / count),
      lockDuration: lockMs,
      ...(removes ? { removeOnComplete: { count: 0 } } : {}),
    };
    const work = async job => await handler(job.data);
    const workers = Array.from({ length: count }, () =>
      logErrors(new Worker(QUEUE, work, options, createPostgresBackend)),
    );
    await Promise.all(workers.map(worker => worker.waitUntilReady()));
    return { stop: async () => void (await Promise.all(workers.map(worker => worker.close()))) };
  },
  counts: `select count(*) filter (where state = 'completed')::int as finished,
    count(*) filter (where state <> 'completed')::int as waiting from bullmq.job`,
  keepsHistory: true,
  canKey: true,
};
