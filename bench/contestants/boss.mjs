// pg-boss in its best configuration: fetch and complete by batches in a loop, without monitoring or maintenance.
// In: a database's URL. Out: what every contestant gives (see contestants/index.mjs).
import { PgBoss } from 'pg-boss';

const QUEUE = 'noop';

async function open(url, options = {}) {
  const boss = new PgBoss({
    connectionString: url,
    supervise: false,
    schedule: false,
    migrate: false,
    ...options,
  });
  boss.on('error', error => console.error(`pg-boss: ${error.message}`));
  await boss.start();
  return boss;
}

const close = async boss => await boss.stop({ graceful: true });

/** Loops of fetch → handlers of the batch at once → complete, until told to stop. */
function loops(boss, { handler, loops: count, batch }) {
  let isStopping = false;
  const loop = async () => {
    while (!isStopping) {
      const jobs = await boss.fetch(QUEUE, { batchSize: batch });
      if (jobs.length === 0) await new Promise(resolve => setTimeout(resolve, 5));
      else {
        await Promise.all(jobs.map(job => handler(job.data)));
        await boss.complete(
          QUEUE,
          jobs.map(job => job.id),
        );
      }
    }
  };
  const running = Promise.all(Array.from({ length: count }, loop));
  return async () => {
    isStopping = true;
    await running;
  };
}

export const boss = {
  name: 'pg-boss',
  settings: { loops: 3, batch: 500 },
  /** For latency and quiet: its own worker, woken by NOTIFY, or polling as often as it may. */
  plain: { work: true, notify: true },
  polling: { work: true, notify: false },
  install: async url => {
    const each = await open(url, { migrate: true, createSchema: true });
    await each.createQueue(QUEUE, { notify: true });
    await close(each);
  },
  producer: async url => {
    const each = await open(url);
    return {
      add: async payload => await each.send(QUEUE, payload),
      addMany: async payloads =>
        await each.insert(
          QUEUE,
          payloads.map(data => ({ data })),
        ),
      close: async () => await close(each),
    };
  },
  worker: async (url, { handler, work, notify, supervise = false, workers = 1, batch = 24, ...rest }) => {
    const each = await open(url, { useListenNotify: notify === true, supervise });
    if (!work) {
      const stop = loops(each, { handler, batch, ...rest });
      return {
        stop: async () => {
          await stop();
          await close(each);
        },
      };
    }
    const options = {
      batchSize: batch,
      localConcurrency: workers,
      burstWhenBatchFull: true,
      pollingIntervalSeconds: notify ? 2 : 0.5,
    };
    await each.work(
      QUEUE,
      options,
      async jobs => void (await Promise.all(jobs.map(job => handler(job.data)))),
    );
    return { stop: async () => await close(each) };
  },
  counts: `select count(*) filter (where state = 'completed')::int as finished,
    count(*) filter (where state <> 'completed')::int as waiting from pgboss.job`,
  keepsHistory: true,
  canKey: false,
  adapter: {
    system: 'pgboss',
    package: '../node_modules/pg-boss/package.json',
    // With its maintenance, which takes back what was fetched and never ended.
    settings: () => ({ work: true, notify: true, supervise: true }),
    schema: 'pgboss',
    hot: 'job_common',
    tables: 'job_common|queue',
    schemaVersion: 'select version::text from pgboss.version',
    depth: `select count(*)::int as depth from pgboss.job where state < 'active' and start_after <= now()`,
    unfinished: `select (data->>'n')::int as n from pgboss.job where state < 'completed' and data->>'s' = $1`,
  },
};
