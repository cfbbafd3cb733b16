// What the tables hold about the occurrences of one definition, for `tock why`. Reads only.
import { sql } from 'kysely';
import type { ConsideredDefinition } from '../../../model/explain/without-row.js';
import type { DefinitionColumns } from '../../../model/planning/definition-columns.js';
import type { RunStatus, Trigger } from '../../../model/run/states.js';
import type { Session } from '../../connection/database.js';
import {
  db,
  firstRow,
  isSet,
  now,
  readableInstant,
  runQuery,
  selectedInstant,
} from '../../connection/query.js';
import { DECLARED } from '../../definitions/declared-columns.js';
import type { MayBeExcepted } from '../../definitions/occurrences/exceptions.js';
import type { Origin } from '../../schema/tables.js';

/** A definition with its whole schedule, and when a tick was last seen. */
export interface WhyDefinition extends DefinitionColumns, ConsideredDefinition, MayBeExcepted {
  readonly origin: Origin;
  readonly service: string;
  readonly resumed_at: Date | null;
  /** When its pause ends by itself; null: not by itself. */
  readonly paused_until: Date | null;
  readonly pause_reason: string | null;
  readonly pause_id: string | null;
  readonly broken_reason: string | null;
  /** Null if no tick or daemon was ever seen. */
  readonly seen_at: Date | null;
}

/** A definition's own columns, in a query over `d`. */
export const WHY_DEFINITIONS = db
  .selectFrom('tock.job_definitions as d')
  .select([
    'd.id',
    'd.origin',
    'd.version',
    'd.service',
    'd.pause_reason',
    'd.pause_id',
    'd.broken_reason',
    selectedInstant(now).as('now'),
  ])
  .select(DECLARED)
  .select(eb => [
    readableInstant(eb.ref('d.cursor')).as('cursor'),
    readableInstant(eb.ref('d.created_at')).as('created_at'),
    readableInstant(eb.ref('d.updated_at')).as('updated_at'),
    readableInstant(eb.ref('d.paused_at')).as('paused_at'),
    readableInstant(eb.ref('d.paused_until')).as('paused_until'),
    readableInstant(eb.ref('d.resumed_at')).as('resumed_at'),
    readableInstant(eb.ref('d.broken_at')).as('broken_at'),
    readableInstant(eb.ref('d.vanished_at')).as('vanished_at'),
    // Also by what the cursor has passed: it is shown.
    isSet(eb.ref('d.excepted_until')).as('is_excepted'),
  ]);

export async function readWhyDefinition(session: Session, name: string): Promise<WhyDefinition | null> {
  const registered = db
    .selectFrom('tock.registrations')
    .select(eb => eb.fn.max<Date | null>('seen_at').as('at'))
    .where('is_current', '=', true)
    // What was made at run time, any process materializes.
    .where(sql<boolean>`(service = d.service or d.origin = 'runtime')`);
  const worked = db.selectFrom('tock.workers').select(eb => eb.fn.max<Date | null>('seen_at').as('at'));
  const query = WHY_DEFINITIONS.select(
    selectedInstant(sql<Date | null>`greatest(${registered}, ${worked})`).as('seen_at'),
  ).where('d.name', '=', name);
  return (await firstRow(session, query)) ?? null;
}

/** What a run says about the occurrences that it stands for. */
export interface WhyRow {
  readonly id: string;
  readonly scheduled_for: Date;
  readonly interval_start: Date | null;
  readonly status: RunStatus;
  readonly trigger: Trigger;
  readonly skip_reason: string | null;
  readonly occurrence_count: number;
  readonly has_key: boolean;
  /** A worker had claimed it before it was skipped. */
  readonly was_claimed: boolean;
}

/** A row for a span of occurrences lies at the span's end, and is followed by the run that stands for it. */
const MAX_AFTER = 50;

const ROWS = db
  .selectFrom('tock.job_runs as r')
  .select(['r.id', 'r.status', 'r.trigger', 'r.skip_reason', 'r.occurrence_count'])
  .select(eb => [
    readableInstant(eb.ref('r.scheduled_for')).$notNull().as('scheduled_for'),
    readableInstant(eb.ref('r.interval_start')).as('interval_start'),
    isSet(eb.ref('r.idempotency_key')).as('has_key'),
    eb('r.fence', '>', 0).$castTo<boolean>().as('was_claimed'),
  ]);

/** The runs of the occurrences in [from, to], and the next ones after, which may stand for them. */
export async function readWhyRows(
  session: Session,
  definitionId: string,
  from: Date,
  to: Date,
): Promise<WhyRow[]> {
  const rows = ROWS.where('r.definition_id', '=', definitionId);
  const after = rows.where('r.scheduled_for', '>', to).orderBy('r.scheduled_for').limit(MAX_AFTER);
  const query = rows
    .where('r.scheduled_for', '>=', from)
    .where('r.scheduled_for', '<=', to)
    .unionAll(eb => eb.parens(after))
    .orderBy('scheduled_for')
    .orderBy('id');
  return await runQuery(session, query);
}

export async function readOccurrence(
  session: Session,
  definitionId: string,
  at: Date,
): Promise<{ readonly runId: string; readonly usedAt: Date } | null> {
  const query = db
    .selectFrom('tock.job_occurrences')
    .select(eb => ['run_id as runId', selectedInstant(eb.ref('created_at')).as('usedAt')])
    .where('definition_id', '=', definitionId)
    .where('scheduled_for', '=', at);
  return (await firstRow(session, query)) ?? null;
}

/** The runs that were live when an occurrence was skipped for overlap, newest first, as far as known. */
export async function readBlockers(
  session: Session,
  definitionId: string,
  firstSkipped: Date,
  skippedAt: Date,
  limit: number,
): Promise<string[]> {
  const query = db
    .selectFrom('tock.job_runs as r')
    .select('r.id')
    .where('r.definition_id', '=', definitionId)
    .where('r.scheduled_for', '<', firstSkipped)
    .where('r.status', '<>', 'skipped')
    .where(eb => eb.or([eb('r.finished_at', 'is', null), eb('r.finished_at', '>=', skippedAt)]))
    .orderBy('r.scheduled_for', 'desc')
    .limit(limit);
  return (await runQuery(session, query)).map(row => row.id);
}

const MAX_HOLDERS = 5;

/** The first five runs that hold slots under a concurrency key, and how many there are in all. */
export async function readHolders(
  session: Session,
  key: string,
): Promise<{ readonly ids: readonly string[]; readonly count: number }> {
  const query = db
    .selectFrom('tock.job_slots as s')
    .select(eb => ['s.run_id', eb.cast<number>(eb.fn.countAll().over(), 'integer').as('count')])
    .where('s.concurrency_key', '=', key)
    .orderBy('s.slot')
    .limit(MAX_HOLDERS);
  const rows = await runQuery(session, query);
  return { ids: rows.map(row => row.run_id), count: rows[0]?.count ?? 0 };
}
