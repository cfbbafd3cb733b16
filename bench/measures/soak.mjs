// Whether anything grows while a mixed load goes on for a long time: only when named.
// In: a server, and minutes. Out: figures by the minute as panels of a chart; a failure where one of them grows.
import { fork } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { track } from '../lib/child.mjs';
import { holdSnapshot, serverSeconds, settle, withDatabase } from '../lib/database.mjs';
import { figure, rowOf, untilDone } from '../lib/measure.mjs';
import { openSoak } from '../lib/soak-worker.mjs';
import { growth } from '../lib/trend.mjs';

/** Enqueued every BEAT_MS. */
const BEAT_MS = 200;
const LOAD = { quick: 100, flaky: 4, limited: 10, reporting: 2 };
const KEYS = 5;
/** In a short run more often, so that it happens. */
const pruneEvery = minutes => Math.min(5, minutes / 4);
const SAMPLES = 60;
/** How often dead rows are counted for each of them. */
const PARTS = 12;
/** With fewer minutes nothing is judged: a process warms up, and autovacuum comes once a minute. */
const JUDGED_FROM_MINUTES = 10;
const MB = 2 ** 20;

/** What is judged has a `floor`: less than that is no growth. History grows by nature; what a run takes of it must not. */
const PANELS = {
  runs: { title: 'runs a second' },
  memory: { title: 'memory of the worker, MB', floor: 16 },
  cpu: { title: 'CPU of the server, cores', floor: 0.1 },
  live: { title: 'live runs, MB with indexes', floor: 4 },
  dead: { title: 'dead rows of live runs, at most', floor: 2000 },
  others: { title: 'slots, outbox, workers, MB', floor: 1 },
  waiting: { title: 'live runs', floor: 500 },
  history: { title: 'history, MB' },
  perRun: { title: 'history, bytes a run', floor: 20 },
};

const LOOK = `
with s as (select relname, n_dead_tup, pg_total_relation_size(relid) as bytes from pg_stat_user_tables where schemaname = 'tock'),
h as (select sum(pg_total_relation_size(oid)) as bytes from tock.finished_partitions())
select (select bytes from s where relname = 'job_runs_live')::float8 as live,
  (select n_dead_tup from s where relname = 'job_runs_live')::float8 as dead,
  (select sum(bytes) from s where relname in ('job_slots', 'job_outbox', 'workers', 'job_definitions', 'upkeep'))::float8 as others,
  (select count(*) from tock.job_runs_live)::float8 as waiting, (select bytes from h)::float8 as history`;

export const soak = {
  name: 'soak',
  title: 'A mixed load for a long time: does anything grow?',
  unit: 'runs/s',
  better: 'higher',
  isLong: true,
  defaults: { minutes: 60 },
  async run({ url: server, minutes, say }) {
    return await withDatabase(server, async ({ url, sql }) => {
      const tock = openSoak(url);
      try {
        await tock.migrate();
        await tock.register();
        await settle(sql);
        return await soakFor({ tock, url, sql, minutes, say });
      } finally {
        await tock.close();
      }
    });
  },
};

async function soakFor({ tock, url, sql, minutes, say }) {
  const worker = startWorker(url);
  await worker.executes();
  const began = performance.now();
  const minute = () => (performance.now() - began) / 60_000;
  const enqueued = Object.fromEntries(Object.keys(LOAD).map(name => [name, 0]));
  const points = Object.fromEntries(Object.keys(PANELS).map(name => [name, []]));
  const stopping = new AbortController();

  const hold = { from: minutes / 10, until: minutes / 10 + Math.min(10, minutes / 6) };
  const beside = [
    every(BEAT_MS, stopping.signal, async () => await enqueueSome(tock, enqueued)),
    every(pruneEvery(minutes) * 60_000, stopping.signal, async () => await tock.prune({ keep: '1d' })),
    holdMeanwhile(url, hold, minute, stopping.signal),
  ];
  // One that fails ends the soak.
  const failed = Promise.all(beside);
  failed.catch(() => undefined);
  const apartMs = (minutes * 60_000) / SAMPLES;
  let last = { executed: worker.total(), at: performance.now(), cpu: await serverSeconds(sql) };
  for (let sample = 1; sample <= SAMPLES; sample++) {
    let look;
    let dead = 0;
    // Between two looks a vacuum removes them all: what counts is how many there are at most.
    for (let part = 1; part <= PARTS; part++) {
      const at = began + (sample - 1 + part / PARTS) * apartMs;
      await Promise.race([
        sleep(Math.max(0, at - performance.now())),
        failed.then(() => sleep(apartMs)),
        worker.ended,
      ]);
      look = await sql.one(LOOK);
      dead = Math.max(dead, look.dead);
    }
    const now = {
      executed: worker.total(),
      at: performance.now(),
      cpu: (await serverSeconds(sql)) ?? last.cpu,
    };
    const values = {
      runs: ((now.executed - last.executed) * 1000) / (now.at - last.at),
      memory: worker.latest().rss / MB,
      // Where it cannot be read, its panel is flat.
      cpu: ((now.cpu - last.cpu) * 1000) / (now.at - last.at),
      live: look.live / MB,
      dead,
      others: look.others / MB,
      waiting: look.waiting,
      history: look.history / MB,
      perRun: look.history / Math.max(1, now.executed),
    };
    last = now;
    for (const [name, value] of Object.entries(values)) points[name].push([minute(), value]);
    say.progress(
      sample,
      SAMPLES,
      `${minute().toFixed(1)} min: ${figure(values.runs)} runs/s, ${figure(values.memory)} MB, ${values.cpu.toFixed(2)} cores, live ${values.live.toFixed(1)} MB, ${figure(values.dead)} dead rows`,
    );
  }
  stopping.abort();
  await failed;
  const executed = await demandAll({ worker, sql, enqueued });
  return verdict({ points, minutes, hold, executed });
}

