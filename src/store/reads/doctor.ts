// What the doctor asks the server, apart from the status.
import { type Expression, sql } from 'kysely';
import type {
  BrokenDefinition,
  LimitedQueue,
  OldKeys,
  OrphanedDefinition,
  OrphanedRuns,
  OutlastingWait,
  PausedDefinition,
  PruneFacts,
} from '../../model/doctor/definition-checks.js';
import type { Replication } from '../../model/doctor/replication.js';
import {
  ENQUEUE,
  type RoleRights,
  type VacuumSettings,
  WORKER_TABLES,
} from '../../model/doctor/server-checks.js';
import { SETTING_NAMES, type SessionSettings } from '../../model/doctor/settings.js';
import type { Session } from '../connection/database.js';
import { db, isAnyOf, runQuery } from '../connection/query.js';
import { statement } from '../connection/statement.js';
import { instant, readable } from '../connection/values/readable-instant.js';
import { readKept } from '../partitions/upkeep.js';
import { statuses } from '../runs/transition.js';

/** How the server is set. */
export interface ServerFacts extends VacuumSettings, Replication {
  /** Daemons that listen and may be asleep. */
  readonly listeners: number;
  /** Where `pg_tock.notify` is off, as the end of an `alter`; null: it is not. */
  readonly turnedOffFor: string | null;
}

const READ_SERVER = statement<object, ServerFacts>(
  'read-server-facts',
  `
select current_setting('autovacuum') = 'on' as "isOn",
  coalesce((select c.reloptions from pg_class c where c.oid = 'tock.job_runs_live'::regclass), '{}') as "tableOptions",
  (select coalesce(jsonb_agg(jsonb_build_object('name', s.application_name, 'syncState', s.sync_state) order by s.application_name), '[]')
    from pg_stat_replication s where s.application_name is distinct from 'pg_basebackup' and not exists (
      select from pg_replication_slots p where p.active_pid = s.pid and p.slot_type = 'logical')) as standbys,
  current_setting('synchronous_standby_names') as "synchronousNames", current_setting('synchronous_commit') as "synchronousCommit",
  (select count(*)::integer from tock.sleepers) as listeners,
  case when current_setting('pg_tock.notify', true) = 'off' then coalesce((
    select case when s.setrole = 0 and s.setdatabase = 0 then 'role all' when s.setrole = 0 then 'database ' || quote_ident(current_database())
      else 'role ' || quote_ident(current_user) || case when s.setdatabase = 0 then '' else ' in database ' || quote_ident(current_database()) end end
    from pg_db_role_setting s
    where 'pg_tock.notify=off' = any(s.setconfig) and (s.setrole = 0 or pg_get_userbyid(s.setrole) = current_user)
      and s.setdatabase in (0, (select d.oid from pg_database d where d.datname = current_database()))
    order by s.setrole desc, s.setdatabase desc limit 1), 'system') end as "turnedOffFor"`,
);

export async function readServerFacts(session: Session): Promise<ServerFacts> {
  const facts = await READ_SERVER.first(session, {});
  if (!facts) throw new Error('the server said nothing of itself');
  return facts;
}

export interface ServerVersion {
  /** As `server_version_num` counts. */
  readonly number: number;
  readonly text: string;
}

/** Needs no schema. */
export async function readServerVersion(session: Session): Promise<ServerVersion> {
  const [version] = await runQuery(
    session,
    sql<ServerVersion>`select current_setting('server_version_num')::integer as number, current_setting('server_version') as text`,
  );
  if (!version) throw new Error('the server did not say its version');
  return version;
}

const READ_RIGHTS = statement<{ tables: readonly string[]; functions: readonly string[] }, RoleRights>(
  'read-role-rights',
  `
-- By oids: a role that may not use the schema cannot name what is in it.
select current_user::text as role, array(
  select missing from (
    select 'usage on the schema' as missing where not has_schema_privilege(n.oid, 'usage')
    union all
    select p.name || ' on ' || c.relname from pg_class c, unnest('{select,insert,update,delete}'::text[]) p(name)
    where c.relnamespace = n.oid and c.relname = any(:tables) and not has_table_privilege(c.oid, p.name)
    union all
    select 'usage on job_runs_id_seq' from pg_class c
    where c.relnamespace = n.oid and c.relname = 'job_runs_id_seq' and not has_sequence_privilege(c.oid, 'usage')
    union all
    select p.name || ' on ' || c.relname from pg_class c, unnest('{select,update}'::text[]) p(name)
    where c.relnamespace = n.oid and c.relname = any('{reap_turn}') and not has_sequence_privilege(c.oid, p.name)
    union all
    select 'execute on ' || f.oid::regprocedure from pg_proc f
    where f.pronamespace = n.oid and f.proname = any(:functions) and not has_function_privilege(f.oid, 'execute')
  ) m order by missing <> 'usage on the schema', missing) as missing,
  has_schema_privilege(n.oid, 'usage') and has_table_privilege(m.oid, 'select') as "mayRead"
from pg_namespace n join pg_class m on m.relnamespace = n.oid and m.relname = 'migrations' where n.nspname = 'tock'`,
);

