// What starts after a freeze: at once, and over a ramp; and how long it takes to spread what waits.
// In: a server; `runs` that wait, `seconds` of the ramp. Out: starts of each second, as a line for each.
import { createTock } from '../../dist/index.js';
import { contestant } from '../contestants/index.mjs';
import { withDatabase } from '../lib/database.mjs';
import { drainTogether, figure, fill } from '../lib/measure.mjs';

export const ramp = {
  name: 'ramp',
  title: 'What waited for the end of a freeze: starts of each second',
  unit: 'starts',
  defaults: { runs: 300_000, seconds: 60 },
  async run({ url, runs, seconds, nodeFlags }) {
    const measure = ms => startsBySecond(url, { runs, ms, nodeFlags });
    const [atOnce, spread] = [await measure(0), await measure(seconds * 1000)];
    const took = `${figure(runs)} waiting runs were spread in ${figure(spread.thawSeconds, 1)} s`;
    const most = `most starts of a second: at once ${figure(atOnce.most)}, over the ramp ${figure(spread.most)} (even: ${figure(runs / seconds)})`;
    return {
      atOnce,
      spread,
      lines: [
        { label: `a ramp of ${seconds} s`, points: spread.points },
        { label: 'without a ramp', points: atOnce.points },
      ],
      xUnit: 's after the thaw',
      footer: took,
      table: `${took}; ${most}`,
    };
  },
};

async function startsBySecond(server, { runs, ms, nodeFlags }) {
  const { settings, install } = await contestant('tock');
  return await withDatabase(server, async ({ url, sql }) => {
    await install(url, settings);
    await fill('tock', url, runs);
    const tock = createTock({ connectionString: url, logger: false });
    try {
      await tock.freeze({ until: '1h', note: 'a measurement' });
      let began;
      await drainTogether({
        who: 'tock',
        settings,
        url,
        sql,
        count: runs,
        processes: 1,
        nodeFlags,
        async meanwhile() {
          began = performance.now();
          await tock.thaw({ ramp: ms });
          began = performance.now() - began;
          return 0;
        },
      });
      const rows = await sql.rows(`
        select floor(extract(epoch from r.started_at - f.ended_at))::int as second, count(*)::int as count
        from tock.job_runs_finished r, tock.freezes f group by 1 order by 1`);
      const counts = new Map(rows.map(({ second, count }) => [second, count]));
      const last = rows.at(-1).second;
      const points = Array.from({ length: last + 1 }, (_, second) => [second, counts.get(second) ?? 0]);
      return { thawSeconds: began / 1000, most: Math.max(...counts.values()), points };
    } finally {
      await tock.close();
    }
  });
}
