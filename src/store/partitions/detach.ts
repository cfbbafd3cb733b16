// Replaces a partition of finished runs by a copy of the runs that stay, and drops detached tables.
//
// How a partition goes: what stays is copied, a few blocks at a time, into a table beside it; a trigger notes
// what changes meanwhile. Then one short transaction takes the locks, detaches the partition, corrects the
// copy, and attaches it in the partition's place: no query sees a run twice, or not at all. The drop, which
// may take long, comes after it.

import { sql } from 'kysely';
import type { Session } from '../connection/database.js';
import { LOCK_TIMEOUT } from '../connection/lock-retries.js';
import { db, firstRow, isAnyOf, runQuery } from '../connection/query.js';
import { statement } from '../connection/statement.js';
import { type Cutoffs, inSlice, type Slice, stays, tableOf } from './partitions.js';

/** Comments that mark a table that is no partition: only such tables are dropped. */
const STAGED = 'tock: copy for retention';
const DETACHED = 'tock: detached ';

const LAST_LOCK_TIMEOUT = '200ms';

/** The span of the table with the runs that stay. Epoch milliseconds. */
export interface Span {
  readonly low: number;
  readonly high: number;
}

const instant = (ms: number) => sql.lit(new Date(ms).toISOString());

/**
 * Makes the table for the runs that stay, and begins to note changes in the sources. Its checks equal the
 * partition's bounds, so attaching it scans nothing, and its indexes are there already.
 */
export async function beginCopy(
  session: Session,
  table: string,
  sources: readonly string[],
  { low, high }: Span,
): Promise<void> {
  await runQuery(
    session,
    sql`
    create table ${tableOf(table)} (
      like tock.job_runs_finished including defaults including constraints including indexes,
      constraint ${sql.id(`${table}_span`)}
        check (finished_at >= ${instant(low)} and finished_at < ${instant(high)} and finished_at is not null),
      constraint ${sql.id(`${table}_ended`)}
        check (status in ('succeeded', 'dead', 'cancelled', 'skipped') and status is not null))`,
  );
  await runQuery(session, sql`comment on table ${tableOf(table)} is ${sql.lit(STAGED)}`);
  await endVacuum(session, sources);
  for (const source of sources) {
    // Waits for transactions that are writing there. From its commit on every change is noted.
    await runQuery(
      session,
      sql`
      create or replace trigger note_changes after insert or update or delete on ${tableOf(source)}
      for each row execute function tock.note_retention_change()`,
    );
  }
}

/**
 * Makes autovacuum end its work on these tables. It yields to a lock that waits longer than deadlock_timeout
 * (1 s): too long for a lock that blocks all others, so this one, which blocks none, waits first.
 */
export async function endVacuum(session: Session, tables: readonly string[]): Promise<void> {
  await setLockTimeout(session, '2s');
  for (const table of tables)
    await runQuery(session, sql`lock table only ${tableOf(table)} in share update exclusive mode`);
  await setLockTimeout(session, LOCK_TIMEOUT);
}

async function setLockTimeout(session: Session, timeout: string): Promise<void> {
  await runQuery(session, sql`set local lock_timeout = ${sql.lit(timeout)}`);
}

/** Copies the runs that stay out of some blocks of a source. Returns how many. */
export async function copySlice(
  session: Session,
  table: string,
  source: string,
  cutoffs: Cutoffs,
  slice: Slice,
): Promise<number> {
  const query = sql<{ count: number }>`
    with copied as (
      insert into ${tableOf(table)}
      select r.* from ${tableOf(source)} r where ${inSlice(slice)} and ${stays(cutoffs)} returning 1
    )
    select count(*)::integer as count from copied`;
  return (await firstRow(session, query))?.count ?? 0;
}

/** A copy under its own name, and the name and span that it gets in the place of the sources. */
export interface Replacement extends Span {
  readonly table: string;
  readonly name: string;
  readonly cutoffs: Cutoffs;
}

/**
 * Detaches partitions, and attaches the copy in their place. Locks the parent exclusively, then the sources
 * and the default partition, waits briefly for each, and does nothing there that takes long. Returns whether
 * any run stays.
 */
