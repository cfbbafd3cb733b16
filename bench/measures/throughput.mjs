// No-op runs a second of one process, over a backlog that is there when it starts.
// In: a server. Out: runs/s for ours at a few concurrencies, and for theirs at their best.
import { contestant } from '../contestants/index.mjs';
import { withDatabase } from '../lib/database.mjs';
import { drain, fill, inTurn, withRatios } from '../lib/measure.mjs';

export const throughput = {
  name: 'throughput',
  title: 'No-op runs per second, one process',
  unit: 'runs/s',
  better: 'higher',
  defaults: { rounds: 3, runs: 300_000 },
  async run({ url: server, rounds, runs, say, nodeFlags, concurrency = [24, 100, 500], only }) {
    const { settings: graphile, documented } = await contestant('graphile');
    const { settings: boss } = await contestant('boss');
    const { settings: bull, single } = await contestant('bull');
    const variants = [
      ...concurrency.map(each => ({
        who: 'tock',
        label: `pg-tock, concurrency ${each}`,
        config: { concurrency: each },
      })),
      { who: 'graphile', label: `graphile-worker, local queue ${documented.localQueue}`, config: documented },
      { who: 'graphile', label: `graphile-worker, local queue ${graphile.localQueue}`, config: graphile },
      { who: 'boss', label: `pg-boss, ${boss.loops} loops of ${boss.batch}`, config: boss },
      // A transaction for each run: so slow that fewer do.
      { who: 'bull', label: 'BullMQ, one worker of 24', config: single, share: 0.03 },
      { who: 'bull', label: 'BullMQ, two workers of 24', config: bull, share: 0.03 },
      {
        who: 'bull',
        label: 'BullMQ, the same, removeOnComplete',
        config: { ...bull, removes: true },
        share: 0.03,
        keeps: false,
      },
    ].filter(({ who }) => only === undefined || only.includes(who));
    const measure = async ({ share = 1, ...variant }) =>
      await measureThroughput(server, { ...variant, runs: Math.max(1, Math.round(runs * share)), nodeFlags });
    return { rows: withRatios(await inTurn({ variants, rounds, measure, say, unit: 'runs/s' })) };
  },
};

/** Runs a second of one process over a backlog. */
export async function measureThroughput(server, { who, config, runs, keeps, nodeFlags }) {
  return await withDatabase(server, async ({ url, sql }) => {
    await (await contestant(who)).install(url);
    await fill(who, url, runs);
    const report = await drain({ who, settings: config, url, sql, count: runs, keeps, nodeFlags });
    return {
      value: runs / report.seconds,
      seconds: report.seconds,
      handledSeconds: report.handledSeconds,
    };
  });
}
