// Room: engine. A stored definition under its lock, and what an edit, a pause or a removal leaves on record.
// In: a name, inside a transaction. Out: the row; the span of occurrences that will give no run, as one skipped row.

import { TockError } from '../../model/errors.js';
import { quote } from '../../model/names.js';
import { fingerprintOf, type StoredColumns, scheduleOfColumns } from '../../model/planning/definition.js';
import { MAX_COUNTED } from '../../model/planning/plan-occurrences.js';
import type { SkipReason } from '../../model/run/states.js';
import { type CompiledSchedule, compileSchedule } from '../../model/schedule/compile.js';
import type { Session } from '../../store/connection/database.js';
import { STORED_COLUMNS } from '../../store/definitions/stated-columns.js';
import { type DefinitionRecord, listDefinitions } from '../../store/reads/runs.js';
import { writeOutbox } from '../../store/runs/transition.js';

/** A row of job_definitions, with what an edit has to know of it. */
export interface StoredDefinition extends StoredColumns {
  readonly id: string;
  readonly origin: 'code' | 'runtime';
  readonly version: number;
  readonly fingerprint: string | null;
  /** Epoch milliseconds. */
  readonly cursor_ms: number;
  readonly is_vanished: boolean;
  readonly is_paused: boolean;
  readonly is_broken: boolean;
}

const SELECT = `
select id, origin, version, fingerprint, ${STORED_COLUMNS}, (extract(epoch from cursor) * 1000)::float8 as cursor_ms,
  vanished_at is not null as is_vanished, paused_at is not null as is_paused, broken_at is not null as is_broken
from tock.job_definitions`;
const READ = `${SELECT} where name = $1`;
const READ_OF_ZONE = `${SELECT}
where timezone = $1 and next_at is not null and paused_at is null and broken_at is null and vanished_at is null
order by next_at, id limit $2`;

/** The definitions of a time zone that are planned, those due next first. */
export async function readZoneDefinitions(
  session: Session,
  timezone: string,
  limit: number,
): Promise<StoredDefinition[]> {
  return await session.run<StoredDefinition>(READ_OF_ZONE, [timezone, limit]);
}

/** Reads a definition; null when there is none of the name. Takes no lock. */
export async function readDefinition(session: Session, name: string): Promise<StoredDefinition | null> {
  const [row] = await session.run<StoredDefinition>(READ, [name]);
  return row ?? null;
}

/** Reads a definition and locks it until the transaction ends: a tick that is materializing it is waited for. */
export async function lockDefinition(session: Session, name: string): Promise<StoredDefinition | null> {
  const [row] = await session.run<StoredDefinition>(`${READ} for update`, [name]);
  return row ?? null;
}

/** The row, where there is one that was not removed. @throws TockError TOCK_NOT_FOUND */
export function demandDefinition(row: StoredDefinition | null, name: string): StoredDefinition {
  if (row && !(row.is_vanished && row.origin === 'runtime')) return row;
  throw new TockError(
    'TOCK_NOT_FOUND',
    `there is no definition ${quote(name)} (tock jobs lists them; one that is new in code is registered by the next tick)`,
  );
}

/** The definition as people see it, removed or not. @throws TockError TOCK_NOT_FOUND */
export async function readRecord(session: Session, name: string): Promise<DefinitionRecord> {
  const [record] = await listDefinitions(session, { name, removed: true });
  if (record) return record;
  throw new TockError('TOCK_NOT_FOUND', `the definition ${quote(name)} was deleted meanwhile`);
}

/** The database's time in epoch milliseconds. Read after the lock, it is past any cursor that another holder wrote. */
export async function readNow(session: Session): Promise<number> {
  const [row] = await session.run<{ now: number }>(
    `select floor(extract(epoch from tock.now()) * 1000)::float8 as now`,
  );
  return row?.now ?? 0;
}

/** What a row has besides the columns that somebody stated. */
const BESIDES = 'id origin version fingerprint cursor_ms is_vanished is_paused is_broken'.split(' ');

/** The columns as they are now: a hash of them is equal to that of an edit which changes nothing. */
export function storedFingerprint(row: StoredDefinition): string {
  const stated = Object.entries(row).filter(([column]) => !BESIDES.includes(column));
  return fingerprintOf(
    Object.fromEntries(
      stated.map(([column, value]) => [
        column,
        value instanceof Date ? value.toISOString() : (value as unknown),
      ]),
    ),
  );
}

/** The compiled schedule; null where there is none. @throws TockError TOCK_BAD_SCHEDULE for one that is broken */
export function scheduleOf(row: StoredColumns): CompiledSchedule | null {
  const spec = scheduleOfColumns(row);
  return spec === null ? null : compileSchedule(spec, row.name);
}

/** As {@link scheduleOf}, but null for a definition that cannot be evaluated: it expects nothing. */
export function workingSchedule(row: StoredColumns): CompiledSchedule | null {
  try {
    return scheduleOf(row);
  } catch {
    return null;
  }
}

/** Occurrences that gave no run: how many, the first and the last. Counted up to 100,000. */
export interface SkippedSpan {
  readonly count: number;
  readonly first: Date;
  readonly last: Date;
}

/** The occurrences after the cursor, up to `now`; null when there are none. */
function spanUpTo(row: StoredDefinition, now: number): SkippedSpan | null {
  const schedule = workingSchedule(row);
  const first = schedule?.next(row.cursor_ms) ?? null;
  if (schedule === null || first === null || first > now || row.remaining_count === 0) return null;
  const most = Math.min(row.remaining_count ?? MAX_COUNTED, MAX_COUNTED);
  let count = 0;
  for (let at: number | null = first; at !== null && at <= now && count < most; at = schedule.next(at))
    count++;
  return { count, first: new Date(first), last: new Date(schedule.previous(now + 1) ?? first) };
}

// Without a key: the row stands for a span, and a backfill may yet make a run of each occurrence in it. The lock
// and the cursor, which moves past the span in the same transaction, keep it from being recorded twice.
const RECORD = `
with skipped as (
  insert into tock.job_runs_finished (id, definition_id, job, queue, priority, max_attempts, payload, scheduled_for, run_at,
  interval_start, occurrence_count, trigger, status, finished_at, skip_reason)
select nextval('tock.job_runs_id_seq'), d.id, d.job, d.queue, d.priority, d.max_attempts, d.payload, $3::timestamptz, $3, $2::timestamptz,
  $4::integer, 'cron', 'skipped', tock.now(), $5::text
  from tock.job_definitions d where d.id = $1
  returning id, generation, definition_id, scheduled_for, job
), ${writeOutbox('skipped', `'skipped'`)}
select id from skipped`;

/**
 * Records the occurrences after the cursor, up to `now`, as one skipped row. The caller holds the lock, and moves
 * the cursor to `now` in the same transaction, after this: the row is read as it was.
 */
export async function recordSpan(
  session: Session,
  row: StoredDefinition,
  now: number,
  reason: SkipReason,
): Promise<SkippedSpan | null> {
  const span = spanUpTo(row, now);
  if (span) {
    const { first, last, count } = span;
    await session.run(RECORD, [row.id, first.toISOString(), last.toISOString(), count, reason]);
  }
  return span;
}
