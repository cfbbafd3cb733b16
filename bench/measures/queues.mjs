// Whether many queues and priorities slow the claims: the same runs in one queue, and in a thousand with five priorities.
// In: a server. Out: runs/s of each.
import { contestant } from '../contestants/index.mjs';
import { withDatabase } from '../lib/database.mjs';
import { drainTogether, figure, inTurn } from '../lib/measure.mjs';

const QUEUES = 1000;
const PRIORITIES = 5;

/** Then they stop, and what they executed until then counts: many queues may be slow. */
const MOST_SECONDS = 60;

/** Neighbours are of different queues, so that no claim finds its runs beside each other. */
const FILL = `
insert into tock.job_runs_live (job, payload, status, queue, priority, run_at)
select 'noop', jsonb_build_object('n', i), 'queued', 'queue-' || i % $2::int, (i / $2::int) % $3::int,
  now() - interval '1 hour' + i * interval '1 millisecond'
from generate_series(0, $1::int - 1) as i`;

export const queues = {
  name: 'queues',
  title: `Runs in ${figure(QUEUES)} queues of ${PRIORITIES} priorities: runs per second, one process`,
  unit: 'runs/s',
  better: 'higher',
  defaults: { rounds: 2, runs: 1_000_000 },
  async run({ url: server, rounds, runs: asked, say, nodeFlags }) {
    const each = Math.max(1, Math.round(asked / (QUEUES * PRIORITIES)));
    const runs = each * QUEUES * PRIORITIES;
    const { install, settings } = await contestant('tock');
    const variants = [
      { label: 'one queue, one priority', queues: 1, priorities: 1 },
      { label: `${figure(QUEUES)} queues, ${PRIORITIES} priorities`, queues: QUEUES, priorities: PRIORITIES },
    ].map(variant => ({ ...variant, who: 'tock', config: settings }));
    const measure = async ({ queues: queueCount, priorities }) =>
      await withDatabase(server, async ({ url, sql }) => {
        await install(url);
        await sql.rows(FILL, [runs, queueCount, priorities]);
        const options = { who: 'tock', settings, url, sql, count: runs, processes: 1, nodeFlags };
        const { seconds, handled } = await drainTogether({ ...options, atMostSeconds: MOST_SECONDS });
        return { value: handled / seconds, seconds, handled };
      });
    const rows = await inTurn({ variants, rounds, measure, say, unit: 'runs/s' });
    return {
      rows: rows.map((row, place) => (place === 0 ? row : { ...row, ratio: row.median / rows[0].median })),
      ratioTitle: 'beside one queue',
      notes: [
        `${figure(runs)} due runs, ${figure(each)} in each queue and priority; neighbours are of different queues; ${MOST_SECONDS} seconds at most`,
      ],
    };
  },
};
