// Room: store. The partitions of the finished runs: which there are, how one is replaced by what stays of it, and how
// what was detached is dropped.
// In: partitions by name, cutoffs by state. Out: rows counted; partitions that are gone.
//
// How a partition goes: what stays is copied, a few blocks at a time, into a table beside it; a trigger notes what changes
// meanwhile. Then one short transaction takes the locks, detaches the partition, puts the copy right, and attaches the
// copy in its place: nobody sees a run twice, or not at all. The drop, which may take long, comes after it.

import type { Partition } from '../model/retention.js';
import type { FinishedStatus } from '../model/states.js';
import type { Database, Session } from './database.js';

/** Comments that say what a table is which is no partition: only such tables are dropped. */
const STAGED = 'tock: copy for retention';
const FORGOTTEN = 'tock: forgotten ';

/** While we wait for a lock, all who come after us wait behind us: so shortly, and rather several times. */
export const LOCK_TIMEOUT = '500ms';
const LAST_LOCK_TIMEOUT = '200ms';

/** Instants, in milliseconds, before which a run of a state is past its time. */
export type Cutoffs = Readonly<Record<FinishedStatus, number>>;

const PARTITIONS = `
select p.name, extract(epoch from p.low) * 1000 as low, extract(epoch from p.high) * 1000 as high, p.is_kept,
  pg_relation_size(p.oid)::float8 as bytes
from tock.finished_partitions() p`;

export async function readPartitions(session: Session): Promise<Partition[]> {
  const rows = await session.run<{
    name: string;
    low: string | null;
    high: string | null;
    is_kept: boolean;
    bytes: number;
  }>(PARTITIONS);
  const ms = (value: string | null) => (value === null ? null : Number(value));
  return rows.map(row => ({
    name: row.name,
    low: ms(row.low),
    high: ms(row.high),
    isKept: row.is_kept,
    bytes: row.bytes,
  }));
}

// By what the planner and the statistics know: to count a million rows each night would be work of its own.
const VOLUME = `
select coalesce(sum(v.rows * v.shared / greatest(v.lasted, 1)) / greatest(sum(v.shared) / 86400, 1), 0)::float8 as "perDay",
  exists (select from tock.finished_partitions() p
    where not p.is_kept and p.high > tock.now() and p.high - p.low <= interval '1 day') as "hasDays"
from (
  select greatest(c.reltuples, s.n_live_tup, 0)::float8 as rows,
    extract(epoch from least(p.high, tock.now()) - p.low)::float8 as lasted,
    extract(epoch from least(p.high, tock.now()) - greatest(p.low, tock.now() - interval '7 days'))::float8 as shared
  from tock.finished_partitions() p
  join pg_class c on c.oid = p.oid
  left join pg_stat_all_tables s on s.relid = p.oid
  where not p.is_kept and p.low < tock.now() and p.high > tock.now() - interval '7 days'
) v`;

/** How many runs ended a day in the last week, as far as the statistics know, and whether there are partitions of days. */
export async function readVolume(session: Session): Promise<{ perDay: number; hasDays: boolean }> {
  const [row] = await session.run<{ perDay: number; hasDays: boolean }>(VOLUME);
  return row ?? { perDay: 0, hasDays: false };
}

const STAYS = `r.finished_at >= case r.status when 'succeeded' then $1::timestamptz when 'dead' then $2 when 'cancelled' then $3 else $4 end`;

const cutoffValues = ({ succeeded, dead, cancelled, skipped }: Cutoffs) =>
  [succeeded, dead, cancelled, skipped].map(ms => new Date(ms).toISOString());

/** The blocks of a table, from the first to before the last. */
export interface Slice {
  readonly from: number;
  readonly to: number;
}

const inSlice = (first: number) => `r.ctid >= $${first}::tid and r.ctid < $${first + 1}::tid`;
const sliceValues = ({ from, to }: Slice) => [`(${from},0)`, `(${to},0)`];

export async function countBlocks(session: Session, table: string): Promise<number> {
  const [row] = await session.run<{ blocks: number }>(
    `select ceil(pg_relation_size('tock.${table}'::regclass) / current_setting('block_size')::float8)::int as blocks`,
  );
  return row?.blocks ?? 0;
}

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
  for (const source of sources) {
    await session.run(`alter table tock.job_runs_finished detach partition tock."${source}"`);
  }
  const stays = replacement !== null && (await putInPlace(session, sources, replacement));
  for (const source of sources) {
    const [row] = await session.run<{ oid: string }>(`select 'tock."${source}"'::regclass::oid::text as oid`);
    const name = `job_runs_forgotten_${row?.oid}`;
    await session.run(`alter table tock."${source}" rename to ${name}`);
    await session.run(`comment on table tock.${name} is '${FORGOTTEN}${source}'`);
  }
  // Under its final name only now: the one before it may have had the same.
  if (stays) await session.run(`alter table tock.${replacement.table} rename to "${replacement.name}"`);
  return stays;
}

async function putInPlace(
  session: Session,
  sources: readonly string[],
  { table, low, high, cutoffs }: Replacement,
): Promise<boolean> {
  // Nobody else is in the sources now, and all that they did is committed.
  await session.run(`delete from tock.${table} where id in (select run_id from tock.retention_changes)`);
  for (const source of sources) {
    await session.run(
      `insert into tock.${table} select r.* from tock."${source}" r
       where r.id in (select run_id from tock.retention_changes) and ${STAYS}`,
      cutoffValues(cutoffs),
    );
  }
  await session.run('delete from tock.retention_changes');
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
  await session.run(`drop table tock.${name}`);
}

const deleteIn = (table: string, key: string, isOld: string, values: number) => `
with old as materialized (
  select r.ctid as place from tock."${table}" r where ${inSlice(values + 1)} and ${isOld}
  order by ${key} limit $${values + 3} for update skip locked
), gone as (
  delete from tock."${table}" r where r.ctid = any(array(select place from old)) returning 1
)
select count(*)::int as count from gone`;

/** Deletes runs that are past their time, `limit` at most. */
export async function deleteRuns(
  session: Session,
  table: string,
  cutoffs: Cutoffs,
  slice: Slice,
  limit: number,
): Promise<number> {
  const [row] = await session.run<{ count: number }>(deleteIn(table, 'r.id', `not (${STAYS})`, 4), [
    ...cutoffValues(cutoffs),
    ...sliceValues(slice),
    limit,
  ]);
  return row?.count ?? 0;
}

const KEY_OF = { job_keys: 'r.idempotency_key', job_effects: 'r.key' } as const;

/** Deletes keys, or effects, from before an instant, `limit` at most. */
export async function deleteKeys(
  session: Session,
  table: keyof typeof KEY_OF,
  before: number,
  slice: Slice,
  limit: number,
): Promise<number> {
  const [row] = await session.run<{ count: number }>(
    deleteIn(table, KEY_OF[table], 'r.created_at < $1::timestamptz', 1),
    [new Date(before).toISOString(), ...sliceValues(slice), limit],
  );
  return row?.count ?? 0;
}

/** Runs `work`, unless another holds the lock of retention: then null. The lock is a transaction's, which holds no snapshot. */
export async function alone<T>(database: Database, work: () => Promise<T>): Promise<T | null> {
  return await database.transaction(
    async session => {
      // Between its two statements it is idle for as long as the work takes.
      await session.run('set local idle_in_transaction_session_timeout = 0');
      const [row] = await session.run<{ mine: boolean }>(
        `select pg_try_advisory_xact_lock(hashtextextended('tock.retention', 0)) as mine`,
      );
      return row?.mine === true ? await work() : null;
    },
    { retries: 0 },
  );
}
