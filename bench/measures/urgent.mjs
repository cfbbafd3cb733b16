// How long an urgent run waits for its handler behind a backlog that is being executed.
// In: a server. Out: milliseconds from the call that enqueues it, p50 and p99, with one process and with four.
import { setTimeout as sleep } from 'node:timers/promises';
import { contestant } from '../contestants/index.mjs';
import { median } from '../figures.mjs';
import { monotonicMs } from '../lib/clock.mjs';
import { withDatabase } from '../lib/database.mjs';
import { drainTogether, figure, fill, inTurn, percentiles } from '../lib/measure.mjs';

const PACE_MS = 20;
/** Lower goes first, with both. */
const URGENT = { priority: -10 };
/** Until so much of the backlog is done. Then the last urgent ones still have some of it before them. */
const UNTIL = 0.9;

export const urgent = {
  name: 'urgent',
  title: 'An urgent run behind a backlog: from enqueue to the start of its handler, p50',
  unit: 'ms',
  better: 'lower',
  digits: 1,
  defaults: { rounds: 2, runs: 1_000_000 },
  async run({ url: server, rounds, runs, say, nodeFlags, only }) {
    const variants = [];
    for (const who of ['tock', 'graphile']) {
      if (only !== undefined && !only.includes(who)) continue;
      const { name, settings } = await contestant(who);
      for (const processes of [1, 4])
        variants.push({
          who,
          processes,
          label: `${name}, ${processes === 1 ? 'one process' : `${processes} processes`}`,
          config: settings,
        });
    }
    const measure = async ({ who, processes, config }) =>
      await withDatabase(server, async ({ url, sql }) => {
        const { install, producer } = await contestant(who);
        await install(url);
        await fill(who, url, runs);
        const producing = await producer(url);
        const meanwhile = async done => {
          // The processes have started, and the backlog flows.
          while (done() === 0) await sleep(1);
          let count = 0;
          do {
            await producing.add({ at: monotonicMs() }, URGENT);
            count++;
            await sleep(PACE_MS + Math.random() * PACE_MS);
          } while (done() < runs * UNTIL);
          return count;
        };
        const options = { who, settings: config, url, sql, count: runs, processes, nodeFlags };
        const { seconds, latencies } = await drainTogether({ ...options, meanwhile });
        await producing.close();
        return { ...percentiles(latencies), seconds };
      });
    const rows = await inTurn({ variants, rounds, measure, say, unit: 'ms', digits: 1 });
    const own = processes =>
      rows[variants.findIndex(each => each.who === 'tock' && each.processes === processes)];
    return {
      rows: rows.map((row, index) => {
        const beside = own(variants[index].processes);
        const of = name => median(row.rounds.map(each => each[name]));
        return {
          ...row,
          ...(beside ? { ratio: row.median / beside.median } : {}),
          extra: {
            'p99 ms': figure(of('p99'), 1),
            'most ms': figure(of('most'), 1),
            'urgent runs': figure(of('count')),
          },
        };
      }),
      notes: [
        `${figure(runs)} no-op runs are due when the processes start; one urgent run every ${PACE_MS} to ${2 * PACE_MS} ms`,
      ],
    };
  },
};
