// What a run costs that comes by itself, as where a worker keeps up: each has statements and commits of its own.
// In: a server on this host (Linux tells what a process has taken). Out: µs of CPU a run.
import { setTimeout as sleep } from 'node:timers/promises';
import { contestant } from '../contestants/index.mjs';
import { median } from '../figures.mjs';
import { startChild } from '../lib/child.mjs';
import { backendSeconds, settle, withDatabase } from '../lib/database.mjs';
import { demandFinished, figure, inTurn, withRatios } from '../lib/measure.mjs';

/** From one enqueue to the next, in milliseconds: a run has long ended by then. */
const PACE_MS = 10;
/** Until each connection has its plans. */
const WARM = 100;
/** By then the last run has ended, and the worker has looked for others. */
const QUIET_MS = 300;

export const alone = {
  name: 'alone',
  title: 'A run by itself, enqueued and executed: CPU of the server',
  unit: 'µs a run',
  better: 'lower',
  digits: 0,
  defaults: { rounds: 3, runs: 1000 },
  async run({ url: server, rounds, runs, say, nodeFlags, only }) {
    const { plain: graphile } = await contestant('graphile');
    const { plain: boss } = await contestant('boss');
    const variants = [
      { who: 'tock', label: 'pg-tock', config: { concurrency: 24 } },
      { who: 'graphile', label: 'graphile-worker', config: graphile },
      { who: 'boss', label: 'pg-boss, NOTIFY', config: boss },
      { who: 'bare', label: 'a bare table, no scheduler', config: {} },
    ].filter(({ who }) => only === undefined || only.includes(who));
    const measure = async variant => await measureAlone(server, { ...variant, runs, nodeFlags });
    const rows = await inTurn({ variants, rounds, measure, say, unit: 'µs a run', digits: 0 });
    return {
      rows: withRatios(rows, 'lower').map(row => ({
        ...row,
        extra: { 'worker µs': figure(median(row.rounds.map(each => each.workerUs))) },
      })),
      notes: [
        `${PACE_MS} ms apart, after ${WARM} others; the server’s CPU is that of all connections: of the producer, which enqueues each run in a transaction of its own, and of the worker`,
      ],
    };
  },
};

/** Enqueues so many runs at distances by which each has ended before the next; resolves when the last has too. */
export async function addOneByOne(producing, count) {
  for (let n = 0; n < count; n++) {
    await sleep(PACE_MS);
    await producing.add({ n });
  }
  await sleep(QUIET_MS);
}

/** What each of `runs` runs costs that come one at a time: µs of CPU. */
export async function measureAlone(server, { who, config, runs, nodeFlags }) {
  return await withDatabase(server, async ({ url, sql }) => {
    const { install, producer } = await contestant(who);
    await install(url);
    await settle(sql);
    const child = startChild({ role: 'serve', who, settings: config, url, nodeFlags });
    await child.next('started');
    const producing = await producer(url);
    const add = async count => await addOneByOne(producing, count);
    const taken = async () => {
      const usage = child.next('usage');
      child.tell('usage');
      const { user, system } = await usage;
      return { server: (await backendSeconds(sql)) * 1e6, worker: user + system };
    };
    await add(WARM);
    const before = await taken();
    await add(runs);
    const after = await taken();
    child.tell('stop');
    const { handled } = await child.result;
    await producing.close();
    await demandFinished(who, sql, { handled, expected: WARM + runs });
    return {
      value: (after.server - before.server) / runs,
      workerUs: (after.worker - before.worker) / runs,
    };
  });
}
