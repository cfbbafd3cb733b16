// What figures of ended runs cost: counting a minute once it is over, and reading all metrics, over a large history.
// In: a server. Out: milliseconds; beside the same counters taken from the runs themselves.
import { createTock } from '../../dist/index.js';
import { contestant } from '../contestants/index.mjs';
import { settle, withDatabase } from '../lib/database.mjs';
import { figure, rowOf } from '../lib/measure.mjs';

const HOURS = 24;
const JOBS = 20;

/** In the order of their ends, as they would have been written. */
const FILL = `
insert into tock.job_runs_finished (job, payload, status, attempts, fence, run_at, created_at, started_at, finished_at)
select 'job-' || i % ${JOBS}, '{"n": 1}', case when i % 100 = 0 then 'dead' else 'succeeded' end, 1, 1,
  f.at - interval '1 s', f.at - interval '2 s', f.at - (1 + i % 977) * interval '1 ms', f.at
from generate_series($1::int, $2::int) i, lateral (select $3::timestamptz + i * interval '${HOURS} hours' / $4::int as at) f`;

const BATCH = 500_000;

/** The counters alone, without buckets. */
const FROM_RUNS = `select job, queue, status, count(*) from tock.job_runs_finished group by job, queue, status`;

export const metrics = {
  name: 'metrics',
  title: 'Metrics over a large history: counting a minute of ended runs, reading all metrics',
  unit: 'ms',
  better: 'lower',
  digits: 1,
  isLong: true,
  defaults: { rounds: 20, runs: 10_000_000 },
  async run({ url: server, rounds, runs, say }) {
    return await withDatabase(server, async ({ url, sql }) => {
      await (await contestant('tock')).install(url);
      const { begin } = await sql.one(`select now() - interval '${HOURS} hours 1 minute' as begin`);
      await sql.rows(`select tock.make_partition(date_trunc('month', $1::timestamptz)::timestamp, 'month')`, [
        begin,
      ]);
      for (let from = 1; from <= runs; from += BATCH) {
        await sql.rows(FILL, [from, Math.min(runs, from + BATCH - 1), begin, runs]);
        say.progress(Math.min(runs, from + BATCH - 1), runs, 'runs in the history');
      }
      await settle(sql);
      await sql.rows(
        `update tock.figures_progress set final_until = date_bin('1 minute', $1::timestamptz, 'epoch'),
          counted_until = date_bin('1 minute', $1::timestamptz, 'epoch'), hours_until = date_bin('1 hour', $1::timestamptz, 'epoch')`,
        [begin],
      );
      const tock = createTock({ connectionString: url, jobs: [], logger: false });
      try {
        const counting = await countAll(tock, sql);
        const read = async () => await tock.metrics();
        await demandAll(await read(), runs);
        const rows = [
          rowOf({ label: 'counting a minute once it is over', own: true, config: {} }, counting),
          rowOf({ label: 'reading all metrics', own: true, config: {} }, await timed(rounds, read)),
          rowOf(
            { label: 'the counters alone, from the runs', own: false, config: {} },
            await timed(Math.min(rounds, 3), () => sql.rows(FROM_RUNS)),
          ),
        ];
        return {
          rows,
          notes: [
            `${figure(runs)} runs that ended within ${HOURS} hours, of ${JOBS} jobs; a minute has ${figure(runs / HOURS / 60)}`,
          ],
        };
      } finally {
        await tock.close();
      }
    });
  },
};

/** Ticks with nothing else to do, until all minutes are counted: each counts for a quarter of a second. */
async function countAll(tock, sql) {
  const rounds = [];
  const until = async () =>
    (await sql.one(`select final_until as at from tock.figures_progress`)).at.getTime();
  for (let before = await until(); ; ) {
    const began = performance.now();
    await tock.tick({ budget: '1s', queues: ['nothing'] });
    const took = performance.now() - began;
    const after = await until();
    const minutes = (after - before) / 60_000;
    if (minutes === 0) return rounds;
    rounds.push({ value: took / minutes, minutes });
    before = after;
  }
}

async function timed(rounds, work) {
  const found = [];
  for (let round = 0; round < rounds; round++) {
    const began = performance.now();
    await work();
    found.push({ value: performance.now() - began });
  }
  return found;
}

/** Every run is counted, once. */
async function demandAll(text, runs) {
  const counted = [...text.matchAll(/^tock_runs_ended_total\{.*\} (\d+)$/gm)].reduce(
    (sum, [, count]) => sum + Number(count),
    0,
  );
  if (counted !== runs) throw new Error(`${counted} runs are counted in place of ${runs}`);
}
