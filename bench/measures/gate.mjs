// Has a change made runs dearer? What is built here beside another commit, by turns, each figure with a bound.
// In: a server; a commit. Out: one table; a failure where a figure is beyond its bound.

import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { contestant } from '../contestants/index.mjs';
import { median, table } from '../figures.mjs';
import { startChild } from '../lib/child.mjs';
import { buildCommit } from '../lib/commit.mjs';
import { settle, withDatabase } from '../lib/database.mjs';
import { demandFinished, figure } from '../lib/measure.mjs';
import { addOneByOne, measureAlone } from './alone.mjs';
import { measureBehind } from './behind.mjs';
import { measureCost } from './cost.mjs';
import { measureProcesses } from './processes.mjs';
import { measureThroughput } from './throughput.mjs';
import { time } from './tick.mjs';

const here = name => fileURLToPath(new URL(`../${name}`, import.meta.url));

const WARM = 100;
const COUNTED = 500;
const RUNS = 300_000;

/** What is counted has no noise but that of a timer between; what is timed has a twentieth. */
const COUNT = 1.02;
const TIMED = 1.05;

/**
 * Steps of the gate. `rounds` is a factor of the gate's own rounds; `measure` gives figures by name. `most` and `least`
 * bound the ratio of a figure to that of the base.
 */
const STEPS = [
  {
    name: 'a plain run',
    rounds: 1 / 3,
    measure: measurePlain,
    figures: {
      statements: { title: 'a plain run: statements', digits: 2, most: COUNT },
      rows: { title: 'a plain run: rows', digits: 2, most: COUNT },
      wal: { title: 'a plain run: WAL of its statements, B', most: COUNT },
    },
  },
  {
    name: 'cost',
    rounds: 1,
    measure: async (server, who, runs) => {
      const { value, workerUs, walEnqueue, walExecute } = await measureCost(server, {
        who,
        config: { concurrency: 100 },
        runs: runs / 3,
      });
      return { server: value, worker: workerUs, wal: walEnqueue + walExecute };
    },
    figures: {
      server: { title: 'of a backlog: CPU of the server, µs a run', digits: 1, most: TIMED },
      worker: { title: 'of a backlog: CPU of the worker, µs a run', digits: 1, most: TIMED },
      wal: { title: 'of a backlog: all WAL, B a run', most: COUNT },
    },
  },
  {
    name: 'alone',
    rounds: 1,
    measure: async (server, who, runs) => {
      const { value, workerUs } = await measureAlone(server, {
        who,
        config: { concurrency: 24 },
        runs: runs / 300,
      });
      return { server: value, worker: workerUs };
    },
    figures: {
      server: { title: 'by itself: CPU of the server, µs a run', most: TIMED },
      worker: { title: 'by itself: CPU of the worker, µs a run', most: TIMED },
    },
  },
  {
    name: 'one process',
    rounds: 5 / 3,
    measure: async (server, who, runs) => ({
      rate: (await measureThroughput(server, { who, config: { concurrency: 100 }, runs })).value,
    }),
    figures: { rate: { title: 'one process, runs/s', least: 1 / TIMED } },
  },
  {
    name: 'four processes',
    rounds: 1,
    measure: async (server, who, runs) => ({
      rate: (
        await measureProcesses(server, { who, processes: 4, config: { concurrency: 100 }, runs: runs * 2 })
      ).value,
    }),
    figures: { rate: { title: 'four processes, runs/s', least: 1 / TIMED } },
  },
  {
    name: 'behind',
    rounds: 1,
    measure: async (server, who, runs) => {
      const { p50, p99 } = await measureBehind(server, {
        who,
        ended: (runs * 2) / 3,
        config: { concurrency: 24 },
      });
      return { p50, p99 };
    },
    figures: {
      p50: { title: 'behind a held snapshot, enqueue to start, p50 ms', digits: 2, most: 1.1 },
      p99: { title: 'behind a held snapshot, enqueue to start, p99 ms', digits: 2, most: 1.5 },
    },
  },
  {
    name: 'tick',
    rounds: 5,
    measure: async (server, who, _runs, place) => await place.tick(who),
    figures: { ms: { title: 'a tick with nothing due, ms', most: TIMED } },
  },
];

