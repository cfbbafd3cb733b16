// Executes what is due, until nothing is.
import { TockError } from '../model/errors.js';
import type { RunRecord } from '../model/run/run-record.js';
import type { Database } from '../store/connection/database.js';
import type { Tock } from '../tock/types.js';
import type { LogLine } from './captured-logs.js';

/** Options of `drain`. */
export interface DrainOptions {
  /**
   * The most attempts of one run, and a hundred times as many of all runs, before TOCK_BAD_STATE: jobs seem
   * to enqueue each other forever. Default 1000.
   */
  readonly limit?: number;
  /** Most runs at once. Default 10. */
  readonly concurrency?: number;
  /** Only runs of these queues. Default: all. */
  readonly queues?: readonly string[];
}

export interface Drained {
  readonly tock: Tock;
  readonly database: Database;
  /** Calls the listener with each line that is logged, until the returned function is called. */
  readonly listen: (listener: (line: LogLine) => void) => () => void;
}

const DEFAULT_LIMIT = 1000;
const ALL_RUNS = 100;

/** Records the runs that have ended, so that each drain finds the new ones. */
export const CREATE_ENDED_RUNS =
  'create table tock.test_ended (run_id bigint, generation integer, primary key (run_id, generation))';
const RECORD_ENDED = `
insert into tock.test_ended select id, generation from tock.job_runs_finished on conflict do nothing
returning run_id::text as id`;

/**
 * Ticks at the clock's current time until a tick finds nothing to do. Returns the runs that ended meanwhile,
 * in that order.
 * @throws TockError TOCK_BAD_STATE after too many attempts, see `limit`; it names the job
 */
export async function drain(
  { tock, database, listen }: Drained,
  { limit = DEFAULT_LIMIT, ...rest }: DrainOptions = {},
): Promise<RunRecord[]> {
  await database.run(RECORD_ENDED);
  const controller = new AbortController();
  const ofJobs = new Map<string, number>();
  const ofRuns = new Map<string, number>();
  const most = limit * ALL_RUNS;
  let total = 0;
  let isOver = false;
  const unlisten = listen(({ event, fields }) => {
    if (event !== 'run.claimed') return;
    if (count(ofRuns, fields['run_id']) > limit || ++total > most) isOver = true;
    count(ofJobs, fields['job']);
    if (isOver) controller.abort();
  });
  try {
    for (let ticks = 1; ; ticks++) {
      const summary = await tock.tick({ budget: '1h', ...rest, signal: controller.signal });
      if (isOver || ticks > limit) throw withoutEnd(total, ofJobs);
      const { executed, materialized, reaped } = summary;
      const taken = reaped.failed + reaped.dead + reaped.cancelled;
      if (executed.claimed + materialized.definitions + taken === 0) break;
    }
  } finally {
    unlisten();
  }
  const ended = await database.run<{ id: string }>(RECORD_ENDED);
  const runs: RunRecord[] = [];
  for (const { id } of ended) {
    const run = await tock.runs.get(id);
    if (run) runs.push(run);
  }
  return runs.sort(byEnd);
}

function byEnd(a: RunRecord, b: RunRecord): number {
  const apart = (a.finishedAt?.getTime() ?? 0) - (b.finishedAt?.getTime() ?? 0);
  return apart === 0 ? Number(BigInt(a.id) - BigInt(b.id)) : apart;
}

function count(counts: Map<string, number>, of: unknown): number {
  const counted = (counts.get(String(of)) ?? 0) + 1;
  counts.set(String(of), counted);
  return counted;
}

function withoutEnd(total: number, ofJobs: ReadonlyMap<string, number>): TockError {
  const [most] = [...ofJobs].sort(([, a], [, b]) => b - a);
  const what = most ? `, ${most[1]} of them of job ${most[0]}` : '';
  return new TockError(
    'TOCK_BAD_STATE',
    `the drain has executed ${total} attempts${what}, and more are due: if jobs do not enqueue each other forever, raise its limit`,
  );
}
