// BullMQ on its PostgreSQL backend (`createPostgresBackend`), and on Redis.
// In: the URL of a database, or of Redis. Out: what every contestant gives (see contestants/index.mjs).
import { createPostgresBackend, FlowProducer, Queue, Worker } from 'bullmq';

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

/** @param close after the queue itself */
const producerOf = (queue, close = async () => undefined) => ({
  add: async payload => (await queue.add('noop', payload)).id,
  addMany: async (payloads, { keys = false } = {}) =>
    await queue.addBulk(
      payloads.map(data => ({
        name: 'noop',
        data,
        ...(keys ? { opts: { jobId: `bench-${data.n}` } } : {}),
      })),
    ),
  close: async () => {
    await queue.close();
    await close();
  },
});

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
    const flows = logErrors(
      new FlowProducer({ connection: { connectionString: url } }, createPostgresBackend),
    );
    await Promise.all([queue.waitUntilReady(), flows.waitUntilReady()]);
    return {
      ...producerOf(queue, async () => await flows.close()),
      addGroup: async payloads =>
        await flows.add({
          name: 'noop',
          queueName: QUEUE,
          data: {},
          children: payloads.map(data => ({ name: 'noop', queueName: QUEUE, data })),
        }),
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
  adapter: {
    system: 'bullmq',
    package: '../node_modules/bullmq/package.json',
    settings: workers => ({ workers: 1, concurrency: workers, connections: 10, lockMs: 30_000 }),
    schema: 'bullmq',
    hot: 'job',
    tables: 'job|event|meta|metrics',
    schemaVersion: `select null as version`,
    depth: `select count(*)::int as depth from bullmq.job where state = 'waiting'`,
    unfinished: `select (data->>'n')::int as n from bullmq.job
      where state in ('waiting', 'active', 'delayed') and data->>'s' = $1`,
  },
};

/** As it comes: completed jobs are kept. BullMQ brings no client of Redis; ioredis is loaded where it is used only. */
export const bullOnRedis = {
  name: 'BullMQ on Redis',
  parts: ['consumer'],
  install: async () => undefined,
  producer: async url => {
    const { queue, close } = await openOnRedis(url);
    return producerOf(queue, close);
  },
  worker: async (url, { handler, concurrency, completed }) => {
    const redis = await connectRedis(url);
    const worker = new Worker(QUEUE, async job => await handler(job.data), {
      connection: redis,
      concurrency,
    });
    logErrors(worker).on('completed', job => completed(job.id));
    await worker.waitUntilReady();
    return {
      stop: async () => {
        await worker.close();
        redis.disconnect();
      },
    };
  },
  observe: async url => {
    const { queue, close } = await openOnRedis(url);
    return {
      waiting: async () => await queue.getJobCountByTypes('waiting', 'active', 'prioritized', 'delayed'),
      finished: async () => await queue.getJobCountByTypes('completed'),
      close: async () => {
        await queue.close();
        await close();
      },
    };
  },
};

async function connectRedis(url) {
  const { Redis } = await import('ioredis');
  return logErrors(new Redis(url, { maxRetriesPerRequest: null }));
}

async function openOnRedis(url) {
  const redis = await connectRedis(url);
  const queue = logErrors(new Queue(QUEUE, { connection: redis }));
  await queue.waitUntilReady();
  return { queue, close: async () => redis.disconnect() };
}
