// What every page of the dashboard shows around its content: the database's time, and a few counts.
import {
  type Freeze,
  type FrozenSpan,
  readFrozen,
  readSpan,
  type StoredFreeze,
  type StoredSpan,
} from '../../../model/freeze/freeze.js';
import { MAX_COUNTED } from '../../../model/run/match/run-match.js';
import type { Session } from '../../connection/database.js';
import { statement } from '../../connection/statement.js';
import { instant } from '../../connection/values/readable-instant.js';
import { FREEZE_JSON, FROZEN_SPANS } from '../../definitions/freeze/frozen.js';
import { REPLICA_LAG_MS } from '../replica-lag.js';
import { SEEN } from './pulse.js';

export interface Frame {
  /** The database's time. */
  readonly now: Date;
  /** What had been committed on the server; the same as long as nothing more is. */
  readonly seen: string;
  readonly database: string;
  readonly serverVersion: string;
  /** Definitions that make runs, or would if they were not paused; at most 10,001. */
  readonly schedules: number;
  /** Dead runs of the last 24 hours; at most one more than MAX_COUNTED. */
  readonly dead: number;
  readonly workers: number;
  /** Paused queues. */
  readonly pausedQueues: number;
  /** Alerts that are down. */
  readonly alertsDown: number;
  /** How far the replica that was read is behind, in milliseconds; null: it is the primary. */
  readonly replicaLagMs: number | null;
  /** Null: nothing is frozen. */
  readonly frozen: Freeze | null;
  /** Time that waits do not count, the earliest first. */
  readonly frozenSpans: readonly FrozenSpan[];
}

type Row = Omit<Frame, 'frozen' | 'frozenSpans'> & {
  readonly frozen: StoredFreeze | null;
  readonly frozenSpans: readonly StoredSpan[];
};

const READ_FRAME = statement<object, Row>(
  'read-frame',
  `
select ${instant('tock.now()')} as now, ${SEEN} as seen, current_database() as database,
  split_part(current_setting('server_version'), ' ', 1) as "serverVersion",
  (select count(*)::int from (select from tock.job_definitions where (next_at is not null or after is not null)
    and vanished_at is null limit 10001) d) as schedules,
  (select count(*)::int from (select from tock.job_runs_finished where status = 'dead'
    and finished_at > tock.now() - interval '24 hours' and finished_at <= tock.now() limit ${MAX_COUNTED + 1}) r) as dead,
  (select count(*)::int from tock.workers) as workers,
  (select count(*)::int from tock.job_queues where paused_at is not null) as "pausedQueues",
  (select count(*)::int from (select from tock.alert_states where status = 'down' limit ${MAX_COUNTED + 1}) s) as "alertsDown",
  ${REPLICA_LAG_MS} as "replicaLagMs", ${FREEZE_JSON} as frozen,
  coalesce((select json_agg(s) from (${FROZEN_SPANS}) s), '[]') as "frozenSpans"`,
);

/** One statement, about a millisecond whatever the number of runs. */
export async function readFrame(session: Session): Promise<Frame> {
  const frame = await READ_FRAME.first(session, {});
  if (frame === undefined) throw new Error('the frame query gave no row');
  return { ...frame, frozen: readFrozen(frame.frozen), frozenSpans: frame.frozenSpans.map(readSpan) };
}
