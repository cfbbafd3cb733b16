// Room: store. What the ledger holds about the occurrences of one definition: what `tock why` is told from.
// In: a definition's name, or its id and a span of time. Out: rows. Reads only.
import type { StoredColumns } from '../../model/planning/definition.js';
import type { Session } from '../connection/database.js';
import { readable } from '../connection/readable-instant.js';
import { STORED_COLUMNS } from '../definitions/stated-columns.js';

/** A definition with all that its schedule is made of, and when it was last seen to. Cursor and now in ms. */
export interface WhyDefinition extends StoredColumns {
  readonly id: string;
  readonly origin: string;
  readonly version: number;
  readonly cursor: Date;
  readonly created_at: Date;
  readonly updated_at: Date;
  readonly paused_at: Date | null;
  readonly pause_reason: string | null;
  readonly broken_at: Date | null;
  readonly broken_reason: string | null;
  readonly vanished_at: Date | null;
  readonly now: Date;
  /** When a tick or a daemon was last heard of; null where none ever was. */
  readonly seen_at: Date | null;
}

const DEFINITION = `
select d.id::text, ${STORED_COLUMNS}, d.origin, d.version, ${['cursor', 'created_at', 'updated_at', 'paused_at', 'broken_at', 'vanished_at'].map(column => `${readable(`d.${column}`)} as ${column}`).join(', ')},
  d.pause_reason, d.broken_reason, tock.now() as now,
  greatest((select max(r.seen_at) from tock.registrations r where r.is_current), (select max(w.seen_at) from tock.workers w)) as seen_at
from tock.job_definitions d where d.name = $1`;

/** The definition, or null. */
export async function readWhyDefinition(session: Session, name: string): Promise<WhyDefinition | null> {
  const [row] = await session.run<WhyDefinition>(DEFINITION, [name]);
  return row ?? null;
}

/** A run as far as it tells which occurrences it stands for. */
export interface WhyRow {
  readonly id: string;
  readonly scheduled_for: Date;
  readonly interval_start: Date | null;
  readonly status: string;
  readonly trigger: string;
  readonly skip_reason: string | null;
  readonly occurrence_count: number;
  readonly has_key: boolean;
  /** A worker had claimed it before it was skipped. */
  readonly was_claimed: boolean;
}

/** A row for a span of occurrences lies at the span's end, and is followed by the run that stands for it. */
const MOST_AFTER = 50;

const WHY_ROW = `r.id::text, ${readable('r.scheduled_for')} as scheduled_for, ${readable('r.interval_start')} as interval_start, r.status, r.trigger, r.skip_reason, r.occurrence_count,
  r.idempotency_key is not null as has_key, r.fence > 0 as was_claimed`;
const ROWS = `
(select ${WHY_ROW} from tock.job_runs r where r.definition_id = $1 and r.scheduled_for >= $2 and r.scheduled_for <= $3)
union all
(select ${WHY_ROW} from tock.job_runs r where r.definition_id = $1 and r.scheduled_for > $3
 order by r.scheduled_for limit ${MOST_AFTER})
order by scheduled_for, id`;

/** The runs of the occurrences in [from, to], and the next ones after, which may stand for them. */
export async function readWhyRows(
  session: Session,
  definitionId: string,
  from: Date,
  to: Date,
): Promise<WhyRow[]> {
  return await session.run<WhyRow>(ROWS, [definitionId, from, to]);
}

/** Which run an occurrence was given, and when. */
export async function readOccurrence(
  session: Session,
  definitionId: string,
  at: Date,
): Promise<{ readonly runId: string; readonly usedAt: Date } | null> {
  const [row] = await session.run<{ runId: string; usedAt: Date }>(
    `select run_id::text as "runId", created_at as "usedAt" from tock.job_occurrences where definition_id = $1 and scheduled_for = $2`,
    [definitionId, at],
  );
  return row ?? null;
}

const BLOCKERS = `
select r.id::text from tock.job_runs r
where r.definition_id = $1 and r.scheduled_for < $2 and r.status <> 'skipped' and (r.finished_at is null or r.finished_at >= $3)
order by r.scheduled_for desc limit $4`;

/** The runs that were live when an occurrence was skipped for overlap, the last ones first, as far as they are known. */
export async function readBlockers(
  session: Session,
  definitionId: string,
  firstSkipped: Date,
  skippedAt: Date,
  limit: number,
): Promise<string[]> {
  const rows = await session.run<{ id: string }>(BLOCKERS, [definitionId, firstSkipped, skippedAt, limit]);
  return rows.map(row => row.id);
}

const HOLDERS = `
select array(select s.run_id::text from tock.job_slots s where s.concurrency_key = $1 order by s.slot limit $2) as ids,
  (select count(*) from tock.job_slots s where s.concurrency_key = $1)::integer as count`;
const MOST_HOLDERS = 5;

/** Who holds the places under a concurrency key: the first five, and how many there are. */
export async function readHolders(
  session: Session,
  key: string,
): Promise<{ readonly ids: readonly string[]; readonly count: number }> {
  const [row] = await session.run<{ ids: string[]; count: number }>(HOLDERS, [key, MOST_HOLDERS]);
  return row ?? { ids: [], count: 0 };
}
