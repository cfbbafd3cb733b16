// Room: store. How a partition of finished runs is replaced by what stays of it, and how what was detached is dropped.
// In: partitions by name, cutoffs by state. Out: rows counted; partitions that are gone.
//
// How a partition goes: what stays is copied, a few blocks at a time, into a table beside it; a trigger notes what changes
// meanwhile. Then one short transaction takes the locks, detaches the partition, puts the copy right, and attaches the
// copy in its place: nobody sees a run twice, or not at all. The drop, which may take long, comes after it.

import type { Session } from '../connection/database.js';
import { LOCK_TIMEOUT } from '../connection/lock-retries.js';
import { type Cutoffs, cutoffValues, inSlice, type Slice, STAYS, sliceValues } from './partitions.js';

/** Comments that say what a table is which is no partition: only such tables are dropped. */
const STAGED = 'tock: copy for retention';
const FORGOTTEN = 'tock: forgotten ';

const LAST_LOCK_TIMEOUT = '200ms';

/** A span of time that a table of survivors will take. */
export interface Span {
  readonly low: number;
  readonly high: number;
}

/**
 * Makes the table that what stays is copied into, and begins to note what changes in the sources. Its checks say what
 * the partition's bounds will: so nothing is scanned when it is attached, and its indexes are there already.
 */
export async function beginCopy(
  session: Session,
  table: string,
  sources: readonly string[],
  span: Span,
): Promise<void> {
  const [low, high] = [span.low, span.high].map(ms => new Date(ms).toISOString());
  await session.run(`
    create table tock.${table} (like tock.job_runs_finished including defaults including constraints including indexes,
      constraint ${table}_span check (finished_at >= '${low}' and finished_at < '${high}' and finished_at is not null),
      constraint ${table}_ended check (status in ('succeeded', 'dead', 'cancelled', 'skipped') and status is not null))`);
  await session.run(`comment on table tock.${table} is '${STAGED}'`);
  await pushVacuumAside(session, sources);
  for (const source of sources) {
    // Waits for those who are writing there. From its commit on every change is noted.
    await session.run(`
      create or replace trigger note_changes after insert or update or delete on tock."${source}"
      for each row execute function tock.note_retention_change()`);
  }
}

/**
 * Has autovacuum end its work on these tables: it does so for whoever waits longer than deadlock_timeout (1 s), which is
 * too long to wait in everybody's way. With this lock nobody else waits.
 */
async function pushVacuumAside(session: Session, tables: readonly string[]): Promise<void> {
  await session.run(`set local lock_timeout = '2s'`);
  for (const table of tables) {
    await session.run(`lock table only tock."${table}" in share update exclusive mode`);
  }
  await session.run(`set local lock_timeout = '${LOCK_TIMEOUT}'`);
}

/** Copies what stays out of some blocks of a source. Returns how many runs. */
export async function copySlice(
  session: Session,
  table: string,
  source: string,
  cutoffs: Cutoffs,
  slice: Slice,
): Promise<number> {
  const [row] = await session.run<{ count: number }>(
    `with copied as (
       insert into tock.${table} select r.* from tock."${source}" r where ${inSlice(5)} and ${STAYS} returning 1
     )
     select count(*)::int as count from copied`,
    [...cutoffValues(cutoffs), ...sliceValues(slice)],
  );
  return row?.count ?? 0;
}

/** What takes the place of the sources: a copy under its own name, and the name and span that it gets. */
export interface Replacement extends Span {
  readonly table: string;
  readonly name: string;
  readonly cutoffs: Cutoffs;
}

/**
 * Detaches partitions, and attaches what stays of them in their place. It takes the parent exclusively, then the
 * sources and the default partition, waits shortly for each, and does nothing there that takes long.
 * Returns whether any run stays.
 */
