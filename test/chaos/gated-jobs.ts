// Jobs whose handlers begin, and end when a file is there; each call is on record. And a schedule of each second.
// In: the names of two files, as CALLS and GATE in the environment. Out: the text of a job module, the two files, processes that
// execute it; and whether all of it was done once.
import { existsSync } from 'node:fs';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect } from 'vitest';
import { type Running, startProcess, writeJobs } from '../support/processes.js';
import { type TestTock, until } from '../support/test-tock.js';

export type GatedJobs = Awaited<ReturnType<typeof openGatedJobs>>;

const JOBS = `
import { appendFileSync, existsSync } from 'node:fs';
import { randomBytes } from 'node:crypto';
const retry = { maxAttempts: 10, base: '200ms', backoff: 'fixed' };
export const jobs = [
  { kind: 'tock.job', name: 'gated', retry, async run(ctx) {
    appendFileSync(process.env.CALLS, ctx.runId + '\\n');
    while (!existsSync(process.env.GATE)) await new Promise(resolve => setTimeout(resolve, 20));
    return ctx.runId + randomBytes(20_000).toString('hex');
  } },
  { kind: 'tock.job', name: 'secondly', retry, schedule: { every: '1s', catchup: 'all', overlap: 'allow_all' }, run: () => null },
];`;

/** Writes the job module. */
export async function openGatedJobs() {
  const folder = await mkdtemp(path.join(tmpdir(), 'tock-gate-'));
  const [calls, gate] = [path.join(folder, 'calls'), path.join(folder, 'gate')];
  return {
    /** What a process that executes them needs in its environment. */
    env: { TOCK_JOBS: await writeJobs(JOBS), CALLS: calls, GATE: gate },
    /** Ids of the runs of `gated`, one for each call of its handler. Not in the database, which may not take them. */
    calls: async () => (existsSync(calls) ? (await readFile(calls, 'utf8')).trim().split('\n') : []),
    /** Lets them end. */
    open: () => writeFile(gate, ''),
    remove: () => rm(folder, { recursive: true, force: true }),
  };
}

/** Starts one that may hold all runs at once, and loses none, however long it has to wait. */
export function startGated(
  jobs: GatedJobs,
  env: { readonly DATABASE_URL: string; readonly TOCK_LOG_LEVEL: string },
  script: string,
  args: readonly string[] = [],
): Running {
  const patient = { TOCK_HEARTBEAT: '1s', TOCK_LEASE: '10m', TOCK_CONCURRENCY: '50' };
  return startProcess(script, { ...patient, ...env, ...jobs.env }, args);
}

/** How often a process has logged an event. */
export const said = ({ output }: Running, event: string): number =>
  output().split(`"event":"${event}"`).length - 1;

/** Waits until so many runs of `gated` have succeeded, each at its first attempt, with its own output. */
export async function expectGatedOnce(jobs: GatedJobs, sql: TestTock['sql'], runs: number): Promise<void> {
  await until(
    async () =>
      (await sql(`select from tock.job_runs where job = 'gated' and status = 'succeeded'`)).length === runs,
    'all outcomes to be written',
  );
  expect(await jobs.calls()).toHaveLength(runs);
  expect(
    await sql(`select count(*)::int as runs, count(distinct output)::int as outputs, max(attempts) as attempts, max(fence) as fence,
      bool_and(starts_with(output #>> '{}', id::text)) as own, max(jsonb_array_length(errors)) as errors
      from tock.job_runs where job = 'gated'`),
  ).toEqual([{ runs, outputs: runs, attempts: 1, fence: 1, own: true, errors: 0 }]);
}

/** Each second of the schedule `secondly` has had one run that succeeded. @param which runs have to be such */
export async function expectEachSecond(sql: TestTock['sql'], which = `status = 'succeeded'`): Promise<void> {
  const [row] = await sql<{ runs: number; span: number }>(
    `select count(*)::int as runs, count(distinct scheduled_for)::int as different,
       extract(epoch from max(scheduled_for) - min(scheduled_for))::int as span, min(status) as least
     from tock.job_runs where job = 'secondly' and ${which}`,
  );
  expect(row).toMatchObject({ runs: (row?.span ?? 0) + 1, different: row?.runs, least: 'succeeded' });
}
