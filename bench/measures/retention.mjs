// Whether retention holds up a worker: partitions with finished runs are thinned, detached and dropped while it drains.
// In: a server. Out: runs/s with a prune beside, and without; the longest time in which no outcome was written.
import { setTimeout as sleep } from 'node:timers/promises';
import { createTock } from '../../dist/index.js';
import { contestant } from '../contestants/index.mjs';
import { median } from '../figures.mjs';
import { runChild } from '../lib/child.mjs';
import { settle, withDatabase } from '../lib/database.mjs';
import { figure, fill, inTurn } from '../lib/measure.mjs';

const MONTHS = 4;
/** One in so many is dead, and stays. */
const DEAD = 100;
const KEEP = { default: '90d', dead: '9000d' };

const OLD = `
insert into tock.job_runs (job, payload, status, attempts, fence, run_at, created_at, started_at, finished_at, output)
select 'noop', jsonb_build_object('n', i), case when i % ${DEAD} = 0 then 'dead' else 'succeeded' end, 1, 1, at, at, at, at, 'null'
from (select i, $1::timestamptz + i * interval '20 days' / $2::int as at from generate_series(1, $2::int) as i) as past`;

const PAUSE = `
select coalesce(max(extract(epoch from gap)) * 1000, 0)::float8 as ms
from (select finished_at - lag(finished_at) over (order by finished_at) as gap
  from (select distinct finished_at from tock.job_runs_finished where finished_at > $1) as outcomes) as gaps`;

export const retention = {
  name: 'retention',
  title: 'Retention beside a draining worker: runs per second, one process, concurrency 100',
  unit: 'runs/s',
  better: 'higher',
  defaults: { rounds: 3, runs: 100_000 },
  async run({ url: server, rounds, runs, say, nodeFlags, full }) {
    const finished = runs * (full ? 100 : 10);
    const { install, settings } = await contestant('tock');
    const variants = [
      { prunes: false, label: 'alone' },
      { prunes: true, label: `while ${MONTHS} partitions with ${figure(finished)} runs go` },
    ].map(each => ({ ...each, who: 'tock', config: settings }));
    const measure = async ({ prunes }) =>
      await withDatabase(server, async ({ url, sql }) => {
        await install(url);
        for (let month = 1; month <= MONTHS; month++) {
          const first = `2020-0${month}-01`;
          await sql.rows(`select tock.make_partition($1::timestamp, 'month')`, [first]);
          await sql.rows(OLD, [first, Math.round(finished / MONTHS)]);
        }
        await fill('tock', url, runs);
        await settle(sql);
        const { now } = await sql.one('select now()');
        const tock = createTock({ connectionString: url, jobs: [], logger: false });
        try {
          const draining = runChild({ role: 'drain', who: 'tock', settings, url, count: runs, nodeFlags });
          const pruned = prunes ? await whenItDrains(sql, runs, () => tock.prune({ keep: KEEP })) : null;
          const report = await draining;
          await demandDone(sql, now, runs, pruned);
          const { ms } = await sql.one(PAUSE, [now]);
          return { value: runs / report.seconds, seconds: report.seconds, pauseMs: ms };
        } finally {
          await tock.close();
        }
      });
    const rows = await inTurn({ variants, rounds, measure, say, unit: 'runs/s' });
    const [alone] = rows;
    return {
      rows: rows.map(row => ({
        ...row,
        ratio: row.median / alone.median,
        extra: { 'longest pause, ms': figure(median(row.rounds.map(each => each.pauseMs))) },
      })),
      ratioTitle: 'beside alone',
      notes: [
        `one in ${DEAD} of the old runs is dead and stays; a pause is a time in which no outcome was written`,
      ],
    };
  },
};

/** Begins once the first outcomes are written. */
async function whenItDrains(sql, runs, work) {
  for (;;) {
    const { waiting } = await sql.one('select count(*)::int as waiting from tock.job_runs_live');
    if (waiting < runs) return await work();
    await sleep(10);
  }
}

/** All that was enqueued has succeeded once; the old partitions are gone, and what stays of them is there. */
async function demandDone(sql, since, runs, pruned) {
  const found = await sql.one(
    `select count(*) filter (where finished_at > $1 and status = 'succeeded')::int as done,
      count(*) filter (where status = 'dead')::int as dead from tock.job_runs_finished`,
    [since],
  );
  if (found.done !== runs) throw new Error(`of ${runs} runs ${found.done} are written`);
  if (pruned && (pruned.droppedPartitions.length !== MONTHS || pruned.keptRuns !== found.dead))
    throw new Error(`pruned ${JSON.stringify(pruned)}, and ${found.dead} are there`);
}