export async function detach(
  session: Session,
  sources: readonly string[],
  replacement: Replacement | null,
): Promise<boolean> {
  await endVacuum(session, [...sources, 'job_runs_finished_default']);
  // The parent first, like everyone who reads or writes through it: the other way round would be a deadlock.
  // From here on all wait for us. Locks on the rest are held by those who bypassed the parent; they get less
  // time.
  await runQuery(session, sql`lock table only tock.job_runs_finished in access exclusive mode`);
  await setLockTimeout(session, LAST_LOCK_TIMEOUT);
  const oids: number[] = [];
  for (const source of sources) {
    await runQuery(session, sql`alter table tock.job_runs_finished detach partition ${tableOf(source)}`);
    oids.push(await readOid(session, source));
  }
  // No other transaction is in the sources now, and everything done there is committed and noted.
  const changes = db
    .deleteFrom('tock.retention_changes as c')
    .where(eb => isAnyOf(eb.ref('c.source'), oids, 'oid'))
    .returning('c.run_id');
  const changed = (await runQuery(session, changes)).map(row => row.run_id);
  const hasRuns = replacement !== null && (await putInPlace(session, sources, replacement, changed));
  for (const [index, source] of sources.entries()) {
    await markDetached(session, source, oids[index] ?? 0);
  }
  // Only now: the old partition may have had the same name.
  if (hasRuns)
    await runQuery(
      session,
      sql`alter table ${tableOf(replacement.table)} rename to ${sql.id(replacement.name)}`,
    );
  return hasRuns;
}

/** Renames a detached table and says what it was: {@link readLeftovers} finds it, and it is dropped. */
export async function markDetached(session: Session, source: string, oid: number): Promise<void> {
  const name = `job_runs_detached_${oid}`;
  await runQuery(session, sql`alter table ${tableOf(source)} rename to ${sql.id(name)}`);
  await runQuery(session, sql`comment on table ${tableOf(name)} is ${sql.lit(`${DETACHED}${source}`)}`);
}

export async function readOid(session: Session, table: string): Promise<number> {
  const query = sql<{ oid: number }>`select ${sql.lit(`tock."${table}"`)}::regclass::oid as oid`;
  const row = await firstRow(session, query);
  if (!row) throw new Error(`the table ${table} has no oid`);
  return row.oid;
}

async function putInPlace(
  session: Session,
  sources: readonly string[],
  { table, low, high, cutoffs }: Replacement,
  changed: readonly string[],
): Promise<boolean> {
  if (changed.length > 0) {
    await runQuery(session, sql`delete from ${tableOf(table)} where id = any(${changed}::bigint[])`);
    for (const source of sources) {
      await runQuery(
        session,
        sql`insert into ${tableOf(table)} select r.* from ${tableOf(source)} r
          where r.id = any(${changed}::bigint[]) and ${stays(cutoffs)}`,
      );
    }
  }
  const query = sql<{ hasRuns: boolean }>`select exists (select from ${tableOf(table)}) as "hasRuns"`;
  // An empty copy is dropped as one that was never attached.
  if ((await firstRow(session, query))?.hasRuns !== true) return false;
  await runQuery(
    session,
    sql`alter table tock.job_runs_finished attach partition ${tableOf(table)}
      for values from (${instant(low)}) to (${instant(high)})`,
  );
  await runQuery(
    session,
    sql`alter table ${tableOf(table)}
      drop constraint ${sql.id(`${table}_span`)}, drop constraint ${sql.id(`${table}_ended`)}`,
  );
  await runQuery(
    session,
    sql`comment on table ${tableOf(table)} is 'Runs that are kept longer than others of their time.'`,
  );
  return true;
}

const READ_LEFTOVERS = statement<object, { name: string; comment: string }>(
  'read-leftovers',
  `
select c.relname as name, obj_description(c.oid, 'pg_class') as comment
from pg_class c
where c.relnamespace = (select relnamespace from pg_class where oid = 'tock.job_runs_finished'::regclass)
  and c.relkind = 'r' and not c.relispartition
  and ((c.relname ~ '^job_runs_detached_\\d+$' and obj_description(c.oid, 'pg_class') like '${DETACHED}%')
    or (c.relname ~ '^job_runs_kept_[0-9a-f]+$' and obj_description(c.oid, 'pg_class') = '${STAGED}'))
order by c.oid`,
);

/** A table of ours that is not, or no longer, a partition. */
export interface Leftover {
  readonly name: string;
  /** The partition that it was; null for a copy that was never attached. */
  readonly was: string | null;
}

/** Detached partitions and unattached copies: known by name, by our comment, and as no partition. */
export async function readLeftovers(session: Session): Promise<Leftover[]> {
  const rows = await READ_LEFTOVERS.run(session, {});
  return rows.map(({ name, comment }) => ({
    name,
    was: comment.startsWith(DETACHED) ? comment.slice(DETACHED.length) : null,
  }));
}

/** Drops a table in a transaction of its own: no lock on the parent is held while its files are removed. */
export async function dropLeftover(session: Session, { name }: Leftover): Promise<void> {
  // No session waits behind us here.
  await setLockTimeout(session, '2s');
  await runQuery(session, sql`drop table if exists ${tableOf(name)}`);
}
