// Runs that wait: from an event to the handler that goes on, beside from enqueue to start; and what 100,000 waiting
// runs cost claims and ticks beside them.
// In: a server. Out: milliseconds, p50 and p99; runs/s of one process, and milliseconds of an idle tick.
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { contestant } from '../contestants/index.mjs';
import { median } from '../figures.mjs';
import { startChild } from '../lib/child.mjs';
import { monotonicMs } from '../lib/clock.mjs';
import { settle, withDatabase } from '../lib/database.mjs';
import { drain, figure, fill, inTurn, percentiles } from '../lib/measure.mjs';
import { time } from './tick.mjs';

const here = name => fileURLToPath(new URL(`../${name}`, import.meta.url));
const PACE_MS = 10;
const WARM = 20;
const WAITING = 100_000;

/** As their handlers would have left them: for an event, without a timeout. */
const FILL_WAITING = `
with made as (
  insert into tock.job_runs_live (job, status, run_at, began_at, started_at)
  select 'noop', 'queued', '9999-12-31', tock.now(), tock.now() from generate_series(1, ${WAITING}) returning id
)
insert into tock.job_waits (run_id, kind, name, key, since) select id, 'event', 'go', id::text, tock.now() from made`;

export const resumed = {
  name: 'resumed',
  title: 'From an event to the handler that goes on, p50',
  unit: 'ms',
  better: 'lower',
  digits: 2,
  defaults: { rounds: 3, runs: 1000 },
  async run({ url: server, rounds, runs, say, only }) {
    const variants = [
      { who: 'tock', label: 'pg-tock, enqueue → start', isEvent: false },
      { who: 'tock', label: 'pg-tock, emit → the handler goes on', isEvent: true },
      { who: 'graphile', label: 'graphile-worker, enqueue → start', isEvent: false },
      { who: 'boss', label: 'pg-boss, enqueue → start', isEvent: false },
      { who: 'bull', label: 'BullMQ on PostgreSQL, enqueue → start', isEvent: false },
    ].filter(({ who }) => only === undefined || only.includes(who));
    const measure = async ({ who, isEvent }) =>
      await withDatabase(server, async ({ url, sql }) => {
        const { install, producer, plain = { concurrency: 24 } } = await contestant(who);
        await install(url);
        const child = startChild({
          role: 'serve',
          who,
          settings: { ...plain, ...(isEvent ? { waitFor: 'go' } : {}) },
          url,
        });
        await child.next('started');
        const producing = await producer(url, isEvent ? { waitFor: 'go' } : {});
        const count = WARM + runs;
        if (isEvent) {
          await producing.addMany(Array.from({ length: count }, (_, n) => ({ n })));
          await until(
            async () =>
              (
                await sql.one(
                  'select count(*)::int as count from tock.job_runs_live where run_at > tock.now() and locked_by is null',
                )
              ).count === count,
          );
        }
        await settle(sql);
        for (let n = 0; n < count; n++) {
          await sleep(PACE_MS + Math.random() * PACE_MS);
          if (isEvent) await producing.emit('go', String(n), { at: monotonicMs() });
          else await producing.add({ at: monotonicMs() });
        }
        await until(() => child.latest.done >= count);
        child.tell('stop');
        const { latencies } = await child.result;
        await producing.close();
        return percentiles(latencies.slice(WARM));
      });
    const rows = await inTurn({ variants, rounds, measure, say, unit: 'ms', digits: 2 });
    return {
      rows: rows.map((row, index) => ({
        ...row,
        ...(index > 0 && { ratio: row.median / rows[0].median }),
        extra: { 'p99 ms': figure(median(row.rounds.map(each => each.p99)), 2) },
      })),
      ratioTitle: 'beside enqueue',
      notes: [
        `one at a time, ${PACE_MS} to ${2 * PACE_MS} ms apart; who emits is a process of its own; all runs wait before the first event`,
        'the others have no events: a job that would wait for one ends, and who has the event enqueues the next',
      ],
    };
  },
};

export const besideWaiting = {
  name: 'waiting',
  title: `No-op runs per second, one process, beside ${WAITING.toLocaleString('en')} runs that wait`,
  unit: 'runs/s',
  better: 'higher',
  defaults: { rounds: 5, runs: 200_000 },
  async run({ url: server, rounds, runs, say }) {
    const variants = [
      { who: 'tock', label: 'no run waits', waits: false },
      { who: 'tock', label: `${WAITING.toLocaleString('en')} runs wait`, waits: true },
    ];
    const measure = async ({ waits }) =>
      await withDatabase(server, async ({ url, sql }) => {
        const { install } = await contestant('tock');
        await install(url);
        if (waits) await sql.rows(FILL_WAITING);
        const env = { DATABASE_URL: url, TOCK_JOBS: here('fixtures/yearly-jobs.mjs') };
        const ticks = [];
        for (let n = 0; n < 6; n++) ticks.push((await time([here('../dist/tick.js')], { env })).value);
        await fill('tock', url, runs);
        const waiting = waits ? WAITING : 0;
        const { seconds } = await drain({
          who: 'tock',
          settings: { concurrency: 100 },
          url,
          sql,
          count: runs,
          waiting,
        });
        return { value: runs / seconds, tick: median(ticks.slice(1)) };
      });
    const rows = await inTurn({ variants, rounds, measure, say, unit: 'runs/s' });
    return {
      rows: rows.map((row, index) => ({
        ...row,
        ...(index > 0 && { ratio: row.median / rows[0].median }),
        extra: { 'idle tick, ms': figure(median(row.rounds.map(each => each.tick)), 1) },
      })),
      ratioTitle: 'beside none',
    };
  },
};

async function until(isSo, withinMs = 120_000) {
  const began = performance.now();
  while (!(await isSo())) {
    if (performance.now() - began > withinMs) throw new Error('not everything was executed');
    await sleep(2);
  }
}
