// Whether anything has happened that pages show: one small statement for all open pages together.
//
//   nothing was committed on the server since the last look:  nothing has happened; no table is read
//   something was:  a fingerprint of what pages of runs show tells whether it was Tock's; a heartbeat, or
//                   what an app writes beside it, is not in it
import type { Session } from '../../connection/database.js';
import { statement } from '../../connection/statement.js';

/**
 * SQL for a text that stays the same exactly as long as nothing is committed on the server. A replica's
 * snapshot does not name all transactions that it cannot see yet; what it has replayed does.
 */
export const SEEN =
  'md5(case when pg_is_in_recovery() then pg_last_wal_replay_lsn()::text else pg_current_snapshot()::text end)';

export interface Pulse {
  /** What had been committed; see {@link SEEN}. */
  readonly seen: string;
  /** Changes when what runs, operators or alerts did may change a page. Null: nothing was committed since. */
  readonly pulse: string | null;
}

/** With more live runs their versions are not compared: then whatever is committed counts. */
const MAX_COMPARED = 1000;

// A handler that is running writes steps and logs into tables of their own, and as many as it likes: while
// there is one, whatever is committed counts. The newest end is there for what was skipped, and never live.
// By id: the primary key is walked, and not the pages of dead rows of a busy table. Of the last hour: other
// partitions are not looked at.
const READ_PULSE = statement<{ readonly last: string }, Pulse>(
  'read-pulse',
  `
select s.seen, case when s.seen <> :last::text then md5(concat_ws(' ',
  (select case when count(*) > ${MAX_COMPARED} or bool_or(r.status = 'running') then s.seen
      else concat(count(*), ' ', sum(hashtextextended(concat(r.id, ' ', r.xmin), 0))) end
    from (select l.id, l.status, l.xmin from tock.job_runs_live l order by l.id limit ${MAX_COMPARED + 1}) r),
  (select concat(f.id, ' ', f.xmin) from tock.job_runs_finished f
    where f.finished_at > tock.now() - interval '1 hour' order by f.finished_at desc limit 1),
  (select max(a.id) from tock.audit a),
  (select max(f.id) from tock.alert_flips f),
  (select sum(hashtextextended(concat(w.id, w.draining), 0)) from tock.workers w),
  (select sum(hashtextextended(concat(q.name, ' ', q.xmin), 0)) from tock.job_queues q)
)) end as pulse
from (select ${SEEN} as seen) s`,
);

/** @param last what had been seen at the last look; empty at the first */
export async function readPulse(session: Session, last: string): Promise<Pulse> {
  const pulse = await READ_PULSE.first(session, { last });
  if (pulse === undefined) throw new Error('the pulse query gave no row');
  return pulse;
}
