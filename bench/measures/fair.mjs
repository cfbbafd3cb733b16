// Fair keys: how long a new tenant waits behind a large one, what they cost, how exact rates are.
// In: a server; `runs`, the backlog of the large tenant. Out: runs/s beside plain runs; a table with the others.
import { setTimeout as sleep } from 'node:timers/promises';
import { contestant } from '../contestants/index.mjs';
import { monotonicMs } from '../lib/clock.mjs';
import { withDatabase } from '../lib/database.mjs';
import { drain, drainTogether, figure, fill, inTurn, percentiles } from '../lib/measure.mjs';

const KEYS = 10_000;
const OTHERS_EVERY_MS = 10;
const RATE = { limit: 10, per: '1s' };
const FAIR = { key: '$.tenant' };

export const fair = {
  name: 'fair',
  title: 'Runs per second of 10,000 fair keys beside plain runs',
  unit: 'runs/s',
  better: 'higher',
  defaults: { rounds: 3, runs: 1_000_000, seconds: 60 },
  async run(options) {
    const { only, say } = options;
    const isWanted = ({ who }) => only === undefined || only.includes(who);
    const tock = (await contestant('tock')).settings;
    const boss = (await contestant('boss')).settings;
    const graphile = (await contestant('graphile')).settings;
    const pairs = [
      { who: 'tock', label: 'pg-tock, plain', config: tock },
      { who: 'tock', label: 'pg-tock, fair', config: { ...tock, fair: FAIR } },
      { who: 'boss', label: 'pg-boss, plain', config: boss },
      { who: 'boss', label: 'pg-boss, groupConcurrency', config: { ...boss, groupConcurrency: 50 } },
      { who: 'graphile', label: 'graphile-worker, plain', config: graphile },
      { who: 'graphile', label: 'graphile-worker, a queue each', config: { ...graphile, named: true } },
    ].filter(isWanted);
    const rows = await inTurn({
      variants: pairs,
      rounds: options.rounds,
      measure: each => throughput(options, each),
      say,
      unit: 'runs/s',
    });
    const plainOf = who => rows[pairs.findIndex(each => each.who === who)];
    const waits = [];
    for (const each of pairs) waits.push({ label: each.label, ...(await waitOfOthers(options, each)) });
    const pace = isWanted({ who: 'tock' }) ? await pacedByRate(options, tock) : null;
    return {
      rows: rows.map((row, index) => ({ ...row, ratio: row.median / plainOf(pairs[index].who).median })),
      ratioTitle: 'beside plain runs',
      waits,
      pace,
      table: tableOf(rows, pairs, { waits, pace, runs: options.runs }),
      notes: [
        'graphile-worker works off a named queue one job at a time',
        'BullMQ has groups in its paid edition only',
      ],
    };
  },
};

/** Of a backlog under as many keys as fit, in one process. */
async function throughput({ url: server, runs, nodeFlags }, { who, config }) {
  const count = Math.min(runs, 100_000);
  return await withDatabase(server, async ({ url, sql }) => {
    const { install } = await contestant(who);
    await install(url, config);
    await fill(who, url, count, { payloadOf: n => ({ n, tenant: n % KEYS }), jobs: config });
    const { seconds } = await drain({ who, settings: config, url, sql, count, nodeFlags });
    return count / seconds;
  });
}

