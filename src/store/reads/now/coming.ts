// What comes next, and which definitions need attention: for a page.
import type { DefinitionColumns } from '../../../model/planning/definition-columns.js';
import type { ErrorParts } from '../../../model/run/errors/root-cause.js';
import { MAX_COUNTED } from '../../../model/run/match/run-match.js';
import type { Session } from '../../connection/database.js';
import { statement } from '../../connection/statement.js';
import { errorParts } from '../../connection/values/error-parts.js';
import { instant, readable } from '../../connection/values/readable-instant.js';

/** The columns that say when a definition runs. */
export type TimedDefinition = Pick<
  DefinitionColumns,
  'name' | 'job' | 'cron' | 'every_ms' | 'phase_ms' | 'anchor' | 'at' | 'after' | 'timezone'
>;

const TIMED = `d.name, d.job, d.cron, d.every_ms::float8 as every_ms, d.phase_ms::float8 as phase_ms, d.anchor,
  d.at, d.after, d.timezone`;

export type ComingDefinition = TimedDefinition & { readonly nextAt: Date; readonly jitterMs: number };

const COMING = statement<{ limit: number }, ComingDefinition>(
  'read-coming',
  `
select ${TIMED}, ${instant(readable('d.next_at'))} as "nextAt", d.jitter_ms::float8 as "jitterMs"
from tock.job_definitions d
where d.next_at is not null and d.paused_at is null and d.broken_at is null and d.vanished_at is null and isfinite(d.next_at)
  and (d.excepted_until is null or not exists (
    select from tock.job_exceptions e where e.definition_id = d.id and e.kind = 'skip' and e.due_at = d.next_at))
order by d.next_at, d.id limit :limit`,
);

/** Definitions in the order of their next occurrences, without those of which that is skipped. */
export async function readComing(session: Session, limit: number): Promise<ComingDefinition[]> {
  return await COMING.run(session, { limit });
}

export interface TroubledDefinition extends TimedDefinition {
  readonly nextAt: Date | null;
  readonly brokenReason: string | null;
  readonly pausedAt: Date | null;
  readonly pauseReason: string | null;
  /** Its dead runs, of the first MAX_COUNTED of the last 24 hours. */
  readonly dead: number;
  readonly lastDeadAt: Date | null;
  /** The last dead run, and what it died of. */
  readonly lastDeadId: string | null;
  readonly lastError: ErrorParts | null;
  /** How many it stands for, itself included: one act paused them, and nothing else is wrong with them. */
  readonly together: number;
  /** How many such definitions or acts there are, those beyond the limit included. */
  readonly total: number;
  /** By how much the next occurrence is overdue; 0 if it is not. */
  readonly overdueMs: number;
}

/** Nothing is wrong but that it was paused with others. */
const IS_TOGETHER = `(d.pause_id is not null and dead.count is null and d.broken_at is null)`;

const TROUBLED = statement<{ limit: number; lateMs: number }, TroubledDefinition>(
  'read-troubled',
  `
with dead as materialized (
  select definition_id, count(*)::int as count, max(finished_at) as at, (array_agg(id order by finished_at desc))[1] as id from (
    select definition_id, finished_at, id from tock.job_runs_finished
    where status = 'dead' and finished_at > tock.now() - interval '24 hours' and finished_at <= tock.now() limit ${MAX_COUNTED}) r
  where definition_id is not null group by definition_id
)
select t.*, count(*) over ()::int as total from (
select ${TIMED}, case when isfinite(d.next_at) then ${instant(readable('d.next_at'))} end as "nextAt", d.broken_reason as "brokenReason",
  ${instant('d.paused_at')} as "pausedAt", d.pause_reason as "pauseReason", coalesce(dead.count, 0) as dead,
  ${instant('dead.at')} as "lastDeadAt", dead.id::text as "lastDeadId",
  (select ${errorParts('e.error')} from (select r.errors -> -1 as error
    from tock.job_runs_finished r where r.id = dead.id and r.finished_at = dead.at) e) as "lastError",
  case when ${IS_TOGETHER} then count(*) over act else 1 end::int as together,
  ${IS_TOGETHER} and row_number() over (act order by d.name) > 1 as "isStoodFor",
  row_number() over (order by d.broken_at is null, dead.count is null, d.paused_at is not null, dead.count desc, d.name) as place,
  case when d.paused_at is null and d.broken_at is null and isfinite(d.next_at) and d.next_at < tock.now()
    then (extract(epoch from tock.now() - d.next_at) * 1000)::float8 else 0 end as "overdueMs"
from tock.job_definitions d left join dead on dead.definition_id = d.id
where d.vanished_at is null and (dead.count is not null or d.broken_at is not null
  or (d.paused_at is not null and (d.next_at is not null or d.after is not null))
  or (d.next_at < tock.now() - :lateMs * interval '1 millisecond' and isfinite(d.next_at)))
window act as (partition by d.pause_id, ${IS_TOGETHER})
) t where not t."isStoodFor" order by t.place limit :limit`,
);

/**
 * Definitions with dead runs, that are broken, paused or overdue; the worst first. One stands for all that an
 * act has paused together.
 */
export async function readTroubled(
  session: Session,
  { limit, lateMs }: { readonly limit: number; readonly lateMs: number },
): Promise<TroubledDefinition[]> {
  return await TROUBLED.run(session, { limit, lateMs });
}
