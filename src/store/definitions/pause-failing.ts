// Pauses definitions whose runs fail too often.
import { statement } from '../connection/statement.js';

export interface PausedDefinition {
  readonly name: string;
  readonly job: string;
  readonly pause_reason: string;
}

/**
 * Pauses each definition of the given dead runs whose last `pause_on_failure_count` runs since it was
 * resumed, in the order of their occurrences, all ended dead. A late end of an older occurrence does not
 * interrupt that series. Locks the definitions' rows, in the order of their ids.
 */
export const pauseFailing = statement<{ dead: readonly string[] }, PausedDefinition>(
  'pause failing definitions',
  `
with failing as materialized (
  select d.id, d.pause_on_failure_count as count, d.resumed_at from tock.job_definitions d
  where d.pause_on_failure_count is not null and d.paused_at is null and d.id in (
    select r.definition_id from tock.job_runs_finished r where r.id = any(:dead::bigint[]) and r.status = 'dead')
  order by d.id for update
)
update tock.job_definitions d set paused_at = tock.now(),
  pause_reason = 'paused by itself after ' || f.count || case f.count when 1 then ' dead run' else ' dead runs in a row' end
from failing f
where d.id = f.id and (
  select count(*) = f.count and bool_and(l.status = 'dead') from (
    select r.status from tock.job_runs_finished r
    where r.definition_id = f.id and r.status in ('dead', 'succeeded') and r.finished_at > coalesce(f.resumed_at, '-infinity')
    order by r.scheduled_for desc nulls last limit f.count) l)
returning d.name, d.job, d.pause_reason`,
);
