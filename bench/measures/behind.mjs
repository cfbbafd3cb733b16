// From the call that enqueues to the start of the handler, where many runs have ended since the last vacuum: their entries
// in the indexes stay until then, and for as long as another session holds a snapshot that is older.
// In: a server. Out: milliseconds, p50 and p99, with few dead rows and with many; the ratio of each contestant to itself.
import { setTimeout as sleep } from 'node:timers/promises';
import { contestant } from '../contestants/index.mjs';
import { median } from '../figures.mjs';
import { startChild } from '../lib/child.mjs';
import { monotonicMs } from '../lib/clock.mjs';
import { holdSnapshot, settle, withDatabase } from '../lib/database.mjs';
import { figure, fill, inTurn, percentiles, untilDone } from '../lib/measure.mjs';

const PACE_MS = 10;
const WARM = 20;
const MEASURED = 500;

export const behind = {
  name: 'behind',
  title: 'From enqueue to start, after many runs have ended under a held snapshot, p50',
  unit: 'ms',
  better: 'lower',
  digits: 2,
  defaults: { rounds: 3, runs: 200_000 },
  async run({ url: server, rounds, runs, say, only }) {
    const whos = ['tock', 'graphile', 'boss'].filter(who => only === undefined || only.includes(who));
    const variants = [];
    for (const who of whos) {
      const { name, plain, settings } = await contestant(who);
      const config = who === 'tock' ? { concurrency: 24 } : (plain ?? settings);
      for (const ended of [0, runs])
        variants.push({
          who,
          ended,
          config,
          label: ended === 0 ? name : `${name}, ${figure(ended)} ended`,
        });
    }
    const measure = async variant => await measureBehind(server, variant);
    const rows = await inTurn({ variants, rounds, measure, say, unit: 'ms', digits: 2 });
    return {
      rows: rows.map((row, index) => ({
        ...row,
        ...(variants[index].ended > 0 && { ratio: rows[index - 1].median / row.median }),
        extra: { 'p99 ms': figure(median(row.rounds.map(each => each.p99)), 2) },
      })),
      ratioTitle: 'beside none',
      notes: [
        `${MEASURED} runs one at a time, ${PACE_MS} to ${2 * PACE_MS} ms apart, the worker otherwise idle; all under a snapshot that was taken before the first run`,
      ],
    };
  },
};

/** Milliseconds from enqueue to start, under a snapshot under which `ended` runs have ended. */
export async function measureBehind(server, { who, ended, config }) {
  return await withDatabase(server, async ({ url, sql }) => {
    const { install, producer, settings: fast } = await contestant(who);
    await install(url);
    await settle(sql);
    // No vacuum between, as while one is at work elsewhere.
    const holder = await holdSnapshot(url);
    try {
      if (ended > 0) await endMany(who, url, fast, ended);
      return await measureStarts({ who, url, config, producing: await producer(url) });
    } finally {
      await holder.close();
    }
  });
}

async function endMany(who, url, settings, count) {
  await fill(who, url, count);
  const child = startChild({ role: 'serve', who, settings, url });
  await child.next('started');
  await untilDone(() => child.latest.done ?? 0, count, child.result);
  child.tell('stop');
  await child.result;
}

async function measureStarts({ who, url, config, producing }) {
  const child = startChild({ role: 'serve', who, settings: config, url });
  await child.next('started');
  for (let each = 0; each < WARM + MEASURED; each++) {
    // At no fixed distance, so that nobody's timer falls into step.
    await sleep(PACE_MS + Math.random() * PACE_MS);
    await producing.add({ at: monotonicMs() });
  }
  await untilDone(() => child.latest.done ?? 0, WARM + MEASURED, child.result);
  child.tell('stop');
  const { latencies } = await child.result;
  await producing.close();
  return percentiles(latencies.slice(WARM));
}
