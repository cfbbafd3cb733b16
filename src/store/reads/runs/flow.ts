// The runs of a flow, by the id of any of them.
import type { MemberStatus } from '../../../model/run/group-record.js';
import { statement } from '../../connection/statement.js';
import { epochMs } from '../../connection/values/readable-instant.js';

export interface FlowRow {
  readonly id: string;
  readonly name: string | null;
  readonly job: string | null;
  readonly status: MemberStatus;
  readonly startedAt: number | null;
  readonly endedAt: number | null;
  readonly after: readonly string[];
}

/** The awaited runs of a flow: those of groups have no names. */
const EDGES = `tock.job_waits w join tock.job_awaited_runs a on a.wait_id = w.id and a.name is not null`;

// The recursion ends where the limit is reached, since nothing sorts it.
/** No rows, or one: the run is of no flow. */
export const readFlowRows = statement<{ readonly run: string; readonly limit: number }, FlowRow>(
  'read-flow',
  `
with recursive reached(id) as (
  select :run::bigint
  union
  select n.id from reached m cross join lateral (
    select a.run_id as id from ${EDGES} where w.run_id = m.id and w.kind = 'group'
    union all
    select w.run_id from ${EDGES} where a.run_id = m.id and w.kind = 'group') n
), chosen as materialized (
  select id from reached limit :limit
)
select c.id::text, (select a.name from tock.job_awaited_runs a where a.run_id = c.id and a.name is not null order by a.wait_id limit 1) as name,
  r.job, coalesce(r.status, case when exists (select from tock.job_successors s where s.run_id = c.id) then 'queued' else 'pruned' end) as status,
  ${epochMs('r.started_at')} as "startedAt", ${epochMs('r.finished_at')} as "endedAt",
  array(select a.run_id::text from ${EDGES} where w.run_id = c.id and w.kind = 'group' order by a.position) as after
from chosen c left join tock.job_runs r on r.id = c.id order by c.id`,
);