/** One tenant has a backlog; others, up to 1,000 a second, enqueue one run each. From enqueue to start. */
async function waitOfOthers({ url: server, runs, seconds, nodeFlags, say }, { who, config, label }) {
  const found = await withDatabase(server, async ({ url, sql }) => {
    const { install, producer } = await contestant(who);
    await install(url, config);
    await fill(who, url, runs, { payloadOf: n => ({ n, tenant: 'large' }), jobs: config });
    const producing = await producer(url, config);
    let others = 0;
    const began = performance.now();
    const meanwhile = async done => {
      while (done() === 0) await sleep(1);
      const until = performance.now() + Math.min(seconds, 20) * 1000;
      for (let due = performance.now(); performance.now() < until; due += OTHERS_EVERY_MS) {
        await sleep(Math.max(0, due - performance.now()));
        const payloads = Array.from({ length: OTHERS_EVERY_MS }, () => ({
          tenant: `other ${others++}`,
          at: monotonicMs(),
        }));
        await producing.addMany(payloads);
      }
      return others;
    };
    const options = { who, settings: config, url, sql, count: runs, processes: 1, nodeFlags };
    const drained = await drainTogether({ ...options, handlerMs: 5, meanwhile, atMostSeconds: 2 });
    await producing.close();
    const perSecond = others / ((performance.now() - began) / 1000);
    const started = drained.latencies.length;
    return { ...(started > 0 ? percentiles(drained.latencies) : {}), others, started, perSecond };
  });
  say.line(`  ${label}: ${found.started} of ${found.others} others started, p99 ${ms(found.p99)}`);
  return found;
}

/** Keys that may start ten runs a second each, over four processes. */
async function pacedByRate({ url: server, runs, seconds, nodeFlags }, settings) {
  const keys = Math.max(1, Math.min(1000, Math.floor(runs / 1000)));
  const forSeconds = Math.min(seconds, 20);
  const config = { ...settings, fair: FAIR, rate: RATE };
  return await withDatabase(server, async ({ url, sql }) => {
    const { install } = await contestant('tock');
    await install(url, config);
    const count = keys * RATE.limit * (forSeconds + 10);
    await fill('tock', url, count, { payloadOf: n => ({ n, tenant: n % keys }), jobs: config });
    const options = { who: 'tock', settings: config, url, sql, count, processes: 4, nodeFlags };
    await drainTogether({ ...options, atMostSeconds: forSeconds });
    const rows = await sql.rows(
      `select payload ->> 'tenant' as key, (extract(epoch from started_at) * 1000)::float8 as at from tock.job_runs_finished order by started_at`,
    );
    const from = rows[0].at;
    const to = rows.at(-1).at;
    const allowed = keys * (RATE.limit + Math.floor(((to - from) / 1000) * RATE.limit));
    return { keys, starts: rows.length, allowed, used: rows.length / allowed, tooSoonMs: tooSoon(rows) };
  });
}

/** By how much the worst start came too soon, in milliseconds; with bursts of one second. */
function tooSoon(rows) {
  const stepMs = 1000 / RATE.limit;
  const dueAt = new Map();
  let worst = 0;
  for (const { key, at } of rows) {
    const due = dueAt.get(key) ?? Number.NEGATIVE_INFINITY;
    worst = Math.max(worst, due - (RATE.limit - 1) * stepMs - at);
    dueAt.set(key, Math.max(due, at) + stepMs);
  }
  return worst;
}

const ms = value => (value === undefined ? 'none started' : `${figure(value, 1)} ms`);

function tableOf(rows, pairs, { waits, pace, runs }) {
  const lines = rows.map((row, index) => {
    const plain = rows[pairs.findIndex(each => each.who === pairs[index].who)];
    return `${row.label.padEnd(28)} ${figure(row.median)} runs/s (${figure(row.low)} to ${figure(row.high)}), ${figure(row.median / plain.median, 2)} of plain`;
  });
  lines.push('', `One tenant with ${figure(runs)} runs; others, one run each: from enqueue to start`);
  for (const { label, p50, p99, others, started, perSecond } of waits)
    lines.push(
      `${label.padEnd(28)} p50 ${ms(p50)}, p99 ${ms(p99)}; ${figure(started)} of ${figure(others)} started; ${figure(perSecond)} a second came`,
    );
  if (pace)
    lines.push(
      '',
      `${figure(pace.keys)} keys of 10 runs a second, four processes: ${figure(pace.used, 3)} of what is allowed; the worst start ${figure(pace.tooSoonMs, 3)} ms too soon`,
    );
  return lines.join('\n');
}