/** The process of the worker. `executes` resolves once its first run was executed. */
function startWorker(url) {
  const main = fileURLToPath(new URL('../lib/soak-worker.mjs', import.meta.url));
  const env = { ...process.env, TOCK_BENCH_URL: url };
  const child = track(fork(main, [], { env, stdio: ['ignore', 'inherit', 'inherit', 'ipc'] }));
  let latest = { executed: {}, rss: 0 };
  child.on('message', message => {
    latest = message;
  });
  const gone = new Promise(resolve => child.once('exit', code => resolve(code)));
  let isStopping = false;
  const ended = gone.then(code => {
    if (!isStopping || code !== 0) throw new Error(`the worker of the soak ended with ${code}`);
  });
  ended.catch(() => undefined);
  const total = () => Object.values(latest.executed).reduce((sum, each) => sum + each, 0);
  return {
    ended,
    total,
    latest: () => latest,
    executes: async () => await untilDone(total, 1, ended),
    stop: async () => {
      isStopping = true;
      child.send('stop');
      await ended;
    },
  };
}

/** Repeats `work` until the signal aborts; the next time counts from the last one. */
async function every(ms, signal, work) {
  for (let at = performance.now() + ms; !signal.aborted; at = Math.max(at + ms, performance.now())) {
    await sleep(Math.max(0, at - performance.now()), undefined, { signal }).catch(() => undefined);
    if (!signal.aborted) await work();
  }
}

async function enqueueSome(tock, enqueued) {
  const runs = Object.entries(LOAD).flatMap(([job, count]) =>
    Array.from({ length: count }, (_, n) => ({ job, payload: { n, key: `key-${n % KEYS}` } })),
  );
  await tock.enqueueMany(runs);
  for (const [job, count] of Object.entries(LOAD)) enqueued[job] += count;
  await tock.enqueue('quick', { n: -1 });
  enqueued.quick++;
}

async function holdMeanwhile(url, { from, until }, minute, signal) {
  const wait = async at =>
    await sleep(Math.max(0, at - minute()) * 60_000, undefined, { signal }).catch(() => undefined);
  await wait(from);
  const session = await holdSnapshot(url);
  await wait(until);
  await session.close();
}

/** Nothing enqueues any more: each has succeeded once, flaky ones at their second attempt, and no slot is taken. */
async function demandAll({ worker, sql, enqueued }) {
  const wanted = Object.values(enqueued).reduce((sum, each) => sum + each, 0);
  const done = () =>
    Object.keys(enqueued).reduce((sum, name) => sum + (worker.latest().executed[name] ?? 0), 0);
  await untilDone(done, wanted, worker.ended);
  await worker.stop();
  const rows = await sql.rows(
    `select case when job like 'each-second-%' then 'scheduled' else job end as name, status, count(*)::int as count,
       count(*) filter (where attempts <> case when job = 'flaky' then 2 else 1 end)::int as odd
     from tock.job_runs_finished where status <> 'skipped' group by 1, 2`,
  );
  const { executed } = worker.latest();
  for (const [name, count] of Object.entries({ ...enqueued, scheduled: executed.scheduled })) {
    const [row, ...more] = rows.filter(each => each.name === name);
    if (
      more.length > 0 ||
      row?.status !== 'succeeded' ||
      row.count !== count ||
      executed[name] !== count ||
      row.odd > 0
    )
      throw new Error(
        `${name}: ${count} in all, ${executed[name]} were executed; written are ${JSON.stringify([row, ...more])}`,
      );
  }
  const { taken } = await sql.one('select count(*)::int as taken from tock.job_slots');
  if (taken > 0) throw new Error(`${taken} slots are taken when nothing runs`);
  return worker.total();
}

function verdict({ points, minutes, hold, executed }) {
  const isJudged = minutes >= JUDGED_FROM_MINUTES;
  const judged = Object.entries(PANELS)
    .filter(([, { floor }]) => floor !== undefined)
    .map(([name, { title, floor }]) => ({ title, ...growth(points[name], floor) }));
  const growing = judged.filter(({ grows }) => grows);
  const told = ({ title, risen, mean }) =>
    `${title}: ${risen >= 0 ? '+' : ''}${risen.toFixed(1)} of ${mean.toFixed(1)}`;
  const row = rowOf(
    { label: `pg-tock, ${figure(executed)} runs`, own: true, config: { load: LOAD } },
    points.runs.map(([, value]) => ({ value })),
  );
  return {
    rows: [row],
    notes: [
      `in ${minutes} minutes; a snapshot was held from minute ${hold.from.toFixed(1)} to ${hold.until.toFixed(1)}; retention every ${pruneEvery(minutes)} minutes`,
      'growth over the last half, of its mean:',
      ...judged.map(each => `  ${told(each)}`),
      isJudged
        ? growing.length === 0
          ? 'nothing grows'
          : ''
        : `not judged: that takes ${JUDGED_FROM_MINUTES} minutes`,
    ].filter(line => line !== ''),
    growth: judged,
    panels: Object.entries(PANELS).map(([name, { title }]) => ({ title, points: points[name] })),
    footer: `a snapshot held from minute ${figure(hold.from)} to ${figure(hold.until)}`,
    ...(isJudged && growing.length > 0 ? { failure: `it grows: ${growing.map(told).join('; ')}` } : {}),
  };
}
