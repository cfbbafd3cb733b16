// Groups, by the id of their join or of a member.

import type { LastError } from '../../../model/run/errors/error-counts.js';
import { MAX_COMPARED } from '../../../model/run/errors/error-group.js';
import type { MemberStatus, SlowMember } from '../../../model/run/group-record.js';
import type { RunStatus } from '../../../model/run/states.js';
import { statement } from '../../connection/statement.js';
import { innermostCause } from '../../connection/values/error-parts.js';
import { epochMs } from '../../connection/values/readable-instant.js';
import { statuses } from '../../runs/transition.js';

/** The group of which a run is the join, or else a member: in epoch milliseconds. */
export interface GroupRow {
  readonly wait: string;
  readonly id: string;
  readonly job: string;
  readonly key: string | null;
  readonly status: RunStatus;
  readonly needs_success: boolean;
  readonly created_at: number;
  readonly ended_at: number | null;
}

/** No row: the run is in no group, or there is none. */
export const readGroupRow = statement<{ readonly run: string }, GroupRow>(
  'read-group',
  `
select w.id::text as wait, r.id::text, r.job, r.idempotency_key as key, r.status, w.needs_success,
  ${epochMs('w.created_at')} as created_at, ${epochMs('w.ended_at')} as ended_at
from tock.job_waits w join tock.job_runs r on r.id = w.run_id
where w.kind = 'group' and (w.run_id = :run
  or w.id = any(array(select a.wait_id from tock.job_awaited_runs a where a.run_id = :run)))
order by w.run_id <> :run, w.id limit 1`,
);

/** The joins of the groups of which a run is a member. */
export const readJoinsOf = statement<{ readonly run: string }, { readonly id: string }>(
  'read-joins-of',
  `
select w.run_id::text as id from tock.job_waits w
where w.kind = 'group' and w.id = any(array(select a.wait_id from tock.job_awaited_runs a where a.run_id = :run)) order by w.id limit 10`,
);

// Most ends are noted, and for good; only the runs of the others are looked up, one by one: a join would read
// all runs. What a retry may have changed since it was noted counts as it is now.
const STATUS = `case when a.status not in (${statuses('retry')}) then a.status else coalesce(
  (select l.status from tock.job_runs_live l where l.id = a.run_id), (select f.status from tock.job_runs_finished f where f.id = a.run_id), a.status,
  case when exists (select from tock.job_successors s where s.run_id = a.run_id) then 'queued' else 'pruned' end) end collate "C"`;

/** How many members are in a state, with the ids of the first five. */
export interface MemberState {
  readonly status: MemberStatus;
  readonly count: number;
  readonly first: readonly string[];
}

export const readMemberStates = statement<{ readonly wait: string }, MemberState>(
  'read-member-states',
  `
select m.status, count(*)::integer as count, (array_agg(m.run_id::text order by m.position))[1:5] as first
from (select a.position, a.run_id, ${STATUS} as status from tock.job_awaited_runs a where a.wait_id = :wait) m group by m.status`,
);

/** Neighbours in one state. */
export interface MemberSpan extends MemberState {
  readonly last: string;
}

/** The members in their order, as spans of one state. */
export const readMemberSpans = statement<{ readonly wait: string; readonly limit: number }, MemberSpan>(
  'read-member-spans',
  `
with member as (
  select a.position, a.run_id, ${STATUS} as status from tock.job_awaited_runs a where a.wait_id = :wait and a.position <= :limit
), island as (
  select m.*, m.position - row_number() over (partition by m.status order by m.position) as island from member m
)
select i.status, count(*)::integer as count, (array_agg(i.run_id::text order by i.position))[1:5] as first, (max(array[i.position, i.run_id]))[2]::text as last
from island i group by i.status, i.island order by min(i.position)`,
);

interface OfGroup {
  readonly wait: string;
  /** No member ended before. */
  readonly since: Date;
}

/** The members that took longest, and those that run longest. */
export const readSlowMembers = statement<OfGroup, SlowMember>(
  'read-slow-members',
  `
select s.id::text, s.job, s.status, ${epochMs('s.took')} as "tookMs" from (
  select r.id, r.job, r.status, r.finished_at - r.started_at as took from tock.job_runs_finished r
  where r.finished_at >= :since::timestamptz and r.started_at is not null and r.id in (select a.run_id from tock.job_awaited_runs a where a.wait_id = :wait)
  union all
  select r.id, r.job, r.status, tock.now() - r.started_at from tock.job_runs_live r
  where r.status = 'running' and r.id = any(array(select a.run_id from tock.job_awaited_runs a where a.wait_id = :wait and (a.status is null or a.status <> 'succeeded')))
  order by took desc limit 5
) s order by s.took desc`,
);

/** The last errors of dead members; of many the first. */
export const readMemberErrors = statement<OfGroup & { readonly limit: number }, LastError>(
  'read-member-errors',
  `
select r.id::text, r.job, e.last ->> 'name' as name, e.last ->> 'code' as code, left(e.last ->> 'message', ${MAX_COMPARED}) as message,
  ${innermostCause('e.last')} as cause, ${epochMs('r.finished_at')} as at
from tock.job_runs_finished r cross join lateral (select r.errors -> -1 as last offset 0) e
where r.status = 'dead' and r.finished_at >= :since::timestamptz and r.id = any(array(
  select a.run_id from tock.job_awaited_runs a where a.wait_id = :wait and (a.status is null or a.status = 'dead') order by a.position limit :limit::integer))`,
);

/**
 * Members that may be retried or cancelled, also of the groups in the group, ascending, after an id. What a
 * run of a flow waits for has names, and is not in a group.
 */
export const readMemberPage = statement<
  { readonly wait: string; readonly after: string; readonly limit: number; readonly isDead: boolean },
  { readonly id: string }
>(
  'read-member-page',
  `
with recursive member(id) as (
  select a.run_id from tock.job_awaited_runs a where a.wait_id = :wait
  union
  select n.run_id from member m cross join lateral (
    select a.run_id from tock.job_waits w join tock.job_awaited_runs a on a.wait_id = w.id
    where w.run_id = m.id and w.kind = 'group' and a.name is null offset 0) n
)
select m.id::text from member m
where m.id > :after::bigint
  and case when :isDead::boolean then exists (select from tock.job_runs_finished f where f.id = m.id and f.status = 'dead')
    else exists (select from tock.job_runs_live l where l.id = m.id) or exists (select from tock.job_successors s where s.run_id = m.id) end
order by m.id limit :limit::integer`,
);
