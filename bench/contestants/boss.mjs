// pg-boss in its best configuration: fetch and complete by batches in a loop, without monitoring or maintenance.
// In: a database's URL. Out: what every contestant gives (see contestants/index.mjs).
import pg from 'pg';
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

/** Loops of fetch → handlers of the batch at once → complete, until told to stop. `together`: one call for the whole batch. */
function loops(boss, { handler, together, loops: count, batch, groupConcurrency }) {
  let isStopping = false;
  const loop = async () => {
    while (!isStopping) {
      const jobs = await boss.fetch(QUEUE, {
        batchSize: batch,
        ...(groupConcurrency ? { groupConcurrency } : {}),
      });
      if (jobs.length === 0) await new Promise(resolve => setTimeout(resolve, 5));
      else {
        if (together) await together(jobs.map(job => job.data));
        else await Promise.all(jobs.map(job => handler(job.data)));
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

/** Handlers that insert a row for each job, by itself or for a whole batch at once, over ten connections. */
function inserting(url, { batch }, handler) {
  const pool = new pg.Pool({ connectionString: url, max: 10 });
  const insert = async payloads => {
    const numbers = payloads.map(({ n }) => n);
    await pool.query('insert into public.inserted (n) select * from unnest($1::bigint[])', [numbers]);
    for (const each of payloads) handler(each);
  };
  const close = async () => await pool.end();
  return batch === undefined
    ? { handler: async payload => await insert([payload]), close }
    : { together: insert, close };
}

export const boss = {
  name: 'pg-boss',
  settings: { loops: 3, batch: 500 },
  /** For latency and quiet: its own worker, woken by NOTIFY, or polling as often as it may. */
  plain: { work: true, notify: true },
  polling: { work: true, notify: false },
  /** Its flows are resolved by what supervises, at most once a second. */
  flows: { loops: 3, batch: 500, supervise: true, flowIntervalSeconds: 1 },
  install: async url => {
    const each = await open(url, { migrate: true, createSchema: true });
    await each.createQueue(QUEUE, { notify: true });
    await close(each);
  },
  /** `groupConcurrency`: each job is of the group that its payload names as `tenant`. */
  producer: async (url, { groupConcurrency } = {}) => {
    const each = await open(url);
    return {
      add: async payload => await each.send(QUEUE, payload),
      addMany: async payloads =>
        await each.insert(
          QUEUE,
          payloads.map(data => ({
            data,
            ...(groupConcurrency ? { group: { id: String(data.tenant) } } : {}),
          })),
        ),
      addGroup: async payloads =>
        await each.flow([
          ...payloads.map((data, n) => ({ ref: String(n), name: QUEUE, data })),
          { ref: 'join', name: QUEUE, data: {}, dependsOn: payloads.map((_, n) => String(n)) },
        ]),
      close: async () => await close(each),
    };
  },
  worker: async (
    url,
    {
      handler,
      work,
      notify,
      supervise = false,
      flowIntervalSeconds,
      workers = 1,
      batch = 24,
      inserts,
      ...rest
    },
  ) => {
    const each = await open(url, {
      useListenNotify: notify === true,
      supervise,
      ...(flowIntervalSeconds === undefined ? {} : { flowIntervalSeconds }),
    });
    if (!work) {
      const inserter = inserts && inserting(url, inserts, handler);
      const stop = loops(each, { handler, batch, ...rest, ...inserter });
      return {
        stop: async () => {
          await stop();
          await inserter?.close();
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
