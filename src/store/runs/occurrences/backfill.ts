// Runs for occurrences that lie in the past.
import type { Session } from '../../connection/database.js';
import { statement } from '../../connection/statement.js';
import { instant } from '../../connection/values/readable-instant.js';
import { keepsChanges } from '../changes.js';
import { fairRunsCome, joinFairSlots } from '../fair/slots.js';

/** One occurrence that is to have a run. Instants as ISO text. */
export interface BackfillRow {
  readonly key: string;
  readonly payload: unknown;
  readonly scheduled_for: string;
  readonly interval_start: string | null;
}

/** An occurrence whose run was skipped counts as free. */
const IS_SKIPPED = `exists (select from tock.job_runs_finished r where r.id = o.run_id and r.status = 'skipped')`;
const IS_ASKED = 'o.definition_id = :definitionId and o.scheduled_for = any(:instants::timestamptz[])';

interface Asked {
  readonly definitionId: string;
  /** ISO text. */
  readonly instants: readonly string[];
}

const COUNT_TAKEN = statement<Asked, { count: number }>(
  'count-backfilled-occurrences',
  `
select count(*)::integer as count from tock.job_occurrences o where ${IS_ASKED} and not ${IS_SKIPPED}`,
);

/** How many of the occurrences have a run that was not skipped. */
export async function countWithRun(
  session: Session,
  definitionId: string,
  instants: readonly string[],
): Promise<number> {
  return (await COUNT_TAKEN.first(session, { definitionId, instants }))?.count ?? 0;
}

// A statement of its own, so that the next one sees what it waited for.
const LOCK_SKIPPED = statement<Asked, { scheduled_for: Date }>(
  'lock-skipped-occurrences',
  `
select ${instant('o.scheduled_for')} as scheduled_for from tock.job_occurrences o
where ${IS_ASKED} and ${IS_SKIPPED}
order by o.scheduled_for for update`,
);

const FAIR_SLOTS = joinFairSlots({ queue: 'd.queue', job: 'd.job', payload: 'p.payload' });

const INSERT = statement<
  { definitionId: string; rows: string; skipped: readonly string[] },
  { made: number }
>(
  'insert-backfilled-runs',
  `
-- The occurrences go in sorted. Of two backfills at once the second waits for an occurrence's row, and then
-- finds it with a run that was not skipped.
with planned as materialized (
  select nextval('tock.job_runs_id_seq') as id, p.* from jsonb_to_recordset(:rows::jsonb) as p(
    key text, payload jsonb, scheduled_for timestamptz, interval_start timestamptz)
  order by p.scheduled_for
), taken as (
  update tock.job_occurrences o set run_id = p.id from planned p
  where o.definition_id = :definitionId::bigint and o.scheduled_for = p.scheduled_for
    and o.scheduled_for = any(:skipped::timestamptz[]) and ${IS_SKIPPED}
  returning o.run_id
), fresh as (
  insert into tock.job_occurrences (definition_id, scheduled_for, run_id)
  select :definitionId::bigint, scheduled_for, id from planned order by scheduled_for
  on conflict do nothing
  returning run_id
), made as (
  insert into tock.job_runs_live (id, definition_id, job, queue, priority, max_attempts, tags, keeps_changes, payload, idempotency_key,
    scheduled_for, interval_start, run_at, trigger, slot_keys, slot_limits, blocked_on, status)
  select p.id, d.id, d.job, d.queue, d.priority, d.max_attempts, d.tags, ${keepsChanges('d')}, p.payload, p.key,
    p.scheduled_for, p.interval_start, case when d.waits_for is null then tock.now() else '9999-12-31' end, 'backfill', f.keys, f.limits,
    tock.fair_key_in(f.keys), 'queued'
  from planned p join tock.job_definitions d on d.id = :definitionId::bigint ${FAIR_SLOTS}
  where p.id in (select run_id from taken union all select run_id from fresh)
  order by p.id
  returning id, blocked_on
), ${fairRunsCome('made')}, notified as (
  select tock.notify('queued') from (select from made limit 1) any_of_them
)
select (select count(*) from made)::integer as made, (select count(*) from notified) + (select count(*) from come) as notified`,
);

/**
 * Makes runs, due now, for occurrences that have none, or a skipped one. In the caller's transaction, which
 * it needs for its locks. Returns how many.
 */
export async function insertBackfilled(
  session: Session,
  definitionId: string,
  rows: readonly BackfillRow[],
): Promise<number> {
  const instants = rows.map(row => row.scheduled_for);
  const skipped = await LOCK_SKIPPED.run(session, { definitionId, instants });
  const result = await INSERT.first(session, {
    definitionId,
    rows: JSON.stringify(rows),
    skipped: skipped.map(row => row.scheduled_for.toISOString()),
  });
  return result?.made ?? 0;
}
