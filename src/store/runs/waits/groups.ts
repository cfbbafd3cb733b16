// Groups and flows: runs that wait for others from the start. Ends are noted as those of all awaited runs.
import { statement } from '../../connection/statement.js';

/** Which new runs wait for others. Ids as arrays in PostgreSQL's own form. */
export interface Joins {
  readonly joins: string;
  /** Of each join, what becomes of it where one of its runs does not succeed: wait, cancel or run. */
  readonly policies: readonly string[];
  /** A join, and beside it a run that it waits for. */
  readonly waiting: string;
  readonly awaited: string;
  /** Under which name it has that run; null: a group has no names. */
  readonly names: readonly string[] | null;
  /** Those that it waits for and that are older than this transaction. */
  readonly others: string;
}

/** Makes new runs wait for others. `unknown`: those of `others` that do not exist; then it does nothing. */
export const joinRuns = statement<Joins, { readonly unknown: readonly string[] }>(
  'join-runs',
  `select tock.join_runs(:joins::bigint[], :policies::text[], :waiting::bigint[], :awaited::bigint[], :names::text[], :others::bigint[])::text[] as unknown`,
);

/**
 * The groups of which a run is a member, locked so that none of their joins can be made due, or cancelled,
 * meanwhile: first the joins, as all that ends waits does. The caller holds the run, so it has not ended, and
 * the groups still wait for it. Not what waits for it in a flow, nor scheduled runs in their data interval.
 */
export const lockGroupsOf = statement<
  { readonly member: string },
  { readonly wait: string; readonly join: string; readonly isOver: boolean }
>(
  'lock-groups-of',
  `
with found as materialized (
  select w.id, w.run_id from tock.job_waits w
  where w.kind = 'group' and w.id = any(array(select a.wait_id from tock.job_awaited_runs a where a.run_id = :member and a.name is null))
    and not exists (select from tock.job_runs r where r.id = w.run_id and r.scheduled_for is not null)
), live as materialized (
  select r.id from tock.job_runs_live r where r.id = any(array(select f.run_id from found f)) order by r.id for key share
)
select w.id::text as wait, w.run_id::text as join, w.outcome is not null or w.run_id <> all(array(select l.id from live l)) as "isOver"
from tock.job_waits w where w.id = any(array(select f.id from found f)) and (select count(*) from live) >= 0
order by w.id for no key update`,
);

/** Adds new runs of this transaction to a group that is locked. No row: then there were more than `most`. */
export const addMembers = statement<
  { readonly wait: string; readonly members: string; readonly most: number },
  { readonly count: number }
>(
  'add-members',
  `
with marked as (
  update tock.job_runs_live r set has_waiters = true where r.id = any(:members::bigint[]) and r.has_waiters is null
), added as (
  insert into tock.job_awaited_runs (wait_id, position, run_id)
  select :wait, l.position + m.position, m.run_id from unnest(:members::bigint[]) with ordinality as m(run_id, position)
  cross join (select coalesce(max(a.position), 0) as position from tock.job_awaited_runs a where a.wait_id = :wait) l
  where l.position + cardinality(:members::bigint[]) <= :most::integer
  returning 1
)
select count(*)::integer as count from added having count(*) > 0`,
);

/** In their order. */
export const readMembers = statement<{ readonly join: string }, { readonly id: string }>(
  'read-members',
  `
select a.run_id::text as id from tock.job_waits w join tock.job_awaited_runs a on a.wait_id = w.id
where w.run_id = :join and w.kind = 'group' order by a.position`,
);

/** A page of how members have ended, after a position. Output as JSON. */
export const readResults = statement<
  { readonly join: string; readonly after: number; readonly limit: number },
  {
    readonly position: number;
    readonly id: string;
    readonly status: string | null;
    readonly output: string | null;
    readonly error: string | null;
  }
>(
  'read-results',
  `
select a.position, a.run_id::text as id, a.status, a.output::text, a.error
from tock.job_waits w join tock.job_awaited_runs a on a.wait_id = w.id
where w.run_id = :join and w.kind = 'group' and a.position > :after order by a.position limit :limit`,
);

/** What became of the parents of a run. Without the outputs if they have more than `most` bytes. */
export const readParents = statement<
  { readonly run: string; readonly most: number },
  {
    readonly name: string;
    readonly id: string;
    readonly status: string;
    readonly output: string | null;
    readonly isCut: boolean;
    readonly error: string | null;
  }
>(
  'read-parents',
  `
select p.name, p.id, p.status, case when not p."isCut" then p.output end as output, p."isCut", p.error
from (
  select a.position, a.name, a.run_id::text as id, coalesce(a.status, 'pruned') as status, a.output::text as output, a.error,
    coalesce(sum(octet_length(a.output::text)) over () > :most, false) as "isCut"
  from tock.job_waits w join tock.job_awaited_runs a on a.wait_id = w.id
  where w.run_id = :run and w.kind = 'group' and a.name is not null offset 0) p
order by p.position`,
);

/** A row: the run is the join of a group. A run of a flow has names for those that it waits for. */
export const isJoin = statement<{ readonly join: string }, object>(
  'is-join',
  `
select from tock.job_waits w where w.run_id = :join and w.kind = 'group'
  and not exists (select from tock.job_awaited_runs a where a.wait_id = w.id and a.name is not null)`,
);

/**
 * From now on a join waits only for the ends of its members. Returns the members; no rows: it does not wait.
 * Locks the run before its wait, as all that ends waits does.
 */
export const waitForCompletion = statement<{ readonly join: string }, { readonly id: string }>(
  'wait-for-completion',
  `
with held as materialized (
  select r.id from tock.job_runs_live r where r.id = :join for no key update
), lasting as (
  update tock.job_waits w set needs_success = false, cancels = null
  where w.run_id = any(array(select h.id from held h)) and w.kind = 'group' and w.outcome is null returning w.id
)
select a.run_id::text as id from tock.job_awaited_runs a where a.wait_id = any(array(select l.id from lasting l))`,
);
