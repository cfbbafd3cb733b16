// What it costs that claims and heartbeats wait for a synchronous standby, 2 ms away. An experiment: see docs/claims.md.
// In: nothing; it starts servers of its own. Out: enqueue to the start of the handler, p50 and p99; runs/s.
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { contestant } from '../contestants/index.mjs';
import { median } from '../figures.mjs';
import { startChild } from '../lib/child.mjs';
import { monotonicMs } from '../lib/clock.mjs';
import { connect, settle, withDatabase } from '../lib/database.mjs';
import { drain, figure, fill, inTurn, percentiles, untilDone, withRatios } from '../lib/measure.mjs';
import { startReplicated } from '../lib/standby.mjs';

const DELAY_MS = 2;
const WARM = 20;
const PACE_MS = 15;
const SAMPLES = 300;
const FAIL_OVERS = 3;

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
      say.line(`  fail-overs under load, ${FAIL_OVERS} of each`);
      const uncounted = new Map();
      for (const { label, waits, config } of variants) uncounted.set(label, await failOvers(waits, config));
      const of = (row, name, digits) => figure(median(row.rounds.map(each => each[name])), digits);
      return {
        rows: withRatios(rows, 'lower').map(row => ({
          ...row,
          extra: {
            'p99 ms': of(row, 'p99', 2),
            'runs/s': of(row, 'runsPerSecond'),
            'a commit, ms': of(row, 'commitMs', 2),
            'attempts begun, and lost by a fail-over': uncounted.get(row.label).text,
          },
        })),
        notes: [
          `Debian’s PostgreSQL 15 twice on one machine, with fsync; ${DELAY_MS} ms each way between them, by a proxy`,
          'attempts begun: by handlers of 20 ms, 100 at once; lost: the new primary does not know of the claim',
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

/** Kills the primary under load. How many attempts had begun, and of how many the new primary knows nothing. */
async function failOvers(waits, config) {
  const found = [];
  for (let each = 0; each < FAIL_OVERS; each++) found.push(await failOver(waits, config));
  return { text: found.map(({ begun, lost }) => `${figure(lost)} of ${figure(begun)}`).join(', '), found };
}

async function failOver(waits, config) {
  const who = 'tock-patched';
  const pair = await startReplicated(DELAY_MS);
  const folder = await mkdtemp(path.join(os.tmpdir(), 'tock-bench-'));
  const journal = path.join(folder, 'attempts');
  try {
    await pair.waitForStandby(waits);
    await (await contestant(who)).install(pair.url);
    await fill(who, pair.url, 20_000);
    const settings = { ...config, concurrency: 100, journal };
    const child = startChild({ role: 'serve', who, settings, url: pair.url, handlerMs: 20 });
    await child.next('started');
    await untilDone(() => child.latest.done ?? 0, 2000, child.result);
    const url = await pair.failOver();
    child.end();
    const sql = await connect(url);
    const rows = await sql.rows('select id::text as id, fence from tock.job_runs');
    await sql.close();
    const fences = new Map(rows.map(({ id, fence }) => [id, fence]));
    const begun = (await readFile(journal, 'utf8'))
      .trim()
      .split('\n')
      .map(line => line.split('.'));
    const lost = begun.filter(([id, fence]) => (fences.get(id) ?? 0) < Number(fence));
    return { begun: begun.length, lost: lost.length };
  } finally {
    await pair.stop();
    await rm(folder, { recursive: true, force: true });
  }
}
