// The one skipped row of occurrences without runs: those in a pause, or before an edit.
import type { SkipReason } from '../../../model/run/states.js';
import type { Session } from '../../connection/database.js';
import { statement } from '../../connection/statement.js';
import { writeOutbox } from '../transition.js';

/** How many, the first and the last. Counted up to 100,000. */
export interface SkippedSpan {
  readonly count: number;
  readonly first: Date;
  readonly last: Date;
}

const INSERT = statement<
  { definitionId: string; first: string; last: string; count: number; reason: SkipReason },
  { id: string }
>(
  'insert-skipped-span',
  `
-- Without a key: the row stands for a span, and a backfill may yet make a run of each occurrence in it. The
-- definition's lock and cursor, which moves past the span in the same transaction, keep it from being
-- recorded twice.
with skipped as (
  insert into tock.job_runs_finished (id, definition_id, job, queue, priority, max_attempts, tags, payload, scheduled_for, run_at,
    interval_start, occurrence_count, trigger, status, finished_at, skip_reason)
  select nextval('tock.job_runs_id_seq'), d.id, d.job, d.queue, d.priority, d.max_attempts, d.tags, d.payload,
    :last::timestamptz, :last, :first::timestamptz, :count::integer, 'cron', 'skipped', tock.now(), :reason::text
  from tock.job_definitions d where d.id = :definitionId
  returning id, generation, definition_id, scheduled_for, job, has_waiters
), ${writeOutbox('skipped', `'skipped'`)}
select id from skipped`,
);

/** The caller holds the definition's lock. */
export async function insertSkippedSpan(
  session: Session,
  definitionId: string,
  { first, last, count }: SkippedSpan,
  reason: SkipReason,
): Promise<void> {
  await INSERT.run(session, {
    definitionId,
    first: first.toISOString(),
    last: last.toISOString(),
    count,
    reason,
  });
}
