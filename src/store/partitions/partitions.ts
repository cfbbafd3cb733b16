// The partitions of the finished runs: which there are, what is deleted from them in batches, and the lock of
// retention. Keys, occurrences and effects are deleted in the same way.
import { type RawBuilder, sql } from 'kysely';
import type { Partition } from '../../model/planning/retention.js';
import { FINISHED_STATUSES, type FinishedStatus } from '../../model/run/states.js';
import type { Database, Session } from '../connection/database.js';
import { firstRow, runQuery } from '../connection/query.js';
import { statement } from '../connection/statement.js';

/** For each state, the instant in epoch milliseconds before which a run is past its time. */
export type Cutoffs = Readonly<Record<FinishedStatus, number>>;

const READ_PARTITIONS = statement<object, Partition>(
  'read-partitions',
  `
select p.name, (extract(epoch from p.low) * 1000)::float8 as low, (extract(epoch from p.high) * 1000)::float8 as high,
  p.is_kept as "isKept", pg_relation_size(p.oid)::float8 as bytes
from tock.finished_partitions() p`,
);

export async function readPartitions(session: Session): Promise<Partition[]> {
  return await READ_PARTITIONS.run(session, {});
}

const READ_VOLUME = statement<object, { perDay: number; hasDays: boolean }>(
  'read-volume',
  `
-- From the planner's figures and the statistics: counting a million rows each night would cost too much.
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
) v`,
);

/** How many runs ended a day in the last week, by the statistics, and whether there are daily partitions. */
export async function readVolume(session: Session): Promise<{ perDay: number; hasDays: boolean }> {
  return (await READ_VOLUME.first(session, {})) ?? { perDay: 0, hasDays: false };
}

/** One of our tables, by a name that is not known before. */
export const tableOf = (name: string) => sql.table(`tock.${name}`);

/** Whether a run `r` stays. */
export const stays = (cutoffs: Cutoffs) => {
  const cases = FINISHED_STATUSES.map(
    status => sql`when ${status} then ${new Date(cutoffs[status]).toISOString()}::timestamptz`,
  );
  return sql<boolean>`r.finished_at >= case r.status ${sql.join(cases, sql` `)} end`;
};

/** Blocks of a table: `from` inclusive, `to` exclusive. */
export interface Slice {
  readonly from: number;
  readonly to: number;
}

/** Whether a row `r` is in these blocks. */
export const inSlice = ({ from, to }: Slice) =>
  sql<boolean>`r.ctid >= ${`(${from},0)`}::tid and r.ctid < ${`(${to},0)`}::tid`;

export async function countBlocks(session: Session, table: string): Promise<number> {
  const query = sql<{ blocks: number }>`
    select ceil(pg_relation_size(${sql.lit(`tock.${table}`)}::regclass)
      / current_setting('block_size')::float8)::integer as blocks`;
  return (await firstRow(session, query))?.blocks ?? 0;
}

interface OldRows {
  readonly table: string;
  /** A condition on a row `r`. */
  readonly isOld: RawBuilder<boolean>;
  /** The order in which rows are locked. */
  readonly order: string;
  readonly slice: Slice;
  readonly limit: number;
}

async function deleteOldRows(
  session: Session,
  { table, isOld, order, slice, limit }: OldRows,
): Promise<number> {
  const query = sql<{ count: number }>`
    with old as materialized (
      select r.ctid as place from ${tableOf(table)} r where ${inSlice(slice)} and ${isOld}
      order by ${sql.raw(order)} limit ${limit} for update skip locked
    ), gone as (
      delete from ${tableOf(table)} r where r.ctid = any(array(select place from old)) returning 1
    )
    select count(*)::integer as count from gone`;
  return (await firstRow(session, query))?.count ?? 0;
}

/** Deletes at most `limit` runs that are past their time. Returns how many. */
export async function deleteRuns(
  session: Session,
  table: string,
  cutoffs: Cutoffs,
  slice: Slice,
  limit: number,
): Promise<number> {
  const isOld = sql<boolean>`not (${stays(cutoffs)})`;
  return await deleteOldRows(session, { table, isOld, order: 'r.id', slice, limit });
}

