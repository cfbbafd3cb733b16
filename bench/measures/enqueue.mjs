// Rows a second that one process adds in batches over one connection at a time.
// In: a server. Out: rows/s by batch size, with keys and without.
import { contestant } from '../contestants/index.mjs';
import { runChild } from '../lib/child.mjs';
import { settle, withDatabase } from '../lib/database.mjs';
import { figure, inTurn, withRatios } from '../lib/measure.mjs';

const BATCHES = [1000, 10_000];

export const enqueue = {
  name: 'enqueue',
  title: 'Rows enqueued per second, in batches',
  unit: 'rows/s',
  better: 'higher',
  defaults: { rounds: 3, runs: 100_000 },
  async run({ url: server, rounds, runs, say, nodeFlags, only }) {
    const variants = [];
    for (const batch of BATCHES)
      for (const keys of [false, true])
        for (const who of ['tock', 'graphile', 'boss'])
          if ((only === undefined || only.includes(who)) && (!keys || (await contestant(who)).canKey))
            variants.push({
              who,
              batch,
              keys,
              label: `${(await contestant(who)).name}, ${figure(batch)} at once${keys ? ', with keys' : ''}`,
              config: { batch, keys },
            });
    const measure = async ({ who, batch, keys }) =>
      await withDatabase(server, async ({ url, sql }) => {
        const { install, counts } = await contestant(who);
        await install(url);
        await settle(sql);
        const { seconds } = await runChild({
          role: 'produce',
          who,
          url,
          count: runs,
          batch,
          keys,
          nodeFlags,
        });
        const { waiting } = await sql.one(counts);
        // And the one that opened the connection.
        if (waiting !== runs + 1) throw new Error(`${who}: ${waiting} rows in place of ${runs + 1}`);
        return { value: runs / seconds, seconds };
      });
    const rows = await inTurn({ variants, rounds, measure, say, unit: 'rows/s' });
    // Each beside ours of the same kind.
    const kinds = Map.groupBy(rows, ({ config }) => `${config.batch} ${config.keys}`);
    const rated = [...kinds.values()].flatMap(kind => withRatios(kind));
    return {
      rows: rated,
      ratioTitle: 'beside ours',
      notes: [
        'a key is an idempotency key with us, a job key with graphile-worker; pg-boss has none without a queue policy',
      ],
    };
  },
};
