// How long `prove` takes for a million occurrences that have their runs: one definition of each second, and
// many of each minute.
// In: a server. Out: seconds, and occurrences a second.
import { createTock } from '../../dist/index.js';
import { settle, withDatabase } from '../lib/database.mjs';
import { figure, inTurn } from '../lib/measure.mjs';

const MANY = 1000;

const DEFINE = `
insert into tock.job_definitions (name, job, origin, cron, cursor, next_at)
select 'definition-' || i, 'noop', 'runtime', $2::text, $3::timestamptz, '-infinity' from generate_series(1, $1::integer) as i`;

/** What ticks would have written: a key and a finished run for each occurrence. */
const FILL = `
with made as (
  insert into tock.job_runs_finished (id, definition_id, job, status, attempts, fence, trigger, run_at, scheduled_for, created_at, started_at, finished_at,
    idempotency_key)
  select nextval('tock.job_runs_id_seq'), d.id, 'noop', 'succeeded', 1, 1, 'cron', t, t, t, t, t, 'cron:' || d.id || ':' || extract(epoch from t)
  from tock.job_definitions d
    cross join generate_series($1::timestamptz + $2::interval, $1::timestamptz + $3::integer * $2::interval, $2::interval) as t
  returning id, definition_id, scheduled_for
)
insert into tock.job_occurrences (definition_id, scheduled_for, run_id) select definition_id, scheduled_for, id from made`;

const MOVE = `
update tock.job_definitions set cursor = $1::timestamptz + $3::integer * $2::interval, next_at = $1::timestamptz + ($3::integer + 1) * $2::interval`;

export const prove = {
  name: 'prove',
  title: 'Occurrences, each proved to have its run',
  unit: 's',
  better: 'lower',
  digits: 2,
  defaults: { rounds: 3, runs: 1_000_000 },
  async run({ url: server, rounds, runs, say }) {
    const variants = [
      {
        who: 'tock',
        label: 'one definition, of each second',
        definitions: 1,
        cron: '* * * * * *',
        step: '1 second',
      },
      {
        who: 'tock',
        label: `${figure(MANY)} definitions, of each minute`,
        definitions: MANY,
        cron: '* * * * *',
        step: '1 minute',
      },
    ].map(each => ({ ...each, config: { definitions: each.definitions } }));
    const measure = async ({ definitions, cron, step }) =>
      await withDatabase(server, async ({ url, sql }) => {
        const tock = createTock({ connectionString: url, logger: false });
        try {
          await tock.migrate();
          const each = Math.round(runs / definitions);
          const from = new Date(Math.floor(Date.now() / 60_000) * 60_000 - 30 * 86_400_000);
          await sql.rows(DEFINE, [definitions, cron, from]);
          await sql.rows(FILL, [from, step, each]);
          await sql.rows(MOVE, [from, step, each]);
          await settle(sql);
          const to = new Date(from.getTime() + (each + 1) * (step === '1 second' ? 1000 : 60_000));
          const began = performance.now();
          const proof = await tock.prove({ from, to });
          const seconds = (performance.now() - began) / 1000;
          if (!proof.holds || proof.byKind.run !== each * definitions) throw new Error(JSON.stringify(proof));
          return { value: seconds, perSecond: (each * definitions) / seconds };
        } finally {
          await tock.close();
        }
      });
    const rows = await inTurn({ variants, rounds, measure, say, unit: 's', digits: 2 });
    return {
      rows: rows.map(row => ({ ...row, extra: { 'occurrences/s': figure(runs / row.median) } })),
      notes: [
        `${figure(runs)} occurrences of the last 30 days; keys and runs are read, and compared with the schedule`,
      ],
    };
  },
};
