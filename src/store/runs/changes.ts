// What has become of runs, for those who follow it (`changes: true`). That a run has ended is written by a
// trigger, which every end passes (note_end); that an attempt failed, or that a run waits, by the statements
// that write that. Who reads gives the changes their positions; see job_changes in the schema.
import type { ChangeKind } from '../../model/changes/change.js';

const STATUS = { failed: 'failed', waiting: 'queued' } as const;

/**
 * CTE `changed`: keeps a change of each run of a set whose job asks for it.
 * @param moved a set with id, job, definition_id, attempts, generation and keeps_changes
 */
export const noteChanges = (moved: string, kind: Exclude<ChangeKind, 'ended'>) => `changed as (
  insert into tock.job_changes (kind, run_id, job, definition_id, status, attempts, generation)
  select '${kind}', c.id, c.job, c.definition_id, '${STATUS[kind]}', c.attempts, c.generation
  from ${moved} c where c.keeps_changes order by c.id
)`;

/** Of a run of the definition `d`: its job's own definition says it, also for schedules made at run time. */
export const keepsChanges = (d: string) =>
  `case when ${d}.name = ${d}.job then ${d}.keeps_changes else (select j.keeps_changes from tock.job_definitions j where j.name = ${d}.job) end`;
