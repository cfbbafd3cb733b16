// Runs and definitions as people see them, in the words of the public API: ids as text, times as Dates.
import { type ExpressionBuilder, sql } from 'kysely';
import { jsonBuildObject } from 'kysely/helpers/postgres';
import type { Chain } from '../../model/planning/chain.js';
import type { CatchupPolicy, OverlapPolicy } from '../../model/planning/plan-occurrences.js';
import type { OutsideWindow } from '../../model/planning/window.js';
import { readRunMatch } from '../../model/run/run-match.js';
import type { RunFilter, RunRecord } from '../../model/run/run-record.js';
import type { RunStatus } from '../../model/run/states.js';
import { readErrors, readProgress } from '../../model/run/stored-run.js';
import type { Dst, ScheduleSpec } from '../../model/schedule/spec.js';
import type { Session } from '../connection/database.js';
import { db, firstRow, isAnyOf, readableInstant, readableText, runQuery } from '../connection/query.js';
import type { Schema } from '../schema/tables.js';
import { HAND_OFFS, readHandOffs } from './runs/hand-offs.js';
import { LISTED_PAYLOAD } from './runs/listed-payload.js';
import { listRunPage } from './runs/run-list.js';
import { SUCCESSOR } from './runs/successors.js';
import { readWaits, WAITS, type WaitRow } from './runs/waits.js';

const RUNS = db
  .selectFrom('tock.job_runs as r')
  .leftJoin('tock.job_definitions as d', 'd.id', 'r.definition_id')
  .leftJoin('tock.workers as w', 'w.id', 'r.locked_by')
  .select([
    'r.id',
    'r.job',
    'd.name as definition',
    'r.status',
    'r.attempts',
    'r.max_attempts as maxAttempts',
    'r.queue',
    'r.priority',
    'r.trigger',
    'r.occurrence_count as occurrenceCount',
    'r.locked_by as lockedBy',
    'r.idempotency_key as idempotencyKey',
    'r.output',
    'r.progress',
    'r.errors',
    'r.skip_reason as skipReason',
    'r.fence',
    'r.generation',
    'r.releases',
    sql<number>`coalesce(r.snoozes, 0)`.as('snoozes'),
    'r.slot_keys as concurrencyKeys',
    'r.blocked_on as blockedOn',
  ])
  .select(eb => [
    readableInstant(eb.ref('r.scheduled_for')).as('scheduledFor'),
    readableInstant(eb.ref('r.interval_start')).as('intervalStart'),
    readableInstant(eb.ref('r.run_at')).as('runAt'),
    readableInstant(eb.ref('r.created_at')).as('createdAt'),
    readableInstant(eb.ref('r.began_at')).as('beganAt'),
    readableInstant(eb.ref('r.started_at')).as('startedAt'),
    readableInstant(eb.ref('r.finished_at')).as('finishedAt'),
    readableInstant(eb.ref('r.locked_until')).as('lockedUntil'),
    readableInstant(eb.ref('r.cancel_requested_at')).as('cancelRequestedAt'),
    sql<string | null>`${eb.ref('w.host')} || ' pid ' || ${eb.ref('w.pid')}`.as('worker'),
    HAND_OFFS.as('handOffs'),
    WAITS.as('waits'),
    SUCCESSOR.as('successor'),
  ]);

type RunRow = Omit<RunRecord, 'errors' | 'progress' | 'handOff' | 'handOffs' | 'waits'> & {
  readonly errors: unknown;
  readonly progress: unknown;
  readonly handOffs: Parameters<typeof readHandOffs>[1];
  readonly waits: readonly WaitRow[];
};

const recordOf = (row: RunRow): RunRecord => ({
  ...row,
  ...readHandOffs(row, row.handOffs),
  waits: readWaits(row.waits),
  progress: readProgress(row.progress),
  errors: readErrors(row.errors, row.createdAt),
});

/**
 * Lists runs, newest first. Walks the ids downward, so that a page costs the same at any depth.
 * @throws TockError TOCK_BAD_OPTION
 */
export async function listRuns(
  session: Session,
  { before, limit = 50, ...match }: RunFilter = {},
): Promise<RunRecord[]> {
  const page = { before, limit: Math.min(limit, 1000) };
  const { runs } = await listRunPage(session, readRunMatch(match), page);
  if (runs.length === 0) return [];
  const ids = runs.map(run => run.id);
  const query = RUNS.select(LISTED_PAYLOAD).where(eb => isAnyOf(eb.ref('r.id'), ids, 'bigint'));
  return (await runQuery(session, query.orderBy('r.id', 'desc'))).map(recordOf);
}

export async function getRun(session: Session, id: string): Promise<RunRecord | null> {
  if (!/^\d{1,18}$/.test(id)) return null;
  const row = await firstRow(session, RUNS.select('r.payload').where('r.id', '=', id));
  return row === undefined ? null : recordOf(row);
}

