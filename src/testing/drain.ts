// Executes what is due, until nothing is.
import { TockError } from '../model/errors.js';
import type { RunRecord } from '../model/run/run-record.js';
import type { Database } from '../store/connection/database.js';
import type { Tock } from '../tock/types.js';
import type { LogLine } from './captured-logs.js';

/** Options of `drain`. */
export interface DrainOptions {
  /** The most attempts before TOCK_BAD_STATE: jobs seem to enqueue each other forever. Default 1000. */
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

/** Records the runs that have ended, so that each drain finds the new ones. */
export const CREATE_ENDED_RUNS =
  'create table tock.test_ended (run_id bigint, generation integer, primary key (run_id, generation))';
const RECORD_ENDED = `
insert into tock.test_ended select id, generation from tock.job_runs_finished on conflict do nothing
returning run_id::text as id`;

/**
 * Ticks at the clock's current time until a tick finds nothing to do. Returns the runs that ended meanwhile,
 * in that order.
 * @throws TockError TOCK_BAD_STATE after more than `limit` attempts; it names the job
 */
export async function drain(
  { tock, database, listen }: Drained,
  { limit = DEFAULT_LIMIT, ...rest }: DrainOptions = {},
): Promise<RunRecord[]> {
  await database.run(RECORD_ENDED);
  const controller = new AbortController();
  const claims = new Map<string, number>();
  let total = 0;
  const unlisten = listen(({ event, fields }) => {
    if (event !== 'run.claimed') return;
    const job = String(fields['job']);
    claims.set(job, (claims.get(job) ?? 0) + 1);
    if (++total > limit) controller.abort();
  });
  try {
    for (let ticks = 1; ; ticks++) {
      const summary = await tock.tick({ budget: '1h', ...rest, signal: controller.signal });
      if (total > limit || ticks > limit) throw withoutEnd(limit, claims);
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

function withoutEnd(limit: number, claims: ReadonlyMap<string, number>): TockError {
  const [most] = [...claims].sort(([, a], [, b]) => b - a);
  const what = most ? `, ${most[1]} of them of job ${most[0]}` : '';
  return new TockError(
    'TOCK_BAD_STATE',
    `the drain has executed over ${limit} attempts${what}, and more are due: if jobs do not enqueue each other forever, raise its limit`,
  );
}