export const gate = {
  name: 'gate',
  title: 'Has a change made runs dearer? Beside another commit, by turns',
  unit: '',
  isLong: true,
  hasChart: false,
  settings: { shared_preload_libraries: 'pg_stat_statements', 'pg_stat_statements.track_planning': 'off' },
  defaults: { rounds: 3, runs: RUNS, base: 'HEAD' },
  async run({ url: server, rounds, runs, base, say }) {
    const { commit, folder } = await buildCommit(base);
    process.env.TOCK_BENCH_BASE = path.join(folder, 'dist', 'index.js');
    say.line(`the base is ${commit}`);
    const found = await withTicks(server, folder, async place => {
      const taken = [];
      for (const step of STEPS)
        taken.push(...(await measureStep({ step, server, rounds, runs, say, place })));
      return taken;
    });
    const beyond = found.filter(({ isWithin }) => !isWithin);
    return {
      base: commit,
      figures: found,
      table: table(
        ['', `base ${commit}`, 'here', 'ratio', 'lowest – highest', 'bound', ''],
        found.map(each => [
          each.title,
          figure(each.base, each.digits),
          figure(each.here, each.digits),
          each.ratio.toFixed(3),
          `${each.low.toFixed(2)} – ${each.high.toFixed(2)}`,
          each.least === undefined ? `<= ${each.most.toFixed(2)}` : `>= ${each.least.toFixed(2)}`,
          each.isWithin ? 'ok' : 'beyond',
        ]),
      ),
      ...(beyond.length > 0 && {
        failure: `beyond their bounds: ${beyond.map(({ title }) => title).join('; ')}`,
      }),
    };
  },
};

/** The ratio of a figure is the median of those of its rounds: both sides of a round are measured one after the other. */
async function measureStep({ step, server, rounds, runs, say, place }) {
  const taken = [];
  const count = Math.max(1, Math.round(rounds * step.rounds));
  for (let round = 0; round < count; round++) {
    const pair = {};
    for (const who of round % 2 === 0 ? ['base', 'tock'] : ['tock', 'base'])
      pair[who] = await step.measure(server, who, runs, place);
    taken.push(pair);
    say.progress(round + 1, count, step.name);
  }
  return Object.entries(step.figures).map(([key, { digits = 0, ...each }]) => {
    const ratios = taken.map(({ base, tock }) => tock[key] / base[key]);
    const ratio = median(ratios);
    return {
      ...each,
      digits,
      base: median(taken.map(({ base }) => base[key])),
      here: median(taken.map(({ tock }) => tock[key])),
      ratio,
      low: Math.min(...ratios),
      high: Math.max(...ratios),
      isWithin: each.least === undefined ? ratio <= each.most : ratio >= each.least,
    };
  });
}

/** Statements, rows and WAL bytes that each plain run takes, without what comes with time: heartbeats, polls, upkeep. */
async function measurePlain(server, who) {
  return await withDatabase(server, async ({ url, sql }) => {
    const { install, producer } = await contestant(who);
    await install(url);
    await sql.rows('create extension pg_stat_statements');
    await settle(sql);
    const child = startChild({ role: 'serve', who, settings: { concurrency: 24 }, url });
    await child.next('started');
    const producing = await producer(url);
    await addOneByOne(producing, WARM);
    await sql.rows('select pg_stat_statements_reset()');
    await addOneByOne(producing, COUNTED);
    const { statements, rows, wal } = await sql.one(
      `select sum(calls)::float8 as statements, sum(rows)::float8 as rows, sum(wal_bytes)::float8 as wal from pg_stat_statements
       where dbid = (select oid from pg_database where datname = current_database()) and calls >= $1`,
      [COUNTED / 2],
    );
    child.tell('stop');
    const { handled } = await child.result;
    await producing.close();
    await demandFinished(who, sql, { handled, expected: WARM + COUNTED });
    return { statements: statements / COUNTED, rows: rows / COUNTED, wal: wal / COUNTED };
  });
}

/** A database for the ticks of each side, both with the definitions of twenty jobs that are due once a year. */
async function withTicks(server, folder, work) {
  const sides = {
    base: { tick: path.join(folder, 'dist', 'tick.js'), library: process.env.TOCK_BENCH_BASE },
    tock: { tick: here('../dist/tick.js'), library: here('../dist/index.js') },
  };
  return await withDatabase(server, async base =>
    withDatabase(server, async tock => {
      const urls = { base: base.url, tock: tock.url };
      const tick = async (who, ...args) => {
        const env = {
          DATABASE_URL: urls[who],
          TOCK_JOBS: here('fixtures/yearly-jobs.mjs'),
          TOCK_BENCH_LIBRARY: sides[who].library,
        };
        return { ms: (await time([sides[who].tick, ...args], { env })).value };
      };
      for (const who of ['base', 'tock']) {
        await tick(who, '--migrate');
        await tick(who);
      }
      return await work({ tick });
    }),
  );
}
