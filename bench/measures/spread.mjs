// Whether several processes with slow handlers share the work: handlers of 10 ms, 100 at once in each of four.
// In: a server. Out: percent of the ideal; how many more runs the busiest process executed than the idlest.
import { contestant } from '../contestants/index.mjs';
import { median } from '../figures.mjs';
import { withDatabase } from '../lib/database.mjs';
import {
  drainTogether,
  figure,
  fill,
  inTurn,
  TOGETHER_NOTES,
  unevenness,
  warmRate,
  withRatios,
} from '../lib/measure.mjs';

const HANDLER_MS = 10;
const CONCURRENCY = 100;
const PROCESSES = 4;
const IDEAL = (PROCESSES * CONCURRENCY * 1000) / HANDLER_MS;

export const spread = {
  name: 'spread',
  title: `Handlers of ${HANDLER_MS} ms, ${CONCURRENCY} at once in each of four processes: share of the ideal ${figure(IDEAL)} runs a second`,
  unit: '%',
  better: 'higher',
  digits: 1,
  defaults: { rounds: 3, runs: 400_000 },
  async run({ url: server, rounds, runs, say, nodeFlags, only }) {
    const { settings } = await contestant('graphile');
    const variants = [
      { who: 'tock', label: 'pg-tock', config: { concurrency: CONCURRENCY } },
      { who: 'graphile', label: 'graphile-worker', config: { ...settings, concurrency: CONCURRENCY } },
      { who: 'boss', label: 'pg-boss, 2 loops of 50', config: { loops: 2, batch: CONCURRENCY / 2 } },
    ].filter(({ who }) => only === undefined || only.includes(who));
    const measure = async ({ who, config }) =>
      await withDatabase(server, async ({ url, sql }) => {
        await (await contestant(who)).install(url);
        await fill(who, url, runs);
        const given = { who, settings: config, url, sql, count: runs, processes: PROCESSES };
        const { seconds, shares, handlerMs, warmPerSecond } = await drainTogether({
          ...given,
          handlerMs: HANDLER_MS,
          nodeFlags,
        });
        return {
          value: (runs / seconds / IDEAL) * 100,
          perSecond: runs / seconds,
          seconds,
          shares,
          handlerMs,
          warmPerSecond,
        };
      });
    const rows = await inTurn({ variants, rounds, measure, say, unit: '%', digits: 1 });
    return {
      rows: withRatios(rows).map(row => ({
        ...row,
        extra: {
          'runs/s': figure(median(row.rounds.map(each => each.perSecond))),
          'once warm': `${figure((warmRate(row.rounds) / IDEAL) * 100, 1)}%`,
          'busiest beside idlest': unevenness(row.rounds),
          'a handler takes, ms': figure(median(row.rounds.map(each => each.handlerMs)), 2),
        },
      })),
      most: 100,
      notes: TOGETHER_NOTES,
    };
  },
};
