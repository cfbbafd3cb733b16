// Handlers that take 10 ms, 100 at once: how much of the ideal 10,000 a second is reached.
// In: a server. Out: percent of the ideal.
import { setTimeout as sleep } from 'node:timers/promises';
import { contestant } from '../contestants/index.mjs';
import { median } from '../figures.mjs';
import { withDatabase } from '../lib/database.mjs';
import { drain, figure, fill, inTurn, withRatios } from '../lib/measure.mjs';

const HANDLER_MS = 10;
const CONCURRENCY = 100;
const IDEAL = (CONCURRENCY * 1000) / HANDLER_MS;

export const share = {
  name: 'share',
  title: `Handlers of ${HANDLER_MS} ms, ${CONCURRENCY} at once: share of the ideal ${figure(IDEAL)} runs a second`,
  unit: '%',
  better: 'higher',
  digits: 1,
  defaults: { rounds: 3, runs: 50_000 },
  async run({ url: server, rounds, runs, say, nodeFlags, only }) {
    const { settings } = await contestant('graphile');
    const variants = [
      { who: 'tock', label: 'pg-tock', config: { concurrency: CONCURRENCY } },
      { who: 'graphile', label: 'graphile-worker', config: { ...settings, concurrency: CONCURRENCY } },
      { who: 'boss', label: 'pg-boss, 2 loops of 50', config: { loops: 2, batch: CONCURRENCY / 2 } },
      // So slow that fewer do.
      {
        who: 'bull',
        label: 'BullMQ',
        config: { ...(await contestant('bull')).settings, concurrency: CONCURRENCY },
        part: 0.2,
      },
    ].filter(({ who }) => only === undefined || only.includes(who));
    variants.push({ who: null, label: 'no queue: a loop', config: {} });
    const measure = async ({ who, config, part = 1 }) => {
      const count = Math.max(1, Math.round(runs * part));
      if (who === null) return await loop(runs);
      return await withDatabase(server, async ({ url, sql }) => {
        await (await contestant(who)).install(url);
        await fill(who, url, count);
        const report = await drain({
          who,
          settings: config,
          url,
          sql,
          count,
          handlerMs: HANDLER_MS,
          nodeFlags,
        });
        const perSecond = count / report.seconds;
        return { value: (perSecond / IDEAL) * 100, perSecond, seconds: report.seconds };
      });
    };
    const rows = await inTurn({ variants, rounds, measure, say, unit: '%', digits: 1 });
    return {
      rows: withRatios(rows).map(row => ({
        ...row,
        extra: { 'runs/s': figure(median(row.rounds.map(each => each.perSecond))) },
      })),
      most: 100,
    };
  },
};

/** The same handlers with nothing around them: Node's timers take longer than they are told. */
async function loop(runs) {
  let begun = 0;
  const began = performance.now();
  const one = async () => {
    while (begun++ < runs) await sleep(HANDLER_MS);
  };
  await Promise.all(Array.from({ length: CONCURRENCY }, one));
  const perSecond = (runs / (performance.now() - began)) * 1000;
  return { value: (perSecond / IDEAL) * 100, perSecond };
}
