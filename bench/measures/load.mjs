// Whether what lies in the tables slows the claims: ours against ours, empty.
// In: a server. Out: runs/s with finished rows, with future runs of a higher priority, with leased ones, with all.
import { contestant } from '../contestants/index.mjs';
import { createDatabase } from '../lib/database.mjs';
import { drain, fill, inTurn } from '../lib/measure.mjs';

const LEASED = 10_000;

const LOADS = {
  finished: async (sql, { finished }) =>
    await sql.rows(
      `insert into tock.job_runs (job, payload, status, attempts, fence, run_at, created_at, started_at, finished_at, output)
       select 'noop', jsonb_build_object('n', i), 'succeeded', 1, 1, at, at, at, at + interval '10 milliseconds', 'null'
       from (select i, now() - i * interval '1 second' * (20 * 86400.0 / $1::int) as at from generate_series(1, $1::int) as i) as past`,
      [finished],
    ),
  future: async (sql, { future }) =>
    await sql.rows(
      `insert into tock.job_runs_live (job, payload, status, priority, run_at)
       select 'noop', jsonb_build_object('n', i), 'queued', -10, now() + interval '30 days' + i * interval '1 millisecond'
       from generate_series(1, $1::int) as i`,
      [future],
    ),
  leased: async sql =>
    await sql.rows(
      `insert into tock.job_runs_live (job, payload, status, attempts, fence, run_at, started_at, locked_by, locked_until)
       select 'noop', jsonb_build_object('n', i), 'running', 1, 1, now() - interval '1 hour', now(), gen_random_uuid(), now() + interval '1 day'
       from generate_series(1, $1::int) as i`,
      [LEASED],
    ),
};

export const load = {
  name: 'load',
  title: 'Tock with full tables: runs per second, one process, concurrency 100',
  unit: 'runs/s',
  better: 'higher',
  defaults: { rounds: 3, runs: 50_000 },
  async run({ url: server, rounds, runs, say, nodeFlags, full }) {
    const sizes = { finished: full ? 10_000_000 : 1_000_000, future: 1_000_000 };
    const count = each => each.toLocaleString('en');
    const variants = [
      { label: 'empty', loads: [] },
      { label: `${count(sizes.finished)} finished`, loads: ['finished'] },
      { label: `${count(sizes.future)} future, of a higher priority`, loads: ['future'] },
      { label: `${count(LEASED)} leased by others, due before`, loads: ['leased'] },
      { label: 'all of these', loads: ['finished', 'future', 'leased'] },
    ];
    const { install, settings } = await contestant('tock');
    const databases = [];
    try {
      for (const { label, loads } of variants) {
        const database = await createDatabase(server);
        databases.push(database);
        await install(database.url);
        for (const each of loads) await LOADS[each](database.sql, sizes);
        if (loads.length > 0) say.line(`  filled: ${label}`);
      }
      const measure = async ({ place }) => {
        const { url, sql } = databases[place];
        const { finished: before, waiting } = await sql.one((await contestant('tock')).counts);
        await fill('tock', url, runs);
        const report = await drain({
          who: 'tock',
          settings,
          url,
          sql,
          count: runs,
          before,
          waiting,
          nodeFlags,
        });
        return { value: runs / report.seconds, seconds: report.seconds };
      };
      const placed = variants.map((each, place) => ({ ...each, place, who: 'tock', config: settings }));
      const rows = await inTurn({ variants: placed, rounds, measure, say, unit: 'runs/s' });
      const [empty] = rows;
      return {
        rows: rows.map(row => ({ ...row, ratio: row.median / empty.median })),
        ratioTitle: 'beside empty',
      };
    } finally {
      for (const each of databases) await each.drop();
    }
  },
};
