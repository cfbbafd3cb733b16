// Definitions that are all due at one instant: how long until each has its run.
// In: a server. Out: seconds from the call until all occurrences are written, beside bare inserts of as many rows.
import { createTock, defineJob } from '../../dist/index.js';
import { settle, withDatabase } from '../lib/database.mjs';
import { figure, inTurn } from '../lib/measure.mjs';
import { define, makeDue } from '../schedules-database.mjs';

/** As many definitions as one transaction materializes. */
const BATCH = 1000;

/** The rows of an occurrence, with the same indexes and keys, and nothing else: no locks, no schedule, no cursor. */
const INSERT = `
with due as (
  select id, 'cron:' || id || ':' || i as key, $1::timestamptz as at
  from unnest($2::bigint[]) with ordinality as d(id, i)
), occurrences as (
  insert into tock.job_occurrences (definition_id, scheduled_for, run_id)
  select id, at, id from due
)
insert into tock.job_runs_live (definition_id, job, payload, status, trigger, run_at, scheduled_for, idempotency_key)
select id, 'noop', 'null', 'queued', 'cron', at, at, key from due`;

export const materialize = {
  name: 'materialize',
  title: 'Definitions due at one instant: until all their runs are written',
  unit: 's',
  better: 'lower',
  digits: 2,
  defaults: { rounds: 3, runs: 100_000 },
  async run({ url: server, rounds, runs, say }) {
    const variants = [
      { who: 'none', label: `bare inserts, ${BATCH} a transaction`, isBare: true },
      { who: 'tock', label: 'pg-tock: one tick', isBare: false },
    ].map(each => ({ ...each, config: {} }));
    const measure = async ({ isBare }) =>
      await withDatabase(server, async ({ url, sql }) => {
        const jobs = [defineJob({ name: 'noop', run: () => null })];
        const tock = createTock({ connectionString: url, jobs, logger: false });
        try {
          await tock.migrate();
          await tock.register();
          const query = async (text, values) => await sql.rows(text, values);
          await define(query, 'tock', runs);
          await makeDue(query, 'tock', runs, 1);
          await settle(sql);
          const seconds = isBare ? await insertBare(sql) : await tickOnce(tock, runs);
          const { made } = await sql.one(
            `select count(*)::int as made from tock.job_runs_live r join tock.job_occurrences o
             on o.definition_id = r.definition_id and o.scheduled_for = r.scheduled_for`,
          );
          if (made !== runs) throw new Error(`${made} runs in place of ${runs}`);
          return { value: seconds, perSecond: runs / seconds };
        } finally {
          await tock.close();
        }
      });
    const rows = await inTurn({ variants, rounds, measure, say, unit: 's', digits: 2 });
    return {
      rows: rows.map((row, place) => ({
        ...row,
        ...(place === 0 ? {} : { ratio: row.median / rows[0].median }),
        extra: { 'rows/s': figure(runs / row.median) },
      })),
      ratioTitle: 'beside bare inserts',
      notes: [
        `${figure(runs)} daily definitions in six zones, one occurrence each; the bare inserts write the same two rows for each, over one connection`,
      ],
    };
  },
};

/** No run is in this queue: the tick materializes, and claims nothing. */
async function tickOnce(tock, runs) {
  const began = performance.now();
  const { materialized } = await tock.tick({ budget: '1s', queues: ['nothing'] });
  const seconds = (performance.now() - began) / 1000;
  if (materialized.runs !== runs) throw new Error(`${materialized.runs} runs in place of ${runs}`);
  return seconds;
}

async function insertBare(sql) {
  const ids = (
    await sql.rows(`select id from tock.job_definitions where origin = 'runtime' order by id`)
  ).map(({ id }) => id);
  const at = new Date();
  const began = performance.now();
  for (let from = 0; from < ids.length; from += BATCH)
    await sql.rows(INSERT, [at, ids.slice(from, from + BATCH)]);
  return (performance.now() - began) / 1000;
}
