// BullMQ on its PostgreSQL backend: `createPostgresBackend` in place of Redis.
// In: a database's URL. Out: what every contestant gives (see contestants/index.mjs).
import { createPostgresBackend, Queue, Worker } from 'bullmq';

const QUEUE = 'noop';

const withoutIdleErrors = each => {
  each.on('error', error => console.error(`bullmq: ${error.message}`));
  return each;
};

function openQueue(url, { migrate = false, keep = true } = {}) {
  const options = {
    connection: { connectionString: url, migrate },
    // true: a job is deleted when it has succeeded.
    defaultJobOptions: { removeOnComplete: !keep },
  };
  return withoutIdleErrors(new Queue(QUEUE, options, createPostgresBackend));
}

export const bull = {
  name: 'BullMQ',
  settings: { workers: 1, concurrency: 100, connections: 24, lockMs: 300_000 },
  plain: { workers: 1, concurrency: 24, connections: 10, lockMs: 30_000 },
  install: async url => {
    const queue = openQueue(url, { migrate: true });
    await queue.waitUntilReady();
    await queue.close();
  },
  producer: async (url, options) => {
    const queue = openQueue(url, options);
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
  worker: async (url, { handler, workers: count, concurrency, connections, lockMs }) => {
    const workers = Array.from({ length: count }, () =>
      withoutIdleErrors(
        new Worker(
          QUEUE,
          async job => await handler(job.data),
          {
            connection: { connectionString: url, max: connections },
            concurrency,
            lockDuration: lockMs,
            skipStalledCheck: true,
          },
          createPostgresBackend,
        ),
      ),
    );
    await Promise.all(workers.map(worker => worker.waitUntilReady()));
    return { stop: async () => void (await Promise.all(workers.map(worker => worker.close()))) };
  },
  counts: `select count(*) filter (where state = 'completed')::int as finished,
    count(*) filter (where state <> 'completed')::int as waiting from bullmq.job`,
  keepsHistory: true,
  canKey: true,
};
