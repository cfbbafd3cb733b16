// Room: test support. Makes a used database like a new copy of the template again.
// In: a pool of connections to it. Out: whether that could be done.
import type pg from 'pg';
import { awaitSessions } from './embedded-database.js';

/** What a template's copy has in its tables: these keep their rows, and all others are emptied. */
const KEPT = [
  'migrations',
  'database_identity',
  'upkeep',
  'changes_head',
  'log_segments',
  'test_clock',
  'figures_progress',
];

const TABLES = `
select string_agg(format('delete from tock.%I;', relname), ' ' order by relname) as emptied from pg_class
where relnamespace = 'tock'::regnamespace and relkind in ('r', 'p') and not relispartition and relname <> all($1)`;

/** Quicker than to truncate the tables, which hold few rows. */
const EMPTY_TABLES = (emptied: string) => `
set session_replication_role = replica;
${emptied}
update tock.changes_head set position = 0, kept_after = 0;
reset session_replication_role;
select setval(c.oid, s.seqstart, false) from pg_sequence s join pg_class c on c.oid = s.seqrelid
where c.relnamespace = 'tock'::regnamespace;`;

/** What a test may have changed of the rows that are kept. */
const RESET = `
set session_replication_role = replica;
update tock.test_clock set at = null;
delete from tock.upkeep; insert into tock.upkeep (kind) values ('partitions'), ('retention'), ('pruned');
update tock.figures_progress p set final_until = n.minute, counted_until = n.minute, hours_until = date_bin('1 hour', n.minute, 'epoch'),
  watched_until = null, writers = '{}' from (select date_bin('1 minute', tock.now(), 'epoch') as minute) n;
reset session_replication_role;`;

/**
 * What there is, but for the partitions that a tick makes, and their indexes; settings of the database; which transactions
 * wrote a function and a constraint of a domain last; whether the schema was made in another database; and whether
 * thousands of live runs were left dead.
 */
const SCHEMA = `
with tables as (select oid from pg_class where relnamespace in ('tock'::regnamespace, 'public'::regnamespace) and not relispartition)
select concat_ws(' ', (select count(*) from tables),
  (select count(*) || ' ' || sum(attnum) from pg_attribute where attrelid in (select oid from tables) and not attisdropped),
  (select count(*) from pg_constraint where conrelid in (select oid from tables)),
  (select count(*) || ' ' || max(xmin::text::bigint) from pg_constraint where contypid <> 0),
  (select count(*) from pg_trigger where tgrelid in (select oid from tables)),
  (select count(*) || ' ' || max(xmin::text::bigint) from pg_proc),
  (select count(*) from pg_db_role_setting where setdatabase = (select oid from pg_database where datname = current_database())),
  (select count(*) from pg_namespace where nspname !~ '^pg_'),
  tock.is_copy(), pg_relation_size('tock.job_runs_live') > 1048576) as state`;

// A row goes where another one has been: what nobody sorts would come in an order that depends on earlier tests.
const FILLED = `
select string_agg(format('tock.%I', relname), ', ') as names from pg_class
where relnamespace = 'tock'::regnamespace and relkind = 'r' and pg_relation_size(oid) > 0 and relname <> all($1)`;

// But for those that are kept with the database, and idle.
const SESSIONS = `
select pg_terminate_backend(pid, 10000) from pg_stat_activity
where datname = current_database() and backend_type = 'client backend' and pid <> pg_backend_pid()
  and not (pid = any($1) and state = 'idle')`;

let original: string | null = null;
let emptying: string | null = null;

/** Notes what an unused copy's schema is, for `emptyDatabase`. */
export async function noteSchema(pool: pg.Pool): Promise<void> {
  original ??= await readSchema(pool);
  await emptyingTables(reading(pool));
}

/**
 * SQL that empties all tables, and begins with id 1 again. What came with the template stays, and so does the clock.
 * @param read any database of these tests: their tables are the same
 */
export async function emptyingTables(
  read: (text: string, values: unknown[]) => Promise<{ emptied: string }[]>,
): Promise<string> {
  emptying ??= EMPTY_TABLES((await read(TABLES, [KEPT]))[0]?.emptied ?? '');
  return emptying;
}

/**
 * Ends the sessions that a test has left, and empties all tables; gives false if a test has altered the schema or the
 * database's settings, or has had thousands of live runs: the doctor would warn of their dead rows.
 * @param kept the pools over the database whose sessions stay
 */
export async function emptyDatabase(pool: pg.Pool, kept: readonly pg.Pool[]): Promise<boolean> {
  const { rows } = await pool.query<{ name: string }>('select current_database() as name');
  const pids = kept.flatMap(pidsOf);
  await pool.query(awaitSessions(rows[0]?.name ?? '', pids));
  await pool.query(SESSIONS, [pids]);
  if ((await readSchema(pool)) !== original) return false;
  await pool.query((await emptyingTables(reading(pool))) + RESET);
  const { rows: files } = await pool.query<{ names: string | null }>(FILLED, [KEPT]);
  if (files[0]?.names) await pool.query(`vacuum ${files[0].names}`);
  return true;
}

const reading = (pool: pg.Pool) => async (text: string, values: unknown[]) =>
  (await pool.query<{ emptied: string }>(text, values)).rows;

function pidsOf(pool: pg.Pool): number[] {
  const { _clients: clients } = pool as unknown as { _clients: { processID: number | null }[] };
  return clients.flatMap(({ processID }) => (processID === null ? [] : [processID]));
}

async function readSchema(pool: pg.Pool): Promise<string> {
  const { rows } = await pool.query<{ state: string }>(SCHEMA);
  return rows[0]?.state ?? '';
}
