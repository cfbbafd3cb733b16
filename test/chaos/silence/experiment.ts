// A burst by lot, then silence; then it is judged whether any run was passed over.
// In: a seed, and the daemon's bundle. Out: what is wrong, and what there was to be judged.
import pg from 'pg';
import { type Running, startProcess } from '../../support/processes.js';
import { openTestTock, until } from '../../support/test-tock.js';
import { type Asker, type Judged, judge, readQuestions, type Said } from './check.js';
import type { DaemonWish } from './daemon.js';
import { NEWER, OLDER } from './jobs.js';
import { makePlan, NARROW, QUEUES, type Step } from './plan.js';
import { readChanges, recordChanges } from './record.js';

/** Three polls of a daemon that listens, which are five seconds apart; from when the last run is due. */
const SILENCE_MS = 17_000;
/** When nothing waits any more, nothing can be passed over. */
const LOOK_MS = 500;

const sleep = (ms: number) => new Promise<void>(resolve => setTimeout(resolve, ms));

interface Process extends DaemonWish {
  readonly app: string;
  readonly running: Running;
  endedAt: number | null;
}

export interface Experiment extends Judged {
  readonly seed: number;
  readonly runs: number;
  readonly questions: number;
  readonly tookMs: number;
}

export async function runExperiment(bundle: string, seed: number): Promise<Experiment> {
  const begunAt = performance.now();
  const plan = makePlan(seed);
  const test = await openTestTock(NEWER);
  const { tock, sql } = test;
  const processes: Process[] = [];
  const start = (wish: DaemonWish) => {
    const app = `daemon-${processes.length + 1}`;
    const url = new URL(test.url);
    url.searchParams.set('application_name', app);
    const running = startProcess(bundle, { DATABASE_URL: url.href, DAEMON: JSON.stringify(wish) });
    processes.push({ ...wish, app, running, endedAt: null });
  };

  const enqueue = async ({ runs, heldMs, notifies }: Extract<Step, { kind: 'enqueue' }>) => {
    const client = new pg.Client({ connectionString: test.url });
    await client.connect();
    try {
      if (heldMs !== null) await client.query('begin');
      if (!notifies) await client.query(`set pg_tock.notify = off`);
      for (const { job, payload, inMs, key, replaces, ...rest } of runs)
        await tock.enqueue(job, payload, {
          client,
          ...rest,
          ...(inMs !== null && { runAt: new Date(Date.now() + inMs) }),
          ...(key !== null && { key: `${job} ${key}`, unique: 'live', replace: replaces }),
        });
      if (heldMs !== null) {
        await sleep(heldMs);
        await client.query('commit');
      }
    } catch (error) {
      // Two transactions replace the same runs in different orders.
      if ((error as { code?: string }).code !== '40P01') throw error;
    } finally {
      await client.end();
    }
  };
  const take = async (step: Step) => {
    await sleep(step.atMs);
    if (step.kind === 'enqueue') return await enqueue(step);
    if (step.kind === 'pause') {
      await tock.queues.pause(step.queue);
      await sleep(step.forMs);
      await tock.queues.resume(step.queue);
      return;
    }
    const process = processes[step.daemon];
    if (process !== undefined) {
      process.endedAt = Date.now();
      process.running.child.kill(step.kind === 'kill' ? 'SIGKILL' : 'SIGTERM');
    }
    if (step.next !== null) start(step.next);
  };
  const askerOf = ({ app, concurrency, isOlder, running, endedAt }: Process): Asker => {
    // The last line may be cut off.
    const lines = running.output().split('\n').slice(0, -1);
    const said = lines.map(line => JSON.parse(line) as Said);
    return {
      app,
      endedAt,
      id: said.flatMap(each => ('worker' in each ? [each.worker] : []))[0] ?? '',
      concurrency,
      jobs: (isOlder ? OLDER : NEWER).map(job => job.name),
      questions: readQuestions(said),
    };
  };
  const isQuiet = async () =>
    (await sql(`select from tock.job_runs_live where status <> 'running'`)).length === 0;

  try {
    await recordChanges(sql);
    await tock.queues.set('narrow', { concurrency: NARROW });
    plan.daemons.forEach(start);
    await until(async () => processes.every(each => askerOf(each).id !== ''), 'the daemons to start', 60_000);
    // So that claims start at watermarks.
    for (const queue of QUEUES)
      for (const job of ['plain', 'new']) await tock.enqueue(job, { ms: 1 }, { queue });
    await until(isQuiet, 'the first runs to start', 60_000);
    await Promise.all(plan.steps.map(take));
    for (let waited = 0; waited < SILENCE_MS && !(await isQuiet()); waited += LOOK_MS) await sleep(LOOK_MS);
    const endsAt = Date.now();
    for (const { running } of processes) running.child.kill('SIGKILL');
    await Promise.all(processes.map(each => each.running.ended));
    const changes = await readChanges(sql);
    const askers = processes.map(askerOf).filter(each => each.id !== '');
    return {
      seed,
      ...judge(changes, askers, endsAt),
      runs: new Set(changes.flatMap(({ place, id }) => (place === 'run' ? [id] : []))).size,
      questions: askers.reduce((sum, { questions }) => sum + questions.length, 0),
      tookMs: Math.round(performance.now() - begunAt),
    };
  } finally {
    for (const { running } of processes) running.child.kill('SIGKILL');
    await Promise.all(processes.map(each => each.running.ended));
    await test.close();
  }
}
