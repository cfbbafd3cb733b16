// Which database the schema belongs to, so that a restored dump does not tick beside its original.
//
// The schema knows where it was made (database_identity); tock.is_copy() says how a copy is recognized.
import { TockError } from '../../model/errors.js';
import type { Database, Session } from '../connection/database.js';
import { statement } from '../connection/statement.js';
import { instant } from '../connection/values/readable-instant.js';

/** Whether the schema was made in another database, as a condition in SQL. */
export const IS_COPY = 'tock.is_copy()';

const NOTE = statement<object, never>(
  'note-identity',
  `select tock.note_identity() where not exists (select from tock.database_identity)`,
);
const ASK = statement<object, { isCopy: boolean }>('is-copy', `select ${IS_COPY} as "isCopy"`);

/** Notes the database as the schema's own, unless one is noted already. */
export async function noteIdentity(session: Session): Promise<void> {
  await NOTE.run(session, {});
}

export function copiedError(schema: string): TockError {
  return new TockError(
    'TOCK_DATABASE_COPIED',
    `this database is a copy: the schema ${schema} was made in another one, and if both execute its schedules and runs, all of it happens twice. If the other one no longer does, or this one is to take over, run: tock adopt`,
  );
}

/** @throws TockError TOCK_DATABASE_COPIED if this database is a copy */
export async function requireOriginal(database: Database): Promise<void> {
  if ((await ASK.first(database, {}))?.isCopy) throw copiedError(database.schema);
}

/** What a copy will execute once it is adopted. */
export interface Adoption {
  /** Whether it was a copy before. If not, adopting changes nothing. */
  readonly isCopy: boolean;
  /** Since when the schema belonged to the original database. */
  readonly notedAt: Date;
  readonly queued: number;
  readonly failed: number;
  readonly running: number;
  /** Definitions with a schedule that is not paused. */
  readonly scheduled: number;
  /** The next occurrence that would become a run; null: none. */
  readonly nextAt: Date | null;
}

const PREVIEW = statement<object, Adoption>(
  'preview-adoption',
  `
select ${IS_COPY} as "isCopy", (select ${instant('max(i.noted_at)')} from tock.database_identity i) as "notedAt",
  count(*) filter (where r.status = 'queued')::integer as queued,
  count(*) filter (where r.status = 'failed')::integer as failed,
  count(*) filter (where r.status = 'running')::integer as running,
  (select count(*)::integer from tock.job_definitions d where d.next_at is not null and d.paused_at is null and d.broken_at is null
    and d.vanished_at is null) as scheduled,
  (select ${instant('min(d.next_at)')} from tock.job_definitions d where isfinite(d.next_at) and d.paused_at is null and d.broken_at is null
    and d.vanished_at is null) as "nextAt"
from tock.job_runs_live r`,
);

async function readAdoption(session: Session): Promise<Adoption> {
  const row = await PREVIEW.first(session, {});
  if (!row) throw new Error('the preview of an adoption gave no row');
  return row;
}

const ADOPT = statement<object, never>('adopt-database', `select tock.note_identity()`);
const NEW_ORIGIN = statement<object, never>(
  'new-origin-of-changes',
  `update tock.changes_head set origin = default`,
);

const RAISE_SEQUENCES = statement<object, object>(
  'raise-sequences',
  `
-- Logical replication copies rows and no sequences: the ids to come must not be those of runs that are there.
select setval(s.name, greatest(s.used, coalesce(pg_sequence_last_value(s.name::regclass), 1))) from (
  select 'tock.job_runs_id_seq' as name, greatest(1, (select max(id) from tock.job_runs), (select max(run_id) from tock.job_keys),
    (select max(run_id) from tock.job_occurrences), (select max(run_id) from tock.job_effects), (select max(run_id) from tock.job_successors)) as used
  union all
  select pg_get_serial_sequence('tock.job_definitions', 'id'), greatest(1, (select max(id) from tock.job_definitions))
  union all
  select pg_get_serial_sequence('tock.job_outbox', 'id'), greatest(1, (select max(id) from tock.job_outbox))
  union all
  select pg_get_serial_sequence('tock.job_changes', 'id'), greatest(1, (select max(id) from tock.job_changes))
  union all
  select pg_get_serial_sequence('tock.audit', 'id'), greatest(1, (select max(id) from tock.audit))
) s`,
);

/**
 * Makes a copy a database of its own, in one transaction. Returns what it holds. Needs the owner's rights.
 * @param onAdopted called in that transaction, unless nothing was changed
 */
export async function adoptDatabase(
  database: Database,
  { dryRun = false } = {},
  onAdopted?: (session: Session, adoption: Adoption) => Promise<unknown>,
): Promise<Adoption> {
  return await database.transaction(async session => {
    const adoption = await readAdoption(session);
    if (adoption.isCopy && !dryRun) {
      await ADOPT.run(session, {});
      await RAISE_SEQUENCES.run(session, {});
      // Cursors of the original mean other changes.
      await NEW_ORIGIN.run(session, {});
      await onAdopted?.(session, adoption);
    }
    return adoption;
  });
}
