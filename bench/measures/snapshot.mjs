// Whether a snapshot that somebody holds open slows the claims: dead rows cannot be removed under it.
// In: a server. Out: runs/s after so many runs under a snapshot and without; the ratio of each contestant to itself.
import { contestant } from '../contestants/index.mjs';
import { holdSnapshot, withDatabase } from '../lib/database.mjs';
import { drain, fill, inTurn } from '../lib/measure.mjs';

/** How many runs are measured, after `runs` of them have left their dead rows. */
const MEASURED = 0.25;

export const snapshot = {
  name: 'snapshot',
  title: 'A snapshot held open by another session: runs per second, one process',
  unit: 'runs/s',
  better: 'higher',
  defaults: { rounds: 3, runs: 200_000 },
  async run({ url: server, rounds, runs, say, nodeFlags, only }) {
    const count = Math.round(runs * (1 + MEASURED));
    const whos = ['tock', 'graphile', 'boss'].filter(who => only === undefined || only.includes(who));
    const variants = [];
    for (const who of whos) {
      const { name, settings } = await contestant(who);
      for (const held of [false, true])
        variants.push({ who, held, label: `${name}${held ? ', snapshot held' : ''}`, config: settings });
    }
    const measure = async ({ who, held, config }) =>
      await withDatabase(server, async ({ url, sql }) => {
        await (await contestant(who)).install(url);
        await fill(who, url, count);
        const holder = held ? await holdSnapshot(url) : null;
        try {
          const report = await drain({ who, settings: config, url, sql, count, nodeFlags });
          const [, from] = report.marks.findLast(([done]) => done <= runs) ?? [0, 0];
          const [done, to] = report.marks.at(-1);
          const fromDone = report.marks.findLast(([each]) => each <= runs)?.[0] ?? 0;
          return {
            value: ((done - fromDone) / (to - from)) * 1000,
            seconds: report.seconds,
            marks: report.marks,
          };
        } finally {
          await holder?.close();
        }
      });
    const rows = await inTurn({ variants, rounds, measure, say, unit: 'runs/s' });
    return {
      rows: rows.map((row, index) =>
        variants[index].held ? { ...row, ratio: row.median / rows[index - 1].median } : row,
      ),
      ratioTitle: 'beside without',
      notes: [`the last ${Math.round(runs * MEASURED)} of ${count} runs, all enqueued before`],
    };
  },
};
