// Several processes beside one, over the same backlog.
// In: a server. Out: runs/s of each contestant with one and with four, and of ours with eight.
import { contestant } from '../contestants/index.mjs';
import { withDatabase } from '../lib/database.mjs';
import {
  drainTogether,
  figure,
  fill,
  inTurn,
  TOGETHER_NOTES,
  unevenness,
  warmRate,
} from '../lib/measure.mjs';

const MANY = { tock: [1, 4, 8], graphile: [1, 4], boss: [1, 4] };

export const processes = {
  name: 'processes',
  title: 'No-op runs per second, one process, four and eight',
  unit: 'runs/s',
  better: 'higher',
  // Many: each process first spends half a second of CPU on compiling, which is not what is compared.
  defaults: { rounds: 3, runs: 1_200_000 },
  async run({ url: server, rounds, runs, say, nodeFlags, only }) {
    const variants = [];
    for (const [who, counts] of Object.entries(MANY)) {
      if (only !== undefined && !only.includes(who)) continue;
      const { name, settings } = await contestant(who);
      for (const processes of counts)
        variants.push({
          who,
          processes,
          label: `${name}, ${processes === 1 ? 'one' : processes}`,
          config: settings,
        });
    }
    const measure = async variant => await measureProcesses(server, { ...variant, runs, nodeFlags });
    const rows = await inTurn({ variants, rounds, measure, say, unit: 'runs/s' });
    const one = who => rows[variants.findIndex(each => each.who === who && each.processes === 1)];
    return {
      rows: rows.map((row, index) => {
        const { who, processes } = variants[index];
        const extra = { 'once warm': figure(warmRate(row.rounds)) };
        if (processes === 1) return { ...row, extra };
        return {
          ...row,
          ratio: row.median / one(who).median,
          extra: {
            ...extra,
            'beside one once warm': `${figure(warmRate(row.rounds) / warmRate(one(who).rounds), 2)} x`,
            'busiest beside idlest': unevenness(row.rounds),
          },
        };
      }),
      ratioTitle: 'beside one',
      notes: TOGETHER_NOTES,
    };
  },
};

/** Runs a second of several processes over one backlog. */
export async function measureProcesses(server, { who, processes: many, config, runs, nodeFlags }) {
  return await withDatabase(server, async ({ url, sql }) => {
    await (await contestant(who)).install(url);
    await fill(who, url, runs);
    const options = { who, settings: config, url, sql, count: runs, processes: many, nodeFlags };
    const { seconds, shares, warmPerSecond } = await drainTogether(options);
    return { value: runs / seconds, seconds, shares, warmPerSecond };
  });
}
