// Room: store. What people look at: runs, definitions.
// In: filters. Out: rows in the words of the public API: ids as text, times as Dates.
import { sql } from 'kysely';
import type { Chain } from '../../model/planning/chain.js';
import type { CatchupPolicy, OverlapPolicy } from '../../model/planning/plan-occurrences.js';
import type { OutsideWindow } from '../../model/planning/window.js';
import type { RunStatus, Trigger } from '../../model/run/states.js';
import {
  type DatedError,
  readErrors,
  readProgress,
  type StoredProgress,
} from '../../model/run/stored-run.js';
import type { Dst, ScheduleSpec } from '../../model/schedule/spec.js';
import type { Database, Session } from '../connection/database.js';
import { readable } from '../connection/readable-instant.js';

/** A run as the API and `--json` show it. */
export interface RunRecord<Output = unknown> {
  readonly id: string;
  readonly job: string;
  readonly definition: string | null;
  readonly status: RunStatus;
  readonly attempts: number;
  readonly maxAttempts: number;
  readonly queue: string;
  readonly priority: number;
  readonly trigger: Trigger;
  readonly scheduledFor: Date | null;
  readonly intervalStart: Date | null;
  readonly occurrenceCount: number;
  readonly runAt: Date;
  readonly createdAt: Date;
  readonly startedAt: Date | null;
  readonly finishedAt: Date | null;
  readonly lockedUntil: Date | null;
  readonly lockedBy: string | null;
  /** Host and process id of the worker that holds the lease, where it is known. */
  readonly worker: string | null;
  readonly cancelRequestedAt: Date | null;
  readonly idempotencyKey: string | null;
  readonly payload: unknown;
  /** `events`: how often its handler told of progress in this attempt. */
  readonly progress: StoredProgress | null;
  /** What its handler returned, once it has succeeded; else null. Typed where the run's job is known. */
  readonly output: Output;
  readonly errors: readonly DatedError[];
  /** Of a skipped run, a {@link SkipReason}; of a cancelled one, the words of whoever cancelled it. */
  readonly skipReason: string | null;
  readonly fence: number;
  readonly generation: number;
  readonly releases: number;
  /** The limits under which it needs a place to run; null: none. While it is running it holds them. */
  readonly concurrencyKeys: readonly string[] | null;
  /** The one of them that has no place for it now. */
  readonly blockedOn: string | null;
}

/** Which runs `runs.list` gives. */
export interface RunFilter {
  readonly status?: RunStatus | readonly RunStatus[];
  readonly job?: string;
  readonly definition?: string;
  /** Default 50, at most 1000. */
  readonly limit?: number;
  /** Only runs with an id below this: the next page. */
  readonly before?: string;
}

const time = (column: string, name: string) => `${readable(`r.${column}`)} as "${name}"`;
const TIMES = sql.raw(
  [
    time('scheduled_for', 'scheduledFor'),
    time('interval_start', 'intervalStart'),
    time('run_at', 'runAt'),
    time('created_at', 'createdAt'),
    time('started_at', 'startedAt'),
    time('finished_at', 'finishedAt'),
    time('locked_until', 'lockedUntil'),
    time('cancel_requested_at', 'cancelRequestedAt'),
  ].join(', '),
);
const SELECTION = sql`
  r.id, r.job, d.name as definition, r.status, r.attempts, r.max_attempts as "maxAttempts", r.queue, r.priority, r.trigger,
  ${TIMES}, r.occurrence_count as "occurrenceCount", r.locked_by as "lockedBy", w.host || ' pid ' || w.pid as worker,
  r.idempotency_key as "idempotencyKey", r.payload, r.output, r.progress, r.errors, r.skip_reason as "skipReason", r.fence, r.generation, r.releases, r.slot_keys as "concurrencyKeys", r.blocked_on as "blockedOn"`;

type RunRow = Omit<RunRecord, 'errors' | 'progress'> & {
  readonly errors: unknown;
  readonly progress: unknown;
};

const recordOf = (row: RunRow): RunRecord => ({
  ...row,
  progress: readProgress(row.progress),
  errors: readErrors(row.errors, row.createdAt),
});

/** Lists runs, the newest first. Walks the ids downward, so that a page costs the same at any depth. */
export async function listRuns(database: Database, filter: RunFilter = {}): Promise<RunRecord[]> {
  const table = (name: string) => sql.table(`${database.schema}.${name}`);
  const statuses = filter.status === undefined ? [] : [filter.status].flat();
  const conditions = [
    ...(statuses.length > 0 ? [sql`r.status in (${sql.join(statuses)})`] : []),
    ...(filter.job === undefined ? [] : [sql`r.job = ${filter.job}`]),
    ...(filter.definition === undefined ? [] : [sql`d.name = ${filter.definition}`]),
    ...(filter.before === undefined ? [] : [sql`r.id < ${filter.before}`]),
  ];
  const where = conditions.length === 0 ? sql`` : sql`where ${sql.join(conditions, sql` and `)}`;
  const result = await sql<RunRow>`
    select ${SELECTION} from ${table('job_runs')} r
    left join ${table('job_definitions')} d on d.id = r.definition_id
    left join ${table('workers')} w on w.id = r.locked_by
    ${where} order by r.id desc limit ${Math.min(filter.limit ?? 50, 1000)}`.execute(database.kysely);
  return result.rows.map(recordOf);
}