const ORDER = {
  job_keys: 'r.idempotency_key',
  job_occurrences: 'r.definition_id, r.scheduled_for',
  job_exceptions: 'r.definition_id, r.scheduled_for',
  job_effects: 'r.key',
  job_waits: 'r.id',
  job_events: 'r.id',
  job_hand_offs: 'r.run_id, r.fence',
  audit: 'r.id',
} as const;

/**
 * Deletes at most `limit` rows of a ledger, or of the audit, from before an instant. What live runs have
 * stays.
 */
export async function deleteKeys(
  session: Session,
  table: keyof typeof ORDER,
  before: number,
  slice: Slice,
  limit: number,
): Promise<number> {
  // An exception may be made long before it is due.
  const age = table === 'job_exceptions' ? 'greatest(r.scheduled_for, r.due_at)' : 'r.created_at';
  const isBefore = sql<boolean>`${sql.raw(age)} < ${new Date(before).toISOString()}::timestamptz`;
  const isOld =
    table === 'audit' || table === 'job_events' || table === 'job_exceptions'
      ? isBefore
      : sql<boolean>`${isBefore} and not exists (select from tock.job_runs_live l where l.id = r.run_id)`;
  return await deleteOldRows(session, { table, isOld, order: ORDER[table], slice, limit });
}

const NOTE_PRUNED = statement<
  { readonly kind: 'pruned-runs' | 'pruned-keys'; readonly before: number },
  unknown
>(
  'note-pruned',
  `
insert into tock.upkeep as u (kind, at) values (:kind::text, to_timestamp(:before::float8 / 1000))
on conflict (kind) do update set at = excluded.at where u.at < excluded.at`,
);

/** Notes, before they are deleted, up to when runs or keys may be gone; epoch milliseconds. */
export async function notePruned(
  session: Session,
  kind: 'pruned-runs' | 'pruned-keys',
  before: number,
): Promise<void> {
  await NOTE_PRUNED.run(session, { kind, before });
}

const DELETE_VERSIONS = statement<
  { readonly before: number; readonly limit: number },
  { readonly count: number }
>(
  'delete-definition-versions',
  `
with gone as (
  delete from tock.definition_versions v where v.ctid = any(array(
    select o.ctid from tock.definition_versions o join tock.definition_versions n
      on n.definition_id = o.definition_id and n.number = o.number + 1
    where n.written_at < to_timestamp(:before::float8 / 1000) limit :limit::integer))
  returning 1
)
select count(*)::integer as count from gone`,
);

/** Deletes at most `limit` versions of definitions that ended before an instant. Returns how many. */
export async function deleteVersions(session: Session, before: number, limit: number): Promise<number> {
  return (await DELETE_VERSIONS.first(session, { before, limit }))?.count ?? 0;
}

const STAY_OPEN = sql`set local idle_in_transaction_session_timeout = 0`;
const TRY_LOCK = statement<object, { isMine: boolean }>(
  'lock-retention',
  `select pg_try_advisory_xact_lock(hashtextextended('tock.retention', 0)) as "isMine"`,
);

/**
 * Runs `work`, unless another process holds the lock of retention: then null. It is an advisory lock of a
 * transaction of its own, which holds no snapshot meanwhile: `work` gets it to write in at its end.
 */
export async function withRetentionLock<T>(
  database: Database,
  work: (locked: Session) => Promise<T>,
): Promise<T | null> {
  return await database.transaction(
    async session => {
      // The connection is idle between its two statements for as long as the work takes.
      await runQuery(session, STAY_OPEN);
      return (await TRY_LOCK.first(session, {}))?.isMine === true ? await work(session) : null;
    },
    // A connection of the pool: the one that is kept for Tock's own statements is what `work` needs.
    { retries: 0, mayTakeLong: true },
  );
}
