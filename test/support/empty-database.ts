// Room: test support. Makes a used database like a new copy of the template again.
// In: a pool of connections to it. Out: whether that could be done.
import type pg from 'pg';
import { awaitSessions } from './embedded-database.js';

// What a template's copy has in its tables stays: the migration, the identity, one row each of upkeep and of the clock.
const EMPTY = `
set session_replication_role = replica;
delete from tock.job_runs; delete from tock.job_successors; delete from tock.job_occurrences; delete from tock.job_keys; delete from tock.job_slots;
delete from tock.job_queues; delete from tock.job_outbox; delete from tock.job_hand_offs; delete from tock.job_effects; delete from tock.job_waits; delete from tock.workers;
delete from tock.job_logs; delete from tock.job_definitions; delete from tock.registrations; delete from tock.ticks; delete from tock.retention_changes;
delete from tock.job_definitions; delete from tock.registrations; delete from tock.ticks;
delete from tock.alert_events; delete from tock.alert_watches; delete from tock.alert_states; delete from tock.alert_deliveries; delete from tock.alert_flips;
delete from tock.alert_channels; delete from tock.alert_mutes; delete from tock.alert_clock; delete from tock.retention_changes;
delete from tock.audit;
delete from tock.upkeep; insert into tock.upkeep (kind) values ('partitions');
delete from tock.figures_by_minute; delete from tock.figures_by_hour; delete from tock.figures_total; delete from tock.figures_retried;
update tock.test_clock set at = null;
update tock.figures_progress p set final_until = n.minute, counted_until = n.minute, hours_until = date_bin('1 hour', n.minute, 'epoch'),
  watched_until = null, writers = '{}' from (select date_bin('1 minute', tock.now(), 'epoch') as minute) n;
reset session_replication_role;
select setval(c.oid, s.seqstart, false) from pg_sequence s join pg_class c on c.oid = s.seqrelid
where c.relnamespace = 'tock'::regnamespace`;

/** What there is, but for the partitions that a tick makes; settings of the database; which transaction wrote a function last; and whether thousands of live runs were left dead. */
const SCHEMA = `
with tables as (select oid from pg_class where relnamespace in ('tock'::regnamespace, 'public'::regnamespace) and relname !~ '_[0-9]{4}_[0-9]{2}(_[0-9]{2})?$')
select concat_ws(' ', (select count(*) from tables),
  (select count(*) || ' ' || sum(attnum) from pg_attribute where attrelid in (select oid from tables) and not attisdropped),
  (select count(*) from pg_constraint where conrelid in (select oid from tables)),
  (select count(*) from pg_trigger where tgrelid in (select oid from tables)),
  (select count(*) || ' ' || max(xmin::text::bigint) from pg_proc),
  (select count(*) from pg_db_role_setting where setdatabase = (select oid from pg_database where datname = current_database())),
  (select count(*) from pg_namespace where nspname !~ '^pg_'),
  pg_relation_size('tock.job_runs_live') > 1048576) as state`;

// But for those that are kept with the database, and idle.
const SESSIONS = `
select pg_terminate_backend(pid, 10000) from pg_stat_activity
where datname = current_database() and backend_type = 'client backend' and pid <> pg_backend_pid()
  and not (pid = any($1) and state = 'idle')`;

let original: string | null = null;

/** Notes what an unused copy's schema is, for `emptyDatabase`. */
export async function noteSchema(pool: pg.Pool): Promise<void> {
  original ??= await readSchema(pool);
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
  await pool.query(EMPTY);
  return true;
}

function pidsOf(pool: pg.Pool): number[] {
  const { _clients: clients } = pool as unknown as { _clients: { processID: number | null }[] };
  return clients.flatMap(({ processID }) => (processID === null ? [] : [processID]));
}

async function readSchema(pool: pg.Pool): Promise<string> {
  const { rows } = await pool.query<{ state: string }>(SCHEMA);
  return rows[0]?.state ?? '';
}
