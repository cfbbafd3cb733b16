// Whether a worker's memory stays flat over a large backlog.
// In: a server. Out: megabytes at most, and the last quarter beside the second.

import { contestant } from '../contestants/index.mjs';
import { median } from '../figures.mjs';
import { withDatabase } from '../lib/database.mjs';
import { drain, fill, inTurn, withRatios } from '../lib/measure.mjs';

/** As in NODE_OPTIONS. */
const SMALL = '--max-semi-space-size=8';

export const memory = {
  name: 'memory',
  title: 'Memory of a worker over a backlog, at most',
  unit: 'MB',
  better: 'lower',
  defaults: { rounds: 1, runs: 200_000 },
  async run({ url: server, rounds, runs: asked, say, full, only }) {
    const runs = full ? Math.max(asked, 1_000_000) : asked;
    const variants = [];
    for (const who of ['tock', 'graphile', 'boss']) {
      const { name, settings } = await contestant(who);
      if (only === undefined || only.includes(who)) variants.push({ who, label: name, config: settings });
    }
    // The young generation is most of it: Node lets it grow to three times 16 MB or more, however little lives.
    if (only === undefined || only.includes('tock'))
      variants.splice(1, 0, {
        who: 'tock',
        label: `pg-tock, ${SMALL}`,
        config: (await contestant('tock')).settings,
        nodeFlags: [SMALL],
      });
    const measure = async ({ who, config, nodeFlags }) =>
      await withDatabase(server, async ({ url, sql }) => {
        await (await contestant(who)).install(url);
        await fill(who, url, runs);
        const { memory: samples } = await drain({
          who,
          settings: config,
          url,
          sql,
          count: runs,
          sampleMs: 100,
          ...(nodeFlags ? { nodeFlags } : {}),
        });
        const quarter = (from, to) =>
          median(samples.filter(([done]) => done >= runs * from && done <= runs * to).map(([, rss]) => rss));
        return {
          value: Math.max(...samples.map(([, rss]) => rss)),
          growth: quarter(0.75, 1) / quarter(0.25, 0.5),
          samples,
        };
      });
    const rows = await inTurn({ variants, rounds, measure, say, unit: 'MB' });
    return {
      rows: withRatios(rows, 'lower').map(row => ({
        ...row,
        extra: {
          'last quarter beside the second': growthText(median(row.rounds.map(each => each.growth))),
        },
      })),
      notes: [
        `${runs.toLocaleString('en')} runs; resident memory every 100 ms; Node takes what the machine lets it`,
      ],
      lines: rows.map(row => ({ label: row.label, own: row.own, points: row.rounds[0].samples })),
    };
  },
};

/** Too short a backlog has no samples in its quarters. */
function growthText(growth) {
  return Number.isFinite(growth) ? `${growth.toFixed(2)} x` : '–';
}