/** One run, or null. */
export async function getRun(database: Database, id: string): Promise<RunRecord | null> {
  if (!/^\d{1,18}$/.test(id)) return null;
  const table = (name: string) => sql.table(`${database.schema}.${name}`);
  const result = await sql<RunRow>`
    select ${SELECTION} from ${table('job_runs')} r
    left join ${table('job_definitions')} d on d.id = r.definition_id
    left join ${table('workers')} w on w.id = r.locked_by
    where r.id = ${id}`.execute(database.kysely);
  const [row] = result.rows;
  return row === undefined ? null : recordOf(row);
}

/** A definition as `tock jobs` shows it. */
export interface DefinitionRecord {
  readonly id: string;
  readonly name: string;
  readonly job: string;
  readonly origin: 'code' | 'runtime';
  /** Grows with each edit; pausing is none. */
  readonly version: number;
  readonly cron: string | null;
  readonly everyMs: number | null;
  /** With `everyMs`: how far after its alignment. */
  readonly phaseMs: number;
  readonly at: Date | null;
  /** What it runs after; null: it has a schedule of its own, or none. */
  readonly after: Chain | null;
  readonly timezone: string;
  readonly dst: Dst;
  readonly startAt: Date | null;
  readonly endAt: Date | null;
  readonly exclude: NonNullable<ScheduleSpec['exclude']>;
  /** Local hours in which its runs may start; null: all. */
  readonly window: string | null;
  readonly outsideWindow: OutsideWindow;
  readonly overlap: OverlapPolicy;
  readonly catchup: CatchupPolicy;
  readonly catchupWindowMs: number | null;
  readonly startDeadlineMs: number | null;
  readonly jitterMs: number;
  /** Of the scheduled runs; null where code computes it, or where there is no schedule. */
  readonly payload: unknown;
  readonly queue: string;
  readonly priority: number;
  readonly maxAttempts: number;
  readonly remaining: number | null;
  readonly pauseOnFailure: number | null;
  readonly cursor: Date;
  readonly nextAt: Date | null;
  readonly pausedAt: Date | null;
  readonly pauseReason: string | null;
  readonly brokenReason: string | null;
  readonly vanishedAt: Date | null;
  readonly lastRun: {
    readonly id: string;
    readonly status: RunStatus;
    readonly finishedAt: string | null;
  } | null;
}

const DEFINITIONS = `
select d.id, d.name, d.job, d.origin, d.version, d.cron, d.every_ms::float8 as "everyMs", d.phase_ms::float8 as "phaseMs", ${readable('d.at')} as at, d.after,
  d.active_window as "window", d.outside_window as "outsideWindow", d.pause_on_failure_count as "pauseOnFailure",
  d.timezone, d.dst, ${readable('d.start_at')} as "startAt", ${readable('d.end_at')} as "endAt", d.exclude, d.overlap, d.catchup,
  d.catchup_window_ms::float8 as "catchupWindowMs", d.start_deadline_ms::float8 as "startDeadlineMs",
  d.jitter_ms::float8 as "jitterMs", d.payload, d.queue, d.priority, d.max_attempts as "maxAttempts", d.remaining_count as remaining, ${readable('d.cursor')} as cursor, case when d.next_at > '-infinity' then ${readable('d.next_at')} end as "nextAt",
  ${readable('d.paused_at')} as "pausedAt", d.pause_reason as "pauseReason", d.broken_reason as "brokenReason", ${readable('d.vanished_at')} as "vanishedAt",
  (select jsonb_build_object('id', r.id::text, 'status', r.status, 'finishedAt', ${readable('r.finished_at')}) from tock.job_runs r
   where r.definition_id = d.id order by r.scheduled_for desc nulls last limit 1) as "lastRun"
from tock.job_definitions d
where ($1::text is null or d.name = $1) and ($3 or d.origin = 'code' or d.vanished_at is null)
order by d.next_at nulls last, d.name
limit $2`;

/** Which definitions `schedules.list` gives. */
export interface DefinitionFilter {
  readonly name?: string;
  /** Default 1000. */
  readonly limit?: number;
  /** Also those made at run time and removed since. Default false. */
  readonly removed?: boolean;
}

/** Definitions, those that are due next first. */
export async function listDefinitions(
  session: Session,
  { name, limit = 1000, removed = false }: DefinitionFilter = {},
): Promise<DefinitionRecord[]> {
  return await session.run<DefinitionRecord>(DEFINITIONS, [name ?? null, limit, removed]);
}

/** The database's time. */
export async function readClock(database: Database): Promise<Date> {
  const [row] = await database.run<{ now: Date }>('select tock.now() as now');
  return row?.now ?? new Date(Number.NaN);
}
