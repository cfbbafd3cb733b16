// Where the time goes: --cpu-prof of the workers, pg_stat_statements of the server.
// In: a server with pg_stat_statements loaded. Out: Node flags; a report of the functions and statements that took most.
import { mkdtemp, readdir, readFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { table } from '../figures.mjs';
import { connect } from './database.mjs';

const MOST = 25;

export async function profile(url, say) {
  const folder = await mkdtemp(path.join(os.tmpdir(), 'tock-profile-'));
  const sql = await connect(url);
  await sql.rows('create extension if not exists pg_stat_statements');
  await sql.rows('select pg_stat_statements_reset()');
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
        `select calls::int, round(total_exec_time)::int as ms, round((total_exec_time / calls)::numeric, 3)::text as mean, rows::int,
           left(regexp_replace(query, '\\s+', ' ', 'g'), 110) as query
         from pg_stat_statements where query !~* '^(vacuum|checkpoint|create database|drop database)' order by total_exec_time desc limit 20`,
      );
      say.title('statements');
      say.line(
        table(
          ['statement', 'calls', 'ms', 'ms each', 'rows'],
          statements.map(each => [each.query, each.calls, each.ms, each.mean, each.rows]),
        ),
      );
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
  const top = sorted.slice(0, MOST).map(([name, us]) => [name, (us / 1000).toFixed(0), ((us / total) * 100).toFixed(1)]);
  return { total, idle, top };
}