/** What this role lacks of what a worker needs; null: there is no schema yet. */
export async function readRoleRights(session: Session): Promise<RoleRights | null> {
  return (await READ_RIGHTS.first(session, { tables: WORKER_TABLES, functions: ENQUEUE })) ?? null;
}

const READ_SETTINGS = statement<{ names: readonly string[] }, SessionSettings>(
  'read-session-settings',
  `
select current_user::text as role,
  (select jsonb_object_agg(s.name, s.setting) from pg_settings s where s.name = any(:names::text[])) as settings`,
);

/** The session's settings that `checkSettings` judges. Needs no schema. */
export async function readSettings(session: Session): Promise<SessionSettings> {
  const found = await READ_SETTINGS.first(session, { names: SETTING_NAMES });
  if (!found) throw new Error('the server said nothing of its settings');
  return found;
}

/** Names of the applied migrations; null: there is no schema yet. */
export async function readApplied(session: Session): Promise<string[] | null> {
  const [there] = await runQuery(
    session,
    sql<{ yes: boolean }>`select to_regclass('tock.migrations') is not null as yes`,
  );
  if (there?.yes !== true) return null;
  return (await runQuery(session, db.selectFrom('tock.migrations').select('name'))).map(row => row.name);
}

const READ_UPKEEP = statement<object, { kind: string }>('read-upkeep', 'select kind from tock.upkeep');

/** The kinds of upkeep that have a row. */
export async function readUpkeepKinds(session: Session): Promise<string[]> {
  return (await READ_UPKEEP.run(session, {})).map(({ kind }) => kind);
}

/** Whether another service than this defines a job of this name. */
const isElsewhere = (job: Expression<string>, service: string) =>
  sql<boolean>`exists (select from tock.job_definitions e where e.name = ${job} and e.origin = 'code'
    and e.service <> ${service} and e.vanished_at is null)`;

/** Definitions whose job is none of these, and not another service's. */
export async function readOrphans(
  session: Session,
  service: string,
  jobs: readonly string[],
): Promise<OrphanedDefinition[]> {
  const query = db
    .selectFrom('tock.job_definitions as d')
    .select(['d.name', 'd.job', 'd.origin'])
    .where('d.vanished_at', 'is', null)
    .where(eb => eb.not(isAnyOf(eb.ref('d.job'), jobs, 'text')))
    .where(eb => eb.not(isElsewhere(eb.ref('d.job'), service)))
    .orderBy('d.origin', 'desc')
    .orderBy('d.name')
    .limit(100);
  return await runQuery(session, query);
}

/**
 * Live runs whose job is none of these, and not another service's. Reads the live runs until it has found
 * 1000.
 */
export async function readOrphanedRuns(
  session: Session,
  service: string,
  jobs: readonly string[],
): Promise<OrphanedRuns[]> {
  const some = db
    .selectFrom('tock.job_runs_live as r')
    .select('r.job')
    .where(eb => eb.not(isAnyOf(eb.ref('r.job'), jobs, 'text')))
    .where(eb => eb.not(isElsewhere(eb.ref('r.job'), service)))
    .limit(1000);
  const query = db
    .selectFrom(some.as('s'))
    .select('s.job')
    .select(eb => eb.cast<number>(eb.fn.countAll(), 'integer').as('count'))
    .groupBy('s.job')
    .orderBy('count', 'desc')
    .orderBy('s.job');
  return await runQuery(session, query);
}

export async function readBroken(session: Session): Promise<BrokenDefinition[]> {
  const query = db
    .selectFrom('tock.job_definitions as d')
    .select(['d.name', 'd.origin', 'd.broken_reason as reason'])
    .where('d.broken_at', 'is not', null)
    .where('d.vanished_at', 'is', null)
    .orderBy('d.origin', 'desc')
    .orderBy('d.name')
    .limit(100);
  return await runQuery(session, query);
}

