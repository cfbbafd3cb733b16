// Runs that end all the while.
// In: a Tock. Out: traffic, and what was lost or doubled of it, or complained of.
import type { Daemon } from '../../src/daemon/daemon.js';
import { defineJob, type Tock } from '../../src/index.js';
import { collectLines } from '../support/lines.js';
import { type TestTock, until } from '../support/test-tock.js';

export const noop = defineJob({ name: 'noop', retry: { maxAttempts: 1 }, run: () => null });

export type Traffic = Awaited<ReturnType<typeof startTraffic>>;

export interface Complaints {
  readonly logged: readonly unknown[];
  /** Runs that did not succeed, or not at their first attempt, or that are there twice. */
  readonly astray: number;
}

export const NONE: Complaints = { logged: [], astray: 0 };

const EVERY_MS = 33;
const AT_ONCE = 2;

/** Begins it, and waits until the first runs have ended. */
export async function startTraffic(test: Pick<TestTock, 'another' | 'sql'>) {
  const { logger, warnings } = collectLines();
  const failures: unknown[] = [];
  const worker: Tock = test.another({ logger });
  const daemon: Daemon = await worker.start({ concurrency: 20 });
  const app = test.another();
  const ids: string[] = [];
  const pending = new Set<Promise<unknown>>();
  const timer = setInterval(() => {
    const sent = app
      .enqueueMany(Array.from({ length: AT_ONCE }, () => ({ job: noop })))
      .then(
        made => void ids.push(...made),
        (error: unknown) => void failures.push(error),
      )
      .finally(() => pending.delete(sent));
    pending.add(sent);
  }, EVERY_MS);
  const seen = async () => {
    const [row] = await test.sql<{ good: number; rows: number }>(
      `select count(*) filter (where status = 'succeeded' and attempts = 1)::int as good, count(*)::int as rows
       from tock.job_runs where id = any($1::bigint[])`,
      [ids],
    );
    return row ?? { good: 0, rows: 0 };
  };
  let stopped: Promise<Complaints> | undefined;
  const stop = async () => {
    clearInterval(timer);
    await Promise.all(pending);
    const live = async () =>
      (await test.sql(`select from tock.job_runs_live where job = 'noop'`)).length === 0;
    await until(live, 'the traffic to end');
    await daemon.stop();
    const { good, rows } = await seen();
    return {
      logged: [...warnings, ...failures],
      astray: Math.abs(ids.length - good) + Math.abs(rows - ids.length),
    };
  };
  const flows = async (after: string) => {
    const { good } = await seen();
    await until(async () => (await seen()).good >= good + 25, `runs to end after ${after}`);
  };
  await flows('the start');
  return {
    /** Lets what is under way end. Returns what went wrong: nothing, if each run has ended once, at its first attempt. */
    stop: () => (stopped ??= stop()),
    /** How many runs were enqueued. */
    count: () => ids.length,
    /** Resolves when some more runs have ended. */
    flows,
  };
}
