// From the call that enqueues to the start of the handler in another process, one at a time, the worker idle.
// In: a server. Out: milliseconds, p50 and p99.
import { setTimeout as sleep } from 'node:timers/promises';
import { contestant } from '../contestants/index.mjs';
import { median } from '../figures.mjs';
import { startChild } from '../lib/child.mjs';
import { monotonicMs } from '../lib/clock.mjs';
import { settle, withDatabase } from '../lib/database.mjs';
import { figure, inTurn, percentiles, withRatios } from '../lib/measure.mjs';

const PACE_MS = 10;
const WARM = 20;

export const latency = {
  name: 'latency',
  title: 'From enqueue to the start of the handler, p50',
  unit: 'ms',
  better: 'lower',
  digits: 2,
  defaults: { rounds: 3, runs: 1500 },
  async run({ url: server, rounds, runs, say, only }) {
    const { plain: graphile, settings: batched } = await contestant('graphile');
    const { plain: listening, polling } = await contestant('boss');
    const variants = [
      { who: 'tock', label: 'pg-tock', config: { concurrency: 24 } },
      { who: 'graphile', label: 'graphile-worker', config: graphile },
      { who: 'graphile', label: 'graphile-worker, as for throughput', config: batched },
      { who: 'boss', label: 'pg-boss, NOTIFY', config: listening },
      // So slow that fewer do.
      { who: 'boss', label: 'pg-boss, polling', config: polling, share: 0.05 },
      { who: 'bull', label: 'BullMQ', config: (await contestant('bull')).plain },
      { who: 'bare', label: 'a bare table, no scheduler', config: (await contestant('bare')).plain },
    ].filter(({ who }) => only === undefined || only.includes(who));
    const measure = async ({ who, config, share = 1 }) =>
      await withDatabase(server, async ({ url, sql }) => {
        const { install, producer } = await contestant(who);
        await install(url);
        await settle(sql);
        const child = startChild({ role: 'serve', who, settings: config, url });
        await child.next('started');
        const producing = await producer(url);
        const count = Math.max(10, Math.round(runs * share));
        const add = async () => await producing.add({ at: monotonicMs() });
        for (let each = 1; each <= WARM + count; each++) {
          // At no fixed distance, so that nobody's timer falls into step.
          await sleep(PACE_MS + Math.random() * PACE_MS);
          await add();
          if (share < 1) await until(() => child.latest.done >= each);
        }
        await until(() => child.latest.done >= WARM + count);
        child.tell('stop');
        const { latencies } = await child.result;
        await producing.close();
        return percentiles(latencies.slice(WARM));
      });
    const rows = await inTurn({ variants, rounds, measure, say, unit: 'ms', digits: 2 });
    return {
      rows: withRatios(rows, 'lower').map(row => ({
        ...row,
        extra: { 'p99 ms': figure(median(row.rounds.map(each => each.p99)), 2) },
      })),
      notes: [`one at a time, ${PACE_MS} to ${2 * PACE_MS} ms apart; the producer is a process of its own`],
    };
  },
};

async function until(isSo, withinMs = 120_000) {
  const began = performance.now();
  while (!isSo()) {
    if (performance.now() - began > withinMs) throw new Error('not everything was executed');
    await sleep(2);
  }
}
