// What the polls of an idle daemon cost over full tables: each asks from the first run of every queue lane.
// In: a server. Out: milliseconds of the server for each poll, and how many come a minute.
import { setTimeout as sleep } from 'node:timers/promises';
import { contestant } from '../contestants/index.mjs';
import { median } from '../figures.mjs';
import { startChild } from '../lib/child.mjs';
import { holdSnapshot, settle, withDatabase } from '../lib/database.mjs';
import { figure, inTurn } from '../lib/measure.mjs';

const SETTLING_MS = 12_000;
const HOLDER = '00000000-0000-4000-8000-000000000001';

const LEASED = `insert into tock.job_runs_live (job, run_at, status, locked_by, locked_until, fence, attempts)
  select 'noop', tock.now() - interval '1 minute', 'running', '${HOLDER}', tock.now() + interval '1 hour', 1, 1 from generate_series(1, 100000)`;
const daemons = count => `insert into tock.workers (id, kind, host, pid, capacity, heartbeat_ms)
  select case n when 1 then '${HOLDER}' else gen_random_uuid() end, 'daemon', 'elsewhere', n, 10, 3600000 from generate_series(1, ${count}) n`;
const LOADS = [
  { label: 'empty tables', fill: [] },
  {
    label: '20,000 queue lanes',
    fill: [
      `insert into tock.job_runs_live (job, queue, run_at) select 'noop', 'q' || n, tock.now() + interval '1 hour' from generate_series(1, 20000) n`,
    ],
  },
  { label: '100,000 leases', fill: [daemons(1), LEASED] },
  {
    label: '100,000 ended, snapshot held',
    fill: [
      `insert into tock.job_runs_live (job, run_at) select 'noop', tock.now() - interval '1 minute' from generate_series(1, 100000)`,
    ],
    underSnapshot: 'delete from tock.job_runs_live',
  },
  { label: '100,000 leases, 50 daemons', fill: [daemons(49), LEASED] },
];

export const polls = {
  name: 'polls',
  title: 'A poll of an idle daemon over full tables: milliseconds of the server',
  unit: 'ms',
  better: 'lower',
  digits: 2,
  isLong: true,
  settings: { shared_preload_libraries: 'pg_stat_statements', 'pg_stat_statements.track_planning': 'off' },
  defaults: { rounds: 1, seconds: 60 },
  async run({ url: server, rounds, seconds, say }) {
    const measure = async ({ fill, underSnapshot }) =>
      await withDatabase(server, async ({ url, sql }) => {
        const { install, settings } = await contestant('tock');
        await install(url);
        await sql.rows('create extension pg_stat_statements');
        for (const text of fill) await sql.rows(text);
        await settle(sql);
        const holder = underSnapshot === undefined ? null : await holdSnapshot(url);
        if (underSnapshot !== undefined) await sql.rows(underSnapshot);
        const child = startChild({ role: 'serve', who: 'tock', settings, url });
        try {
          await child.next('started');
          await sleep(SETTLING_MS);
          await sql.rows('select pg_stat_statements_reset()');
          await sleep(seconds * 1000);
          const { calls, ms } = await sql.one(
            `select sum(calls)::int as calls, (sum(total_exec_time) / sum(calls))::float8 as ms from pg_stat_statements
             where dbid = (select oid from pg_database where datname = current_database()) and query like '%"isFairDue"%'`,
          );
          return { value: ms, perMinute: (calls * 60) / seconds };
        } finally {
          child.tell('stop');
          await child.result;
          await holder?.close();
        }
      });
    const rows = await inTurn({ variants: LOADS, rounds, measure, say, unit: 'ms', digits: 2 });
    return {
      rows: rows.map(row => ({
        ...row,
        extra: { 'polls a minute': figure(median(row.rounds.map(each => each.perMinute))) },
      })),
      notes: [`an idle daemon that listens, ${seconds} seconds; the other daemons are rows only`],
    };
  },
};
