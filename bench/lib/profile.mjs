// Where the time goes: --cpu-prof of the workers, pg_stat_statements of the server.
// In: a server with pg_stat_statements loaded. Out: Node flags; a report of the functions and statements that took most.
import { mkdtemp, readdir, readFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { table } from '../figures.mjs';
import { connect } from './database.mjs';

const MOST = 25;

/** The server's settings that this needs. */
export const PROFILED = {
  shared_preload_libraries: 'pg_stat_statements',
  'pg_stat_statements.track_planning': 'on',
  track_wal_io_timing: 'on',
};

export async function profile(url, say) {
  const folder = await mkdtemp(path.join(os.tmpdir(), 'tock-profile-'));
  const sql = await connect(url);
  await sql.rows('create extension if not exists pg_stat_statements');
  await sql.rows('select pg_stat_statements_reset()');
  await sql.rows(`select pg_stat_reset_shared('io')`);
  return {
    nodeFlags: ['--cpu-prof', `--cpu-prof-dir=${folder}`],
    async report() {
      for (const file of await readdir(folder)) {
        const { total, idle, top } = selfTimes(JSON.parse(await readFile(path.join(folder, file), 'utf8')));
        say.title(
          `${path.join(folder, file)}: ${(total / 1e6).toFixed(2)} s, ${((idle / total) * 100).toFixed(0)}% idle`,
        );
        say.line(table(['function', 'self ms', '%'], top));
      }
      const statements = await sql.rows(
        `select calls::int, round(total_exec_time)::int as ms, round((total_exec_time / greatest(calls, 1))::numeric, 3)::text as mean,
           round((total_plan_time / greatest(calls, 1))::numeric, 3)::text as plan, rows::int, wal_bytes::bigint / 1024 as wal,
           left(regexp_replace(query, '\\s+', ' ', 'g'), 110) as query
         from pg_stat_statements where calls > 0 and query !~* '^(vacuum|checkpoint|create database|drop database)' order by total_exec_time + total_plan_time desc limit 12`,
      );
      say.title('statements');
      say.line(
        table(
          ['statement', 'calls', 'ms', 'ms each', 'planning each', 'rows', 'WAL KiB'],
          statements.map(each => [
            each.query,
            each.calls,
            each.ms,
            each.mean,
            each.plan,
            each.rows,
            each.wal,
          ]),
        ),
      );
      const wal = await sql.one(
        `select sum(fsyncs)::int as syncs, round(sum(fsync_time))::int as ms, sum(writes)::int as writes, round(sum(write_time))::int as write_ms
         from pg_stat_io where object = 'wal'`,
      );
      say.line(`WAL: ${wal.syncs} syncs in ${wal.ms} ms, ${wal.writes} writes in ${wal.write_ms} ms`);
      await sql.close();
    },
  };
}

function selfTimes({ nodes, samples, timeDeltas }) {
  const names = new Map(
    nodes.map(({ id, callFrame }) => [
      id,
      `${callFrame.functionName || '(anonymous)'} ${path.basename(callFrame.url)}:${callFrame.lineNumber + 1}`,
    ]),
  );
  const times = new Map();
  let total = 0;
  samples.forEach((id, index) => {
    const name = names.get(id);
    times.set(name, (times.get(name) ?? 0) + timeDeltas[index]);
    total += timeDeltas[index];
  });
  const sorted = [...times].sort((a, b) => b[1] - a[1]);
  const idle = sorted.find(([name]) => name.startsWith('(idle)'))?.[1] ?? 0;
  const top = sorted
    .slice(0, MOST)
    .map(([name, us]) => [name, (us / 1000).toFixed(0), ((us / total) * 100).toFixed(1)]);
  return { total, idle, top };
}