/** One run of each definition. What waits for others in its data interval does not hold up the next. */
export async function readOutlastingWaits(session: Session): Promise<OutlastingWait[]> {
  const query = db
    .selectFrom('tock.job_definitions as d')
    .innerJoin('tock.job_runs_live as r', 'r.definition_id', 'd.id')
    .innerJoin('tock.job_waits as w', 'w.run_id', 'r.id')
    .distinctOn('d.name')
    .select(['d.name as definition', 'd.overlap'])
    .select(eb => eb.cast<string>('r.id', 'text').as('runId'))
    .where('d.overlap', '!=', 'allow_all')
    .where('d.waits_for', 'is', null)
    .where('d.next_at', 'is not', null)
    .where('d.vanished_at', 'is', null)
    .where('r.status', '=', 'queued')
    .where('w.outcome', 'is', null)
    .whereRef('r.run_at', '>', 'd.next_at')
    .orderBy('d.name')
    .orderBy('r.id')
    .limit(100);
  return await runQuery(session, query);
}

/** Those that were paused after dead runs come first. */
export async function readPaused(session: Session): Promise<PausedDefinition[]> {
  const byItself = sql<boolean>`coalesce(d.pause_reason like 'paused by itself after %', false)`;
  const query = db
    .selectFrom('tock.job_definitions as d')
    .select(['d.name', 'd.pause_reason as reason', byItself.as('isByItself')])
    .where('d.paused_at', 'is not', null)
    .where('d.vanished_at', 'is', null)
    .orderBy('isByItself', 'desc')
    .orderBy('d.name')
    .limit(100);
  return await runQuery(session, query);
}

/** A count beyond this is given as this. */
const MAX_HELD_BACK = 10_000;

// What waits matters only where nothing may start: runs in other queues are not looked at.
const READ_LIMITED = statement<object, LimitedQueue>(
  'read-limited-queues',
  `
select q.name, q.concurrency,
  case when q.rate_count is not null then jsonb_build_object('count', q.rate_count, 'perMs', q.rate_period_ms) end as rate,
  q.active_window as window, coalesce(q.timezone, 'UTC') as timezone,
  case when q.concurrency = 0 then (select count(*)::integer from (
    select from tock.job_runs_live r where r.queue = q.name and r.run_at <= tock.now() and r.status in (${statuses('claim')})
    limit ${MAX_HELD_BACK}) w) else 0 end as waiting
from tock.job_queues q
where q.concurrency is not null or q.rate_count is not null or q.active_window is not null
order by q.name`,
);

/** The queues that have limits. What waits is counted, up to 10,000, where a limit lets nothing start. */
export async function readLimitedQueues(session: Session): Promise<LimitedQueue[]> {
  return await READ_LIMITED.run(session, {});
}

const IS_OLD = `t.ctid < '(64,0)'::tid and not exists (select from tock.job_runs_live l where l.id = t.run_id)`;

const READ_OLDEST_KEY = statement<object, OldKeys>(
  'read-oldest-key',
  `
-- Rows are appended, and the space of deleted ones is used again: the oldest are among the first blocks. There is no index
-- by age, and none is worth its cost. What live runs have stays, however old.
select ${instant(readable('k.at'))} as oldest, k.name as table from (
  select min(created_at) as at, 'job_keys' as name from tock.job_keys t where ${IS_OLD}
  union all select min(created_at), 'job_occurrences' from tock.job_occurrences t where ${IS_OLD}
  union all select min(created_at), 'job_effects' from tock.job_effects t where ${IS_OLD}
) k(at, name) where k.at is not null order by k.at limit 1`,
);

export async function readOldestKey(session: Session): Promise<OldKeys> {
  return (await READ_OLDEST_KEY.first(session, {})) ?? { oldest: null, table: null };
}

const READ_PRUNED = statement<object, Omit<PruneFacts, 'kept'>>(
  'read-pruned',
  `
select ${instant('u.at')} as "prunedAt",
  (select ${instant('d.at')} from tock.upkeep d where d.kind = 'retention') as "dueAt",
  exists (select from tock.job_runs_finished f
    where f.finished_at > u.at + interval '2 days' and f.finished_at < tock.now() - interval '2 hours') as "hasEndedSince"
from tock.upkeep u where u.kind = 'pruned'`,
);

/** Null: it is not on record. */
export async function readPruned(session: Session): Promise<PruneFacts | null> {
  const facts = await READ_PRUNED.first(session, {});
  return facts ? { ...facts, kept: await readKept(session) } : null;
}

/** Forgets a host's ticks. Returns how many rows there were. */
export async function forgetTicks(session: Session, host: string): Promise<number> {
  const query = db.deleteFrom('tock.ticks').where('host', '=', host).returning('host');
  return (await runQuery(session, query)).length;
}