export async function detach(
  session: Session,
  sources: readonly string[],
  replacement: Replacement | null,
): Promise<boolean> {
  await pushVacuumAside(session, [...sources, 'job_runs_finished_default']);
  // The parent first, as everybody does who reads or writes through it: the other way round would be a deadlock. From
  // here on all wait for us. Who has the rest now came in by another door, and gets less time to leave.
  await session.run('lock table only tock.job_runs_finished in access exclusive mode');
  await session.run(`set local lock_timeout = '${LAST_LOCK_TIMEOUT}'`);
  const oids: string[] = [];
  for (const source of sources) {
    await session.run(`alter table tock.job_runs_finished detach partition tock."${source}"`);
    const [row] = await session.run<{ oid: string }>(`select 'tock."${source}"'::regclass::oid::text as oid`);
    oids.push(row?.oid ?? '');
  }
  // Nobody else is in the sources now, and all that was done there is committed and noted.
  const changes = await session.run<{ id: string }>(
    'delete from tock.retention_changes where source = any($1::oid[]) returning run_id as id',
    [oids],
  );
  const ids = changes.map(each => each.id);
  const stays = replacement !== null && (await putInPlace(session, sources, replacement, ids));
  for (const [index, source] of sources.entries()) {
    const name = `job_runs_forgotten_${oids[index]}`;
    await session.run(`alter table tock."${source}" rename to ${name}`);
    await session.run(`comment on table tock.${name} is '${FORGOTTEN}${source}'`);
  }
  // Under its final name only now: the one before it may have had the same.
  if (stays) await session.run(`alter table tock.${replacement.table} rename to "${replacement.name}"`);
  return stays;
}

/** Puts the copy right, and attaches it. */
async function putInPlace(
  session: Session,
  sources: readonly string[],
  { table, low, high, cutoffs }: Replacement,
  changed: readonly string[],
): Promise<boolean> {
  if (changed.length > 0) {
    await session.run(`delete from tock.${table} where id = any($1::bigint[])`, [changed]);
    for (const source of sources) {
      await session.run(
        `insert into tock.${table} select r.* from tock."${source}" r where r.id = any($5::bigint[]) and ${STAYS}`,
        [...cutoffValues(cutoffs), changed],
      );
    }
  }
  const [row] = await session.run<{ stays: boolean }>(`select exists (select from tock.${table}) as stays`);
  // An empty copy is dropped as one that came to nothing.
  if (row?.stays !== true) return false;
  await session.run(
    `alter table tock.job_runs_finished attach partition tock.${table}
     for values from ('${new Date(low).toISOString()}') to ('${new Date(high).toISOString()}')`,
  );
  await session.run(
    `alter table tock.${table} drop constraint ${table}_span, drop constraint ${table}_ended`,
  );
  await session.run(
    `comment on table tock.${table} is 'Runs that are kept longer than others of their time.'`,
  );
  return true;
}

const LEFTOVERS = `
select c.relname as name, obj_description(c.oid, 'pg_class') as comment
from pg_class c
where c.relnamespace = (select relnamespace from pg_class where oid = 'tock.job_runs_finished'::regclass)
  and c.relkind = 'r' and not c.relispartition
  and ((c.relname ~ '^job_runs_forgotten_\\d+$' and obj_description(c.oid, 'pg_class') like '${FORGOTTEN}%')
    or (c.relname ~ '^job_runs_kept_[0-9a-f]+$' and obj_description(c.oid, 'pg_class') = '${STAGED}'))
order by c.oid`;

/** A table of ours that is no partition (any more). */
export interface Leftover {
  readonly name: string;
  /** The partition that it was; null for a copy that was never put in place. */
  readonly was: string | null;
}

/** What was detached, and copies that came to nothing: by name, by our comment, and because they are no partition. */
export async function readLeftovers(session: Session): Promise<Leftover[]> {
  const rows = await session.run<{ name: string; comment: string }>(LEFTOVERS);
  return rows.map(({ name, comment }) => ({
    name,
    was: comment.startsWith(FORGOTTEN) ? comment.slice(FORGOTTEN.length) : null,
  }));
}

/** Drops a table in a transaction of its own: no lock on the parent is held while its files are removed. */
export async function dropLeftover(session: Session, { name }: Leftover): Promise<void> {
  // Nobody waits behind us here.
  await session.run(`set local lock_timeout = '2s'`);
  await session.run(`drop table if exists tock.${name}`);
}
