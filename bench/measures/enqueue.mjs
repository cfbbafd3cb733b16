// Rows a second that one process adds in batches over one connection at a time.
// In: a server. Out: rows/s by batch size, with keys and without; the CPU that a row takes of the process and of its backend.
import { contestant } from '../contestants/index.mjs';
import { median } from '../figures.mjs';
import { startChild } from '../lib/child.mjs';
import { backendSeconds, settle, withDatabase } from '../lib/database.mjs';
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
        for (const who of ['tock', 'graphile', 'boss', 'bull'])
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
        const child = startChild({ role: 'produce', who, url, count: runs, batch, keys, nodeFlags });
        await child.next('ready');
        const before = await backendSeconds(sql);
        const added = child.next('added');
        child.tell('go');
        await added;
        const after = await backendSeconds(sql);
        child.tell('stop');
        const { seconds, cpuSeconds } = await child.result;
        const { waiting } = await sql.one(counts);
        // And the one that opened the connection.
        if (waiting !== runs + 1) throw new Error(`${who}: ${waiting} rows in place of ${runs + 1}`);
        const perRow = spent => (spent * 1e6) / runs;
        return {
          value: runs / seconds,
          seconds,
          processUs: perRow(cpuSeconds),
          backendUs: before === null || after === null ? null : perRow(after - before),
        };
      });
    const rows = await inTurn({ variants, rounds, measure, say, unit: 'rows/s' });
    // Each beside ours of the same kind.
    const kinds = Map.groupBy(rows, ({ config }) => `${config.batch} ${config.keys}`);
    const rated = [...kinds.values()].flatMap(kind => withRatios(kind));
    return {
      rows: rated.map(row => ({ ...row, extra: cpuOf(row.rounds) })),
      ratioTitle: 'beside ours',
      notes: [
        'a key is an idempotency key with us, a job key with graphile-worker, a job id with BullMQ; pg-boss has none without a queue policy',
      ],
    };
  },
};

/** Microseconds of CPU a row: less swayed by whatever else the machine does than rows a second. */
function cpuOf(rounds) {
  const [process, backend] = ['processUs', 'backendUs'].map(key => rounds.map(each => each[key]));
  return {
    'CPU µs a row, process': median(process).toFixed(1),
    backend: backend.includes(null) ? 'unknown' : median(backend).toFixed(1),
  };
}
