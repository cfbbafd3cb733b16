// What every page of the dashboard shows around its content: the database's time, and a few counts.
import type { Session } from '../../connection/database.js';
import { statement } from '../../connection/statement.js';
import { instant } from '../../connection/values/readable-instant.js';
import { REPLICA_LAG_MS } from '../replica-lag.js';

export interface Frame {
  /** The database's time. */
  readonly now: Date;
  readonly database: string;
  readonly serverVersion: string;
  /** Definitions that make runs, or would if they were not paused; at most 10,001. */
  readonly schedules: number;
  /** Dead runs of the last 24 hours; at most 1,001. */
  readonly dead: number;
  readonly workers: number;
  /** Paused queues. */
  readonly pausedQueues: number;
  /** How far the replica that was read is behind, in milliseconds; null: it is the primary. */
  readonly replicaLagMs: number | null;
}

const READ_FRAME = statement<object, Frame>(
  'read-frame',
  `
select ${instant('tock.now()')} as now, current_database() as database,
  split_part(current_setting('server_version'), ' ', 1) as "serverVersion",
  (select count(*)::int from (select from tock.job_definitions where (next_at is not null or after is not null)
    and vanished_at is null limit 10001) d) as schedules,
  (select count(*)::int from (select from tock.job_runs_finished where status = 'dead'
    and finished_at > tock.now() - interval '24 hours' limit 1001) r) as dead,
  (select count(*)::int from tock.workers) as workers,
  (select count(*)::int from tock.job_queues where paused_at is not null) as "pausedQueues",
  ${REPLICA_LAG_MS} as "replicaLagMs"`,
);

/** One statement, about a millisecond whatever the number of runs. */
export async function readFrame(session: Session): Promise<Frame> {
  const frame = await READ_FRAME.first(session, {});
  if (frame === undefined) throw new Error('the frame query gave no row');
  return frame;
}
