// Jobs whose handlers begin, and end when a file is there; each call is on record.
// In: the names of two files, as CALLS and GATE in the environment. Out: the text of a job module, and the two files.
import { existsSync } from 'node:fs';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { writeJobs } from '../support/processes.js';

export interface GatedJobs {
  /** What a process that executes them needs in its environment. */
  readonly env: Readonly<Record<string, string>>;
  /** Ids of the runs of `gated`, one for each call of its handler. Not in the database, which may not take them. */
  calls(): Promise<readonly string[]>;
  /** Lets them end. */
  open(): Promise<void>;
  remove(): Promise<void>;
}

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
export async function openGatedJobs(): Promise<GatedJobs> {
  const folder = await mkdtemp(path.join(tmpdir(), 'tock-gate-'));
  const [calls, gate] = [path.join(folder, 'calls'), path.join(folder, 'gate')];
  return {
    env: { TOCK_JOBS: await writeJobs(JOBS), CALLS: calls, GATE: gate },
    calls: async () => (existsSync(calls) ? (await readFile(calls, 'utf8')).trim().split('\n') : []),
    open: () => writeFile(gate, ''),
    remove: () => rm(folder, { recursive: true, force: true }),
  };
}
