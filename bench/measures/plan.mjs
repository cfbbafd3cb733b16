// How long `plan` takes for 10,000 definitions of each hour that have a history, a hundred of which the code
// changes: it reads them with their durations, compares, and simulates seven days twice.
// In: a server. Out: seconds, and runs that are simulated a second.
import { createTock, defineJob } from '../../dist/index.js';
import { settle, withDatabase } from '../lib/database.mjs';
import { figure, inTurn } from '../lib/measure.mjs';

const CHANGED = 100;
const RUNS_OF_EACH = 20;

const FILL = `
insert into tock.job_runs_finished (id, definition_id, job, status, attempts, fence, trigger, run_at, scheduled_for, created_at, started_at, finished_at,
  idempotency_key)
select nextval('tock.job_runs_id_seq'), d.id, d.job, 'succeeded', 1, 1, 'cron', t, t, t, t, t + d.id % 90 * interval '1 second',
  'cron:' || d.id || ':' || extract(epoch from t)
from tock.job_definitions d
  cross join generate_series(tock.now() - $1::integer * interval '1 hour', tock.now() - interval '1 hour', interval '1 hour') as t`;

const jobs = (count, hour) =>
  Array.from({ length: count }, (_, index) =>
    defineJob({
      name: `job-${index}`,
      schedule: { cron: `${index % 60} ${index < CHANGED ? hour : '*'} * * *` },
      run: () => null,
    }),
  );

export const plan = {
  name: 'plan',
  title: 'A plan of seven days',
  unit: 's',
  better: 'lower',
  digits: 2,
  defaults: { rounds: 3, runs: 10_000 },
  async run({ url: server, rounds, runs, say }) {
    const variants = [{ who: 'tock', label: `${figure(runs)} definitions of each hour`, config: {} }];
    const measure = async () =>
      await withDatabase(server, async ({ url, sql }) => {
        const options = { connectionString: url, logger: false };
        const before = createTock({ ...options, jobs: jobs(runs, '2') });
        const after = createTock({ ...options, jobs: jobs(runs, '3') });
        try {
          await before.migrate();
          await before.register();
          await sql.rows(FILL, [RUNS_OF_EACH]);
          await settle(sql);
          await after.requireMigrated();
          const began = performance.now();
          const planned = await after.plan();
          const seconds = (performance.now() - began) / 1000;
          if (planned.move !== CHANGED * 7) throw new Error(JSON.stringify(planned));
          return { value: seconds, simulated: planned.before.starts + planned.after.starts };
        } finally {
          await before.close();
          await after.close();
        }
      });
    const rows = await inTurn({ variants, rounds, measure, say, unit: 's', digits: 2 });
    return {
      rows,
      notes: [
        `${CHANGED} of them are changed by the code; each had ${RUNS_OF_EACH} runs; the first answer of a process`,
      ],
    };
  },
};
