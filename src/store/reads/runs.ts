// Runs and definitions as people see them, in the words of the public API: ids as text, times as Dates.
import { type ExpressionBuilder, sql } from 'kysely';
import { jsonBuildObject } from 'kysely/helpers/postgres';
import type { DefinitionRecord } from '../../model/planning/definition-columns.js';
import type { RunFilter, RunRecord } from '../../model/run/run-record.js';
import { readErrors, readProgress } from '../../model/run/stored-run.js';
import type { Session } from '../connection/database.js';
import { db, firstRow, isAnyOf, readableInstant, readableText, runQuery } from '../connection/query.js';
import { SHOWN } from '../definitions/declared-columns.js';
import type { Schema } from '../schema/tables.js';
import { DEPLOY } from './runs/deploys.js';
import { HAND_OFFS, readHandOffs } from './runs/hand-offs.js';
import { readMatch } from './runs/read-match.js';
import { listRunPage } from './runs/run-list.js';
import { SUCCESSOR } from './runs/successors.js';
import { readWaits, WAITS, type WaitRow } from './runs/waits.js';

export type { DefinitionRecord } from '../../model/planning/definition-columns.js';

/** PostgreSQL writes JSON with spaces, so this is about twice the usual limit of payloads. */
const MAX_LISTED_BYTES = 2 * 1024 * 1024;

/** A note takes the place of a larger payload of the run `r`, so that it does not hide the others. */
const LISTED_PAYLOAD =
  sql`case when pg_column_size(r.payload) > 16384 and octet_length(r.payload::text) > ${sql.lit(MAX_LISTED_BYTES)}
  then jsonb_build_object('payloadLeftOut', 'it has ' || octet_length(r.payload::text) || ' bytes') else r.payload end`.as(
    'payload',
  );

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
    'r.tags',
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
    DEPLOY.as('deploy'),
  ]);

type RunRow = Omit<RunRecord, 'errors' | 'progress' | 'handOff' | 'handOffs' | 'waits'> & {
  readonly errors: unknown;
  readonly progress: unknown;
  readonly handOffs: Parameters<typeof readHandOffs>[1];
  readonly waits: readonly WaitRow[];
};

const recordOf = (row: RunRow): RunRecord => {
  const errors = readErrors(row.errors, row.createdAt);
  return {
    ...row,
    ...readHandOffs(row, row.handOffs),
    waits: readWaits(row.waits),
    progress: readProgress(row.progress),
    errors,
    // One that waits for another attempt is no worker's.
    deploy: row.deploy ?? (row.status === 'failed' ? (errors.at(-1)?.deploy ?? null) : null),
  };
};

/**
 * Lists runs. Walks the ids downward, or the ends, so that a page costs the same at any depth.
 * @throws TockError TOCK_BAD_OPTION, TOCK_BAD_TIME
 */
export async function listRuns(
  session: Session,
  { before, order = 'newest', limit = 50, ...match }: RunFilter = {},
): Promise<RunRecord[]> {
  const page = { before, order, limit: Math.min(limit, 1000) };
  const { runs } = await listRunPage(session, await readMatch(session, match), page);
  if (runs.length === 0) return [];
  const ids = runs.map(run => run.id);
  const query = RUNS.select(LISTED_PAYLOAD).where(eb => isAnyOf(eb.ref('r.id'), ids, 'bigint'));
  const records = new Map((await runQuery(session, query)).map(row => [row.id, recordOf(row)]));
  return ids.flatMap(id => records.get(id) ?? []);
}

export async function getRun(session: Session, id: string): Promise<RunRecord | null> {
  if (!/^\d{1,18}$/.test(id)) return null;
  const row = await firstRow(session, RUNS.select('r.payload').where('r.id', '=', id));
  return row === undefined ? null : recordOf(row);
}

const DEFINITIONS = db
  .selectFrom('tock.job_definitions as d')
  .select([
    'd.id',
    'd.origin',
    'd.service',
    'd.version',
    'd.pause_reason as pauseReason',
    'd.pause_id as pauseId',
    'd.broken_reason as brokenReason',
  ])
  .select(SHOWN)
  .select(eb => [
    readableInstant(eb.ref('d.cursor')).as('cursor'),
    readableInstant(eb.ref('d.paused_at')).as('pausedAt'),
    readableInstant(eb.ref('d.paused_until')).as('pausedUntil'),
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
  /** Only those of this service; empty: those of none. */
  readonly service?: string;
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
  { name, job, service, prefix, after, limit = 1000, removed = false }: DefinitionFilter = {},
): Promise<DefinitionRecord[]> {
  const query = DEFINITIONS.where(eb =>
    eb.and([
      ...(name === undefined ? [] : [eb('d.name', '=', name)]),
      ...(job === undefined ? [] : [eb('d.job', '=', job)]),
      ...(service === undefined ? [] : [eb('d.service', '=', service)]),
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
