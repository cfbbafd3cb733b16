// Makes way for a later occurrence, for the overlap policies cancel_other and terminate_other.
import { TRANSITIONS } from '../../model/run/states.js';
import type { Session } from '../connection/database.js';
import { statement } from '../connection/statement.js';
import { endLease } from './hand-off/handed-off.js';
import { freeSlots, insertFinished, statuses, writeOutbox } from './transition.js';

/** The reason that is kept with a displaced run. */
export const DISPLACED = 'a later occurrence took its place';

const DISPLACE = statement<{ definitionIds: readonly string[]; isTerminated: boolean }, { id: string }>(
  'displace-runs',
  `
-- Waiting runs end at once. From running ones terminate takes the lease: the holder's next write, or its next
-- heartbeat, finds it lost. cancel asks the holder to stop, or ends the lease of a run that is handed off; the
-- new run waits for its slot.
with target as materialized (
  select r.id, r.status from tock.job_runs_live r
  where r.definition_id = any(:definitionIds::bigint[]) and r.trigger in ('cron', 'chain')
  order by r.id for update
), asked as (
  update tock.job_runs_live r set cancel_requested_at = coalesce(r.cancel_requested_at, tock.now()), skip_reason = coalesce(r.skip_reason, '${DISPLACED}'),
    ${endLease('r')}
  from target t where r.id = t.id and t.status = 'running' and not :isTerminated
  returning r.id
), gone as (
  delete from tock.job_runs_live r using target t
  where r.id = t.id and (t.status in (${statuses('displace')}) or (:isTerminated and t.status in (${statuses('terminate')})))
  returning r.*
), ended as (
  ${insertFinished('gone', {
    fence: `fence + (status = 'running')::integer`,
    status: `'${TRANSITIONS.terminate.to}'`,
    skip_reason: `'${DISPLACED}'`,
  })}
  returning id
), ${freeSlots('gone', 'true')}, ${writeOutbox('gone', `'${TRANSITIONS.terminate.to}'`)}, notified as (
  select tock.notify('cancel:' || id) from (select id from asked union all select id from gone where status = 'running') r
)
select id::text, (select count(*) from notified) as notified from (select id from asked union all select id from ended) r`,
);

/** Displaces the live runs of definitions; with `isTerminated` also running ones. Returns their ids. */
export async function displaceRuns(
  session: Session,
  definitionIds: readonly string[],
  isTerminated: boolean,
): Promise<string[]> {
  const rows = await DISPLACE.run(session, { definitionIds, isTerminated });
  return rows.map(row => row.id);
}
