// What limits cost: one serial key, many serial keys, and one key of ten over four processes, beside no limit.
// In: a server. Out: runs/s of each.
import { contestant } from '../contestants/index.mjs';
import { withDatabase } from '../lib/database.mjs';
import { drainTogether, figure, fill, inTurn } from '../lib/measure.mjs';

const KEYS = 10_000;

export const limits = {
  name: 'limits',
  title: 'Runs per second under limits',
  unit: 'runs/s',
  better: 'higher',
  defaults: { rounds: 3, runs: 100_000 },
  async run({ url: server, rounds, runs, say, nodeFlags }) {
    const { install, settings } = await contestant('tock');
    const serial = Math.max(1, Math.round(runs / 50));
    const shared = Math.max(1, Math.round(runs / 5));
    const variants = [
      { label: 'no limit', count: runs, keys: 1, processes: 1 },
      { label: `${figure(KEYS)} keys, limit 1`, count: runs, keys: KEYS, limit: 1, processes: 1 },
      { label: 'one key, limit 1', count: serial, keys: 1, limit: 1, processes: 1 },
      { label: 'no limit, four processes', count: runs, keys: 1, processes: 4 },
      { label: 'one key, limit 10, four processes', count: shared, keys: 1, limit: 10, processes: 4 },
    ].map(each => ({ ...each, who: 'tock', config: { ...settings, limit: each.limit } }));
    const measure = async ({ count, keys, limit, processes, config }) =>
      await withDatabase(server, async ({ url, sql }) => {
        await install(url);
        const payloadOf = n => ({ n, key: `key-${n % keys}` });
        await fill('tock', url, count, { payloadOf, jobs: { limit } });
        const options = { who: 'tock', settings: config, url, sql, count, processes, nodeFlags };
        const { seconds, shares } = await drainTogether(options);
        await demandLimited(sql, limit === undefined ? 0 : Math.min(keys, count), limit);
        return { value: count / seconds, seconds, shares, count };
      });
    const rows = await inTurn({ variants, rounds, measure, say, unit: 'runs/s' });
    return {
      rows: rows.map((row, place) => ({
        ...row,
        ...(variants[place].limit === undefined
          ? {}
          : { ratio: row.median / rows[variants[place].processes === 1 ? 0 : 3].median }),
        extra: { runs: figure(variants[place].count) },
      })),
      ratioTitle: 'beside no limit',
      notes: ['handlers that do nothing: with real ones, a limit allows so many at once and no more'],
    };
  },
};

/** Each run was under the limit of one key, and no slot is taken any more. */
async function demandLimited(sql, keys, limit) {
  const found = await sql.one(
    `select count(distinct slot_keys)::int as keys, count(*) filter (where slot_keys is null)::int as unlimited,
      coalesce(max(slot_limits[1]), 0)::int as most, (select count(*) from tock.job_slots)::int as taken
     from tock.job_runs_finished`,
  );
  if (found.keys !== keys || (keys > 0 && (found.unlimited > 0 || found.most !== limit)) || found.taken > 0)
    throw new Error(`in place of ${keys} keys of limit ${limit}: ${JSON.stringify(found)}`);
}
