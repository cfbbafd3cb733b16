// What it costs that claims and heartbeats wait for a synchronous standby, 2 ms away. An experiment: see ADR 0037.
// In: nothing; it starts servers of its own. Out: enqueue to the start of the handler, p50 and p99; runs/s.
import { setTimeout as sleep } from 'node:timers/promises';
import { contestant } from '../contestants/index.mjs';
import { median } from '../figures.mjs';
import { startChild } from '../lib/child.mjs';
import { monotonicMs } from '../lib/clock.mjs';
import { settle, withDatabase } from '../lib/database.mjs';
import { drain, figure, fill, inTurn, percentiles, untilDone, withRatios } from '../lib/measure.mjs';
import { startReplicated } from '../lib/standby.mjs';

const DELAY_MS = 2;
const WARM = 20;
const PACE_MS = 15;
const SAMPLES = 500;

export const standby = {
  name: 'standby',
  title: `From enqueue to the start of the handler, with a synchronous standby ${DELAY_MS} ms away, p50`,
  unit: 'ms',
  better: 'lower',
  digits: 2,
  isLong: true,
  defaults: { rounds: 3, runs: 100_000 },
  async run({ rounds, runs, say, nodeFlags }) {
    const server = await startReplicated(DELAY_MS);
    const variants = [
      { label: 'pg-tock: claims wait, as all do', own: true, waits: true, config: {} },
      { label: 'claims wait for this disk only', waits: true, config: { commit: 'local' } },
      { label: 'claims wait for nothing', waits: true, config: { commit: 'off' } },
      { label: 'no commit waits for the standby', waits: false, config: {} },
    ];
    const measure = async ({ waits, config }) => {
      await server.waitForStandby(waits);
      return await withDatabase(server.url, async ({ url, sql }) => {
        const settings = { ...config, concurrency: 100 };
        const who = 'tock-patched';
        await (await contestant(who)).install(url);
        await settle(sql);
        const { p50, p99 } = await latencies(who, url, settings);
        const commitMs = await medianCommit(sql);
        await fill(who, url, runs);
        const { seconds } = await drain({
          who,
          settings,
          url,
          sql,
          count: runs,
          before: SAMPLES + WARM,
          nodeFlags,
        });
        return { value: p50, p50, p99, commitMs, runsPerSecond: runs / seconds };
      });
    };
    try {
      const rows = await inTurn({ variants, rounds, measure, say, unit: 'ms', digits: 2 });
      const of = (row, name, digits) => figure(median(row.rounds.map(each => each[name])), digits);
      return {
        rows: withRatios(rows, 'lower').map(row => ({
          ...row,
          extra: {
            'p99 ms': of(row, 'p99', 2),
            'runs/s': of(row, 'runsPerSecond'),
            'a commit, ms': of(row, 'commitMs', 2),
          },
        })),
        notes: [
          `Debian’s PostgreSQL 15 twice on one machine, with fsync; ${DELAY_MS} ms each way between them, by a proxy`,
          `latency: ${SAMPLES} runs, one at a time; runs/s: a backlog of ${figure(runs)}`,
        ],
      };
    } finally {
      await server.waitForStandby(false).catch(() => undefined);
      await server.stop();
    }
  },
};

async function latencies(who, url, settings) {
  const child = startChild({ role: 'serve', who, settings, url });
  await child.next('started');
  const producing = await (await contestant(who)).producer(url);
  for (let each = 0; each < WARM + SAMPLES; each++) {
    await sleep(PACE_MS + Math.random() * PACE_MS);
    await producing.add({ at: monotonicMs() });
  }
  await untilDone(() => child.latest.done ?? 0, WARM + SAMPLES, child.result);
  child.tell('stop');
  const report = await child.result;
  await producing.close();
  return percentiles(report.latencies.slice(WARM));
}

/** Of a commit of one row, by itself. */
async function medianCommit(sql) {
  await sql.rows('create table public.commits (n integer)');
  const times = [];
  for (let n = 0; n < 101; n++) {
    const began = performance.now();
    await sql.rows('insert into public.commits values ($1)', [n]);
    times.push(performance.now() - began);
  }
  return median(times);
}