/** A definition as `tock jobs` shows it. */
export interface DefinitionRecord {
  readonly id: string;
  readonly name: string;
  readonly job: string;
  readonly origin: 'code' | 'runtime';
  /** Grows with each edit, but not with a pause. */
  readonly version: number;
  readonly cron: string | null;
  readonly everyMs: number | null;
  /** With `everyMs`: the offset from its alignment. */
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
  /** Of the scheduled runs; null if code computes it, or if there is no schedule. */
  readonly payload: unknown;
  readonly queue: string;
  readonly priority: number;
  readonly maxAttempts: number;
  readonly remaining: number | null;
  readonly pauseOnFailure: number | null;
  /** A success is expected this long after each occurrence; null: nothing is expected. */
  readonly expectWithinMs: number | null;
  /** How long an attempt should take at most; null: any time. */
  readonly maxDurationMs: number | null;
  readonly cursor: Date;
  readonly nextAt: Date | null;
  readonly pausedAt: Date | null;
  readonly pauseReason: string | null;
  /** Of the act that paused it together with others; null: it is paused on its own, or not at all. */
  readonly pauseId: string | null;
  readonly brokenReason: string | null;
  readonly vanishedAt: Date | null;
  readonly lastRun: {
    readonly id: string;
    readonly status: RunStatus;
    readonly finishedAt: string | null;
  } | null;
}

const DEFINITIONS = db
  .selectFrom('tock.job_definitions as d')
  .select([
    'd.id',
    'd.name',
    'd.job',
    'd.origin',
    'd.version',
    'd.cron',
    'd.after',
    'd.active_window as window',
    'd.outside_window as outsideWindow',
    'd.pause_on_failure_count as pauseOnFailure',
    'd.timezone',
    'd.dst',
    'd.overlap',
    'd.catchup',
    'd.payload',
    'd.queue',
    'd.priority',
    'd.max_attempts as maxAttempts',
    'd.remaining_count as remaining',
    'd.pause_reason as pauseReason',
    'd.pause_id as pauseId',
    'd.broken_reason as brokenReason',
  ])
  .select(eb => [
    eb.ref('d.exclude').$castTo<DefinitionRecord['exclude']>().as('exclude'),
    eb.cast<number | null>('d.every_ms', 'float8').as('everyMs'),
    eb.cast<number>('d.phase_ms', 'float8').as('phaseMs'),
    eb.cast<number | null>('d.catchup_window_ms', 'float8').as('catchupWindowMs'),
    eb.cast<number | null>('d.start_deadline_ms', 'float8').as('startDeadlineMs'),
    eb.cast<number>('d.jitter_ms', 'float8').as('jitterMs'),
    eb.cast<number | null>('d.expect_within_ms', 'float8').as('expectWithinMs'),
    eb.cast<number | null>('d.max_duration_ms', 'float8').as('maxDurationMs'),
    readableInstant(eb.ref('d.at')).as('at'),
    readableInstant(eb.ref('d.start_at')).as('startAt'),
    readableInstant(eb.ref('d.end_at')).as('endAt'),
    readableInstant(eb.ref('d.cursor')).as('cursor'),
    readableInstant(eb.ref('d.paused_at')).as('pausedAt'),
    readableInstant(eb.ref('d.vanished_at')).as('vanishedAt'),
  ])
  .select(eb => [
    // Unknown before the first tick.
    eb
      .case()
      .when('d.next_at', '>', sql<Date>`'-infinity'`)
      .then(readableInstant(eb.ref('d.next_at')))
      .end()
      .as('nextAt'),
    lastRun(eb).as('lastRun'),
  ]);

function lastRun(eb: ExpressionBuilder<Schema & { d: Schema['tock.job_definitions'] }, 'd'>) {
  return eb
    .selectFrom('tock.job_runs as r')
    .whereRef('r.definition_id', '=', 'd.id')
    .orderBy('r.scheduled_for', order => order.desc().nullsLast())
    .limit(1)
    .select(run =>
      jsonBuildObject({
        id: run.cast<string>('r.id', 'text'),
        status: run.ref('r.status'),
        finishedAt: readableText(run.ref('r.finished_at')),
      }).as('run'),
    );
}

/** Which definitions `schedules.list` gives. */
export interface DefinitionFilter {
  readonly name?: string;
  /** Only those of this job. */
  readonly job?: string;
  /** Only those whose name begins with this. */
  readonly prefix?: string;
  /**
   * Only those whose name comes after this one, in the order of the names: the next page. The first begins
   * after `''`.
   */
  readonly after?: string;
  /** Default 1000. */
  readonly limit?: number;
  /** Also those made at run time and removed since. Default false. */
  readonly removed?: boolean;
}

/** Those due next first; with `after`, by name, along the index of the names. */
export async function listDefinitions(
  session: Session,
  { name, job, prefix, after, limit = 1000, removed = false }: DefinitionFilter = {},
): Promise<DefinitionRecord[]> {
  const query = DEFINITIONS.where(eb =>
    eb.and([
      ...(name === undefined ? [] : [eb('d.name', '=', name)]),
      ...(job === undefined ? [] : [eb('d.job', '=', job)]),
      ...(prefix === undefined ? [] : [sql<boolean>`starts_with(${eb.ref('d.name')}, ${prefix})`]),
      ...(after === undefined ? [] : [eb('d.name', '>', after)]),
      ...(removed ? [] : [eb.or([eb('d.origin', '=', 'code'), eb('d.vanished_at', 'is', null)])]),
    ]),
  )
    .$if(after === undefined, all => all.orderBy('d.next_at', order => order.asc().nullsLast()))
    .orderBy('d.name')
    .limit(limit);
  return await runQuery(session, query);
}

/** The definitions of these names, removed or not, in no order. */
export async function readDefinitionRecords(
  session: Session,
  names: readonly string[],
): Promise<DefinitionRecord[]> {
  return await runQuery(
    session,
    DEFINITIONS.where(eb => isAnyOf(eb.ref('d.name'), names, 'text')),
  );
}
