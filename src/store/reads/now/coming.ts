// What comes next, and which definitions need attention: for a page.
import type { DefinitionColumns } from '../../../model/planning/definition-columns.js';
import type { Session } from '../../connection/database.js';
import { statement } from '../../connection/statement.js';
import { instant, readable } from '../../connection/values/readable-instant.js';

/** The columns that say when a definition runs. */
export type TimedDefinition = Pick<
  DefinitionColumns,
  'name' | 'job' | 'cron' | 'every_ms' | 'phase_ms' | 'at' | 'after' | 'timezone'
>;

const TIMED = `d.name, d.job, d.cron, d.every_ms::float8 as every_ms, d.phase_ms::float8 as phase_ms,
  case when isfinite(d.at) then ${instant(readable('d.at'))} end as at, d.after, d.timezone`;

export type ComingDefinition = TimedDefinition & { readonly nextAt: Date; readonly jitterMs: number };

const COMING = statement<{ limit: number }, ComingDefinition>(
  'read-coming',
  `
select ${TIMED}, ${instant(readable('d.next_at'))} as "nextAt", d.jitter_ms::float8 as "jitterMs"
from tock.job_definitions d
where d.next_at is not null and d.paused_at is null and d.broken_at is null and d.vanished_at is null and isfinite(d.next_at)
order by d.next_at, d.id limit :limit`,
);

/** Definitions in the order of their next occurrences. */
export async function readComing(session: Session, limit: number): Promise<ComingDefinition[]> {
  return await COMING.run(session, { limit });
}

export interface TroubledDefinition extends TimedDefinition {
  readonly nextAt: Date | null;
  readonly brokenReason: string | null;
  readonly pausedAt: Date | null;
  readonly pauseReason: string | null;
  /** Dead runs of the last 24 hours, at most a thousand. */
  readonly dead: number;
  readonly lastDeadAt: Date | null;
  /** The last dead run, and what it died of. */
  readonly lastDeadId: string | null;
  readonly lastError: string | null;
  /** By how much the next occurrence is overdue; 0 if it is not. */
  readonly overdueMs: number;
}

const TROUBLED = statement<{ limit: number; lateMs: number }, TroubledDefinition>(
  'read-troubled',
  `
with dead as materialized (
  select definition_id, count(*)::int as count, max(finished_at) as at, (array_agg(id order by finished_at desc))[1] as id from (
    select definition_id, finished_at, id from tock.job_runs_finished
    where status = 'dead' and finished_at > tock.now() - interval '24 hours' limit 1000) r
  where definition_id is not null group by definition_id
)
select ${TIMED}, case when isfinite(d.next_at) then ${instant(readable('d.next_at'))} end as "nextAt", d.broken_reason as "brokenReason",
  ${instant('d.paused_at')} as "pausedAt", d.pause_reason as "pauseReason", coalesce(dead.count, 0) as dead,
  ${instant('dead.at')} as "lastDeadAt", dead.id::text as "lastDeadId",
  (select concat_ws(': ', e.error ->> 'name', left(e.error ->> 'message', 300)) from (select r.errors -> -1 as error
    from tock.job_runs_finished r where r.id = dead.id and r.finished_at = dead.at) e) as "lastError",
  case when d.paused_at is null and d.broken_at is null and isfinite(d.next_at) and d.next_at < tock.now()
    then (extract(epoch from tock.now() - d.next_at) * 1000)::float8 else 0 end as "overdueMs"
from tock.job_definitions d left join dead on dead.definition_id = d.id
where d.vanished_at is null and (dead.count is not null or d.broken_at is not null
  or (d.paused_at is not null and (d.next_at is not null or d.after is not null))
  or (d.next_at < tock.now() - :lateMs * interval '1 millisecond' and isfinite(d.next_at)))
order by d.broken_at is null, dead.count is null, d.paused_at is not null, dead.count desc, d.name limit :limit`,
);

/** Definitions with dead runs, that are broken, paused or overdue; the worst first. */
export async function readTroubled(
  session: Session,
  { limit, lateMs }: { readonly limit: number; readonly lateMs: number },
): Promise<TroubledDefinition[]> {
  return await TROUBLED.run(session, { limit, lateMs });
}
