// How long claims look for due runs, and what lies below the floors from which they begin.
import type { Session } from '../../connection/database.js';
import { statement } from '../../connection/statement.js';
import {
  type ClaimFloor,
  type FloorParameters,
  floorParameters,
  isClaimable,
  isQueueOpen,
  liesIn,
} from './queue-priorities.js';

/** Milliseconds since the statement began, by the server's own clock: how much is done, not what is due. */
export const walkedMs = `(extract(epoch from clock_timestamp() - statement_timestamp()) * 1000)::float8`;

const BELOW_FLOORS = statement<FloorParameters, Below>(
  'below-floors',
  `
with below as materialized (
  select exists (
    select from unnest(:floorQueues::text[], :floorPriorities::integer[], :floorTimes::timestamptz[]) as f(queue, priority, floor_at)
    left join tock.job_queues q on q.name = f.queue
    cross join lateral (
      select from tock.job_runs_live r
      where ${liesIn('r', 'f')} and ${isClaimable('r')} and r.run_at <= f.floor_at
      order by r.run_at, r.id limit 1) b
    where ${isQueueOpen('q')}) as has_runs
)
select b.has_runs as "hasRuns", ${walkedMs} as "walkMs" from below b`,
);

export interface Below {
  /** Whether there are runs that could be claimed. */
  readonly hasRuns: boolean;
  /** For how long the server looked, in milliseconds. */
  readonly walkMs: number;
}

/** Looks for runs below these floors. It may walk far. Locks nothing. */
export async function readBelow(session: Session, floors: readonly ClaimFloor[]): Promise<Below> {
  const below = await BELOW_FLOORS.first(session, floorParameters(floors));
  return below ?? { hasRuns: false, walkMs: 0 };
}
