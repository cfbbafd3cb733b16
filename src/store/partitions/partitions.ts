// Room: store. The partitions of the finished runs: which there are, what is deleted of them in
// batches, and the lock of retention. Keys, occurrences and effects are deleted in the same way.
// In: tables by name, cutoffs. Out: partitions with their spans, volumes; rows counted.
import type { Partition } from '../../model/planning/retention.js';
import type { FinishedStatus } from '../../model/run/states.js';
import type { Database, Session } from '../connection/database.js';

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

/** Of a run r, with the cutoffs as the first four parameters. */
export const STAYS = `r.finished_at >= case r.status when 'succeeded' then $1::timestamptz when 'dead' then $2 when 'cancelled' then $3 else $4 end`;

export const cutoffValues = ({ succeeded, dead, cancelled, skipped }: Cutoffs) =>
  [succeeded, dead, cancelled, skipped].map(ms => new Date(ms).toISOString());

/** The blocks of a table, from the first to before the last. */
export interface Slice {
  readonly from: number;
  readonly to: number;
}

export const inSlice = (first: number) => `r.ctid >= $${first}::tid and r.ctid < $${first + 1}::tid`;
export const sliceValues = ({ from, to }: Slice) => [`(${from},0)`, `(${to},0)`];

export async function countBlocks(session: Session, table: string): Promise<number> {
  const [row] = await session.run<{ blocks: number }>(
    `select ceil(pg_relation_size('tock.${table}'::regclass) / current_setting('block_size')::float8)::int as blocks`,
  );
  return row?.blocks ?? 0;
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

const KEY_OF = {
  job_keys: 'r.idempotency_key',
  job_occurrences: 'r.definition_id, r.scheduled_for',
  job_effects: 'r.key',
} as const;

/** Deletes keys, occurrences or effects from before an instant, `limit` at most. */
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
