// Inserts the runs of occurrences, and a skipped row for those without a run, in the caller's transaction.
//
// An occurrence has one row in job_occurrences, whose primary key is the promise that it runs once:
//
//   tick A                                        tick B
//   insert occurrence 12:00 -> run 1
//   insert run 1                                  insert occurrence 12:00 -> run 2: waits for A
//   move the cursor past 12:00, commit
//                                                 conflict, nothing inserted; so run 2 is left out too
//
// Occurrences go in sorted, so that two batches never wait for each other in a circle.
import type { Session } from '../connection/database.js';
import { statement } from '../connection/statement.js';
import { insertRuns, writeOutbox } from './transition.js';

/** Instants as ISO text. */
export interface NewRow {
  readonly definition_id: string;
  readonly job: string;
  readonly queue: string;
  readonly priority: number;
  readonly max_attempts: number;
  readonly payload: unknown;
  /** For people and handlers; only the occurrence is unique. */
  readonly key: string;
  readonly scheduled_for: string;
  readonly run_at: string;
  readonly start_by: string | null;
  readonly interval_start: string | null;
  readonly occurrence_count: number;
  /** Null: a run. */
  readonly skip_reason: string | null;
  readonly slot_keys: readonly string[] | null;
  readonly slot_limits: readonly number[] | null;
  readonly trigger: 'cron' | 'chain';
}

/** How many rows were inserted, and whether the outbox has rows for skipped ones. */
export interface InsertedRows {
  readonly runs: number;
  readonly skips: number;
  readonly outboxWritten: boolean;
}

const OF_BOTH = {
  ...Object.fromEntries(
    [
      'id',
      'definition_id',
      'job',
      'queue',
      'priority',
      'max_attempts',
      'payload',
      'scheduled_for',
      'run_at',
      'interval_start',
      'occurrence_count',
      'trigger',
    ].map(column => [column, column]),
  ),
  idempotency_key: 'key',
};

// `taken`: a chained occurrence that was skipped may run after all, after a retry of its parent.
const INSERT = statement<{ readonly rows: string }, InsertedRows>(
  'insert-occurrences',
  `
with planned as materialized (
  select nextval('tock.job_runs_id_seq') as id, p.* from jsonb_to_recordset(:rows::jsonb) as p(
    definition_id bigint, job text, queue text, priority integer, max_attempts integer, payload jsonb, key text,
    scheduled_for timestamptz, run_at timestamptz, start_by timestamptz, interval_start timestamptz,
    occurrence_count integer, skip_reason text, slot_keys text[], slot_limits integer[], trigger text)
), taken as (
  update tock.job_occurrences o set run_id = p.id from planned p
  where o.definition_id = p.definition_id and o.scheduled_for = p.scheduled_for and p.trigger = 'chain' and p.skip_reason is null
    and exists (select from tock.job_runs_finished f where f.id = o.run_id and f.status = 'skipped')
  returning o.run_id
), fresh as (
  insert into tock.job_occurrences (definition_id, scheduled_for, run_id)
  select definition_id, scheduled_for, id from planned order by definition_id, scheduled_for
  on conflict do nothing
  returning run_id
), chosen as (
  select run_id from fresh union all select run_id from taken
), queued as (
  ${insertRuns(
    'job_runs_live',
    'planned join chosen on chosen.run_id = planned.id where skip_reason is null order by id',
    {
      ...OF_BOTH,
      start_by: 'start_by',
      slot_keys: 'slot_keys',
      slot_limits: 'slot_limits',
      status: `'queued'`,
    },
  )}
  returning id
), skipped as (
  ${insertRuns(
    'job_runs_finished',
    'planned join fresh on fresh.run_id = planned.id where skip_reason is not null',
    { ...OF_BOTH, status: `'skipped'`, finished_at: 'tock.now()', skip_reason: 'skip_reason' },
  )}
  returning id, generation, definition_id, scheduled_for, job
), ${writeOutbox('skipped', `'skipped'`)}
select (select count(*) from queued)::int as runs, (select count(*) from skipped)::int as skips,
  exists (select from noted) as "outboxWritten"`,
);

/** Inserts rows; leaves out those whose occurrence has a row already. */
export async function insertOccurrences(session: Session, rows: readonly NewRow[]): Promise<InsertedRows> {
  const none = { runs: 0, skips: 0, outboxWritten: false };
  if (rows.length === 0) return none;
  return (await INSERT.first(session, { rows: JSON.stringify(rows) })) ?? none;
}
