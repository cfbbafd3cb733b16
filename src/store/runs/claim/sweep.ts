// The sweep: finds claimable runs below the watermarks from which a worker's claims start.
import type { Session } from '../../connection/database.js';
import { opaqueToPlanner, statement } from '../../connection/statement.js';
import { mayStart } from '../../definitions/freeze/frozen.js';
import {
  isClaimable,
  isQueueLimited,
  isQueueOpen,
  liesIn,
  WATERMARKS,
  type Watermark,
  type WatermarkParameters,
  watermarkParameters,
} from './queue-lanes.js';

interface Row {
  readonly isMine: boolean;
  readonly found: readonly Watermark[];
}

// The turn is only a hint: two workers may get it at the same instant, since it is read and set outside of
// transactions. So the commit does not wait for the disk.
//
// Queues with a limit have no watermark.
const SWEEP = statement<WatermarkParameters & { readonly pauseMs: number | null }, Row>(
  'sweep',
  `
with turn as materialized (
  select ${opaqueToPlanner('pauseMs', 'float8')} is null or case when now.ms >= last.last_value + :pauseMs::float8 or now.ms < last.last_value
    then setval('tock.swept_at', now.ms) is not null else false end as is_mine
  from tock.swept_at last, (select (extract(epoch from tock.now()) * 1000)::bigint as ms) now
), missed as materialized (
  select m.queue, m.priority, b.run_at, b.id
  from turn t cross join ${WATERMARKS} left join tock.job_queues q on q.name = m.queue
  cross join lateral (
    select r.run_at, r.id from tock.job_runs_live r
    where t.is_mine and ${liesIn('r', 'm')} and ${isClaimable('r')} and (r.run_at, r.id) <= (m.after_at, m.after_id)
    order by r.run_at, r.id limit 1) b
  where ${mayStart('m.queue')} and ${isQueueOpen('q')} and not ${isQueueLimited('q')}
)
select set_config('synchronous_commit', 'off', true) as "commit", (select t.is_mine from turn t) as "isMine",
  (select coalesce(json_agg(json_build_object('queue', b.queue, 'priority', b.priority, 'at', b.run_at, 'id', b.id::text)), '[]') from missed b) as found`,
  { prepared: true },
);

/**
 * Reads the first claimable run below each watermark. Such a run was given back or unblocked, was enqueued
 * for the past or by a transaction that was committed late, or was locked by another session. The sweep may
 * read the entries of many ended runs. Locks nothing. To be called outside of any transaction.
 *
 * @param pauseMs if another worker has swept within this time, it is not the caller's turn, and the answer is
 * null. Null: it is always the caller's turn, as for a worker that does not claim from all queues
 */
export async function sweepBelowWatermarks(
  session: Session,
  watermarks: readonly Watermark[],
  pauseMs: number | null = null,
): Promise<readonly Watermark[] | null> {
  if (watermarks.length === 0) return [];
  const row = await SWEEP.first(session, { ...watermarkParameters(watermarks), pauseMs });
  return row?.isMine ? row.found : null;
}
