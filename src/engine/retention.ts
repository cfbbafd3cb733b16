// Room: engine. Forgets what is old: whole months by dropping their partition, the rest in small batches.
// In: how long to keep. Out: what was removed. No statement holds a lock for long.
import { parseDuration } from '../model/duration.js';
import { TockError } from '../model/errors.js';
import type { PruneResult, SchedulerView } from '../model/scheduler-view.js';
import type { Database } from '../store/database.js';
import type { Engine } from './engine.js';

const BATCH = 5000;
const DEFAULT_KEEP_KEYS = '400d';

const OLD_PARTITIONS = `
select c.relname as name
from pg_catalog.pg_inherits i
join pg_catalog.pg_class c on c.oid = i.inhrelid
where i.inhparent = 'tock.job_runs_finished'::regclass and c.relname ~ '_\\d{4}_\\d{2}$'
  and (to_date(right(c.relname, 7), 'YYYY_MM')::timestamp + interval '1 month') at time zone 'UTC'
      <= tock.now() - $1 * interval '1 millisecond'
order by c.relname`;

const deleteOld = (table: string, key: string, column: string) => `
with gone as (
  delete from tock.${table} where (${key}) in (
    select ${key} from tock.${table} where ${column} < tock.now() - $1 * interval '1 millisecond' order by ${key} limit $2
    for update skip locked)
  returning 1
)
select count(*)::int as count from gone`;

const DELETE_RUNS = deleteOld('job_runs_finished', 'id, finished_at', 'finished_at');
const DELETE_KEYS = deleteOld('job_keys', 'idempotency_key', 'created_at');
const DELETE_EFFECTS = deleteOld('job_effects', 'key', 'created_at');
/**
 * Removes finished runs that ended longer ago than `keep`, and keys and effects older than `keepKeys` (default
 * 400d). Keys are kept longer than runs, so that an occurrence cannot come again; `keepKeys` below `keep` is
 * refused. Also makes the coming months' partitions.
 */
export async function prune(
  engine: Engine,
  options: Parameters<SchedulerView['prune']>[0],
): Promise<PruneResult> {
  const { database } = engine;
  const keepMs = parseDuration(options.keep, 'keep');
  const keepKeysMs = Math.max(
    parseDuration(options.keepKeys ?? DEFAULT_KEEP_KEYS, 'keepKeys'),
    options.keepKeys === undefined ? keepMs : 0,
  );
  if (keepKeysMs < keepMs) {
    throw new TockError(
      'TOCK_BAD_OPTION',
      'keepKeys must not be shorter than keep: a key outlives its run, or its occurrence could come again',
    );
  }
  const droppedPartitions = await dropPartitions(database, keepMs);
  const [made] = await database.run<{ made: number }>('select tock.create_partitions() as made');
  return {
    droppedPartitions,
    deletedRuns: await inBatches(database, DELETE_RUNS, keepMs),
    deletedKeys: await inBatches(database, DELETE_KEYS, keepKeysMs),
    deletedEffects: await inBatches(database, DELETE_EFFECTS, keepKeysMs),
    madePartitions: made?.made ?? 0,
  };
}

async function dropPartitions(database: Database, keepMs: number): Promise<string[]> {
  const old = await database.run<{ name: string }>(OLD_PARTITIONS, [keepMs]);
  const dropped: string[] = [];
  for (const { name } of old) {
    await database.transaction(async session => {
      // Live traffic goes first: rather than queue behind it, and have all others queue behind us, try again tomorrow.
      await session.run(`set local lock_timeout = '2s'`);
      await session.run(`drop table tock."${name}"`);
    });
    dropped.push(name);
  }
  return dropped;
}

async function inBatches(database: Database, statement: string, keepMs: number): Promise<number> {
  let total = 0;
  for (;;) {
    const [row] = await database.run<{ count: number }>(statement, [keepMs, BATCH]);
    total += row?.count ?? 0;
    if ((row?.count ?? 0) < BATCH) return total;
  }
}
