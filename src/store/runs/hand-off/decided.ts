// Outcomes of runs that were handed off, as tock.complete and tock.fail have kept them.
//
// They are read without a lock, written as those of any holder, under the run's fence, and marked afterwards.
// A process that dies in between leaves them unmarked: the next one finds no such run and marks them.
import type { HandOffDecision } from '../../../model/run/hand-off-record.js';
import { HANDED_OFF } from '../../../model/run/states.js';
import type { Session } from '../../connection/database.js';
import { statement } from '../../connection/statement.js';
import { readable } from '../../connection/values/readable-instant.js';
import { fencedBatch, type Held } from '../transition.js';
import { isUnwritten } from './handed-off.js';

/** What was decided, and the run. */
export interface Decided extends Held {
  readonly decision: HandOffDecision;
  readonly output: unknown;
  /** `message`, and what else the other side has said of the error; null unless it failed. */
  readonly error: Readonly<Record<string, unknown>> | null;
  /** When to try again, if the other side has said so. */
  readonly retry_in_ms: number | null;
  /** Null: the run has left this fence in the meantime, or its outcome is written. */
  readonly job: string | null;
  readonly definition: string | null;
  readonly attempts: number;
  readonly max_attempts: number;
  /** In epoch milliseconds. */
  readonly scheduled_for: number | null;
  readonly trigger: string;
  readonly duration_ms: number;
}

/** Where to go on reading: after this run and fence. */
export type AfterDecided = Pick<Decided, 'id' | 'fence'>;

export const FIRST_DECIDED: AfterDecided = { id: '0', fence: 0 };

interface Page {
  readonly limit: number;
  readonly maxBytes: number;
  readonly afterId: string;
  readonly afterFence: number;
}

const READ_DECIDED = statement<Page, Decided>(
  'read-decided',
  `
select h.run_id::text as id, h.fence, h.decision, h.output, h.error,
  case when h.retry_at is not null then greatest(0, extract(epoch from h.retry_at - tock.now()) * 1000)::float8 end as retry_in_ms,
  r.job, d.name as definition, coalesce(r.attempts, 0) as attempts, coalesce(r.max_attempts, 0) as max_attempts,
  (extract(epoch from ${readable('r.scheduled_for')}) * 1000)::float8 as scheduled_for, coalesce(r.trigger, 'api') as trigger,
  greatest(0, extract(epoch from h.decided_at - r.started_at) * 1000)::float8 as duration_ms
from (
  select u.*, sum(coalesce(pg_column_size(u.output), 0)) over (order by u.run_id, u.fence) as bytes, row_number() over (order by u.run_id, u.fence) as place
  from (select * from tock.job_hand_offs h where ${isUnwritten('h')} and (h.run_id, h.fence) > (:afterId::bigint, :afterFence::integer)
    order by h.run_id, h.fence limit :limit) u
) h
left join tock.job_runs_live r on r.id = h.run_id and r.fence = h.fence and r.status = 'running' and r.locked_by = '${HANDED_OFF}'
left join tock.job_definitions d on d.id = r.definition_id
where h.place = 1 or h.bytes <= :maxBytes
order by h.run_id, h.fence`,
);

/** At most `limit` outcomes that are not written yet; fewer where their outputs have over `maxBytes`. */
export async function readDecided(
  session: Session,
  {
    limit,
    maxBytes,
    after,
  }: { readonly limit: number; readonly maxBytes: number; readonly after: AfterDecided },
): Promise<Decided[]> {
  return await READ_DECIDED.run(session, { limit, maxBytes, afterId: after.id, afterFence: after.fence });
}

const MARK_WRITTEN = statement<{ readonly ids: string; readonly fences: string }, unknown>(
  'mark-decided-written',
  `
with written as materialized (
  select h.run_id, h.fence from tock.job_hand_offs h join unnest(:ids::bigint[], :fences::integer[]) as w(run_id, fence) using (run_id, fence)
  where ${isUnwritten('h')} order by h.run_id, h.fence for update of h
)
update tock.job_hand_offs h set written_at = tock.now(), output = null, error = null
from written w where h.run_id = w.run_id and h.fence = w.fence`,
);

/** The run keeps what was written; the handoff keeps that it was decided, and when. */
export async function markWritten(session: Session, decided: readonly Held[]): Promise<void> {
  if (decided.length === 0) return;
  const { ids, fences } = fencedBatch(decided, HANDED_OFF);
  await MARK_WRITTEN.run(session, { ids, fences });
}
