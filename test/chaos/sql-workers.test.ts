// A queue that is relayed to sql, while daemons and workers in TypeScript and Python are killed at random: each effect once,
// and none lost. TOCK_CHAOS_SEED repeats the order of the kills; TOCK_SQL_RUNS makes it longer.
import { createRequire } from 'node:module';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterEach, describe, expect, it } from 'vitest';
import { createTock } from '../../src/index.js';
import { random } from '../model/schedule/random.js';
import { keepRunning, startKillable } from '../support/killable-process.js';
import { CLI, writeJobs } from '../support/processes.js';
import { hasNoPsycopg, PYTHON } from '../support/python.js';
import { sqlAt } from '../support/sql-at.js';
import { until } from '../support/until.js';
import { openOwnServer } from './servers.js';

const seed = Number(process.env['TOCK_CHAOS_SEED'] ?? Math.floor(Math.random() * 2 ** 31));
const RUNS = Number(process.env['TOCK_SQL_RUNS'] ?? 2000);
const KILLS = Math.max(12, Math.floor(RUNS / 500));
const WORKERS = path.join(import.meta.dirname, 'sql-workers');

const closing: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).toReversed()) await close();
});

describe.skipIf(hasNoPsycopg())('workers that speak SQL', () => {
  it('do each run once, whoever is killed', async () => {
    console.log(`TOCK_CHAOS_SEED=${seed}`);
    const lots = random(seed);
    const server = await openOwnServer();
    closing.push(() => server.remove());
    const tock = createTock({ connectionString: server.url, logger: false });
    closing.push(() => tock.close());
    await tock.migrate();
    await tock.queues.set('work', { relay: 'sql' });
    const sql = <Row>(text: string, values?: unknown[]) => sqlAt<Row>(server.url, text, values);
    // No key that would refuse a second one.
    await sql('create table effects (n integer not null, by text not null)');

    const require = createRequire(import.meta.url);
    const node = await writeJobs(
      `import { work } from ${JSON.stringify(pathToFileURL(path.join(WORKERS, 'worker.mjs')).href)};\n` +
        `import pg from ${JSON.stringify(pathToFileURL(require.resolve('pg')).href)};\nawait work(pg);\n`,
    );
    const jobs = await writeJobs('export const jobs = [];\n');
    const env = { DATABASE_URL: server.url, TOCK_JOBS: jobs, HOME: '/' };
    const daemon = () => startKillable(process.execPath, [CLI, 'start'], env);
    const python = () => startKillable(PYTHON, [path.join(WORKERS, 'worker.py')], env);
    const typescript = () => startKillable(process.execPath, [node], env);
    const processes = [daemon, daemon, python, python, typescript, typescript].map(start =>
      keepRunning(start, closing),
    );

    const begunAt = performance.now();
    for (let from = 1; from <= RUNS; from += 1000)
      await sql(
        `select tock.enqueue('count', jsonb_build_object('n', n), queue => 'work', max_attempts => 1000)
             from generate_series($1::int, $2::int) n`,
        [from, Math.min(from + 999, RUNS)],
      );
    const count = async (text: string) =>
      (await sql<{ count: number }>(`select count(*)::int as count from ${text}`))[0]?.count ?? 0;
    const done = () => count('effects');
    for (let kill = 1; kill <= KILLS; kill++) {
      const target = Math.floor((RUNS * kill) / (KILLS + 1));
      await until(async () => (await done()) >= target, `${target} effects`, 600_000);
      await lots.pick(processes).killAndStart();
    }
    await until(
      async () => (await count(`tock.job_runs where status = 'succeeded'`)) === RUNS,
      'all runs to end',
      600_000,
    ).catch(async (error: unknown) => {
      console.log(await sql('select status, count(*)::int from tock.job_runs group by 1'));
      console.log(processes.map(each => each.output().slice(-1500)).join('\n---\n'));
      throw error;
    });
    const seconds = (performance.now() - begunAt) / 1000;

    const [row] = await sql(
      'select count(*)::int as effects, count(distinct n)::int as different, min(n) as first, max(n) as last from effects',
    );
    expect(row).toEqual({ effects: RUNS, different: RUNS, first: 1, last: RUNS });
    expect(await count('tock.job_runs')).toBe(RUNS);
    expect(await count('tock.job_offers')).toBe(0);
    const by = await sql<{ by: string }>('select by, count(*)::int from effects group by by order by by');
    expect(by.map(row => row.by)).toEqual(['python', 'typescript']);
    const [work] = (await tock.status()).handOffs;
    expect(work?.completed).toBe(RUNS);
    expect(work?.handedOff).toBe(RUNS + (work?.failed ?? 0) + (work?.leaseEnded ?? 0));
    console.log(
      `${RUNS} runs, ${KILLS} kills, ${seconds.toFixed(0)} s: ${JSON.stringify(by)} ${JSON.stringify(work)}`,
    );
  }, 1_800_000);
});
