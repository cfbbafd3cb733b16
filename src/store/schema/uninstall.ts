// Drops the schema, and says before what is lost. Without CASCADE: what Tock has not made stops it.
import { sql } from 'kysely';
import { TockError } from '../../model/errors.js';
import { LIVE_STATUSES, type LiveStatus } from '../../model/run/states.js';
import type { Database, Session } from '../connection/database.js';
import { isLockTimeout, sqlState } from '../connection/errors.js';
import { firstRow } from '../connection/query.js';
import { statement } from '../connection/statement.js';
import { tableOf } from '../partitions/partitions.js';
import { lockMigrations, readMigrations } from './migrate.js';
import { ESTIMATED_ROWS, requireTockSchema } from './schema-state.js';

/** Rows of a table. Small tables are counted, large ones estimated. */
export interface RowCount {
  readonly count: number;
  readonly isEstimate: boolean;
}

export interface AliveWorker {
  readonly kind: string;
  readonly host: string;
  readonly pid: number;
}

/** What goes with the schema, and what stays and may need care. */
export interface UninstallPreview {
  readonly schema: string;
  readonly owner: string;
  readonly bytes: number;
  readonly live: Readonly<Record<LiveStatus, number>>;
  readonly finished: RowCount;
  readonly keys: RowCount;
  readonly occurrences: RowCount;
  readonly audit: RowCount;
  readonly definitions: number;
  /** Made by operators or the app, so that no code brings them back. */
  readonly operatorMade: readonly string[];
  readonly limitedQueues: readonly string[];
  readonly workers: readonly AliveWorker[];
  /** Where something has ticked within the last day. */
  readonly ticks: readonly { readonly host: string; readonly folder: string; readonly kind: string }[];
  /** Roles with rights in the schema. They stay. */
  readonly roles: readonly string[];
  /** Publications with tables of the schema. They stay without them. */
  readonly publications: readonly string[];
  /** `pg_tock.…` as set for roles and databases. They stay. */
  readonly settings: readonly string[];
}

type Facts = Omit<UninstallPreview, 'schema' | 'owner' | 'finished' | 'keys' | 'occurrences' | 'audit'>;

const ALIVE = `select w.kind, w.host, w.pid from tock.workers w
    where w.seen_at > tock.now() - coalesce(w.heartbeat_ms, 15000) * interval '2.5 milliseconds'`;

const READ_FACTS = statement<object, { facts: Facts }>(
  'preview-uninstall',
  `
select jsonb_build_object(
  'bytes', (select coalesce(sum(pg_total_relation_size(c.oid)), 0) from pg_class c where c.relnamespace = n.oid and c.relkind = 'r'),
  'live', coalesce((select jsonb_object_agg(l.status, l.count) from (
    select r.status, count(*) as count from tock.job_runs_live r group by r.status) l), '{}'),
  'definitions', (select count(*) from tock.job_definitions d where d.vanished_at is null),
  'operatorMade', array(select d.name from tock.job_definitions d where d.vanished_at is null and d.origin = 'runtime' order by d.name),
  'limitedQueues', array(select q.name from tock.job_queues q order by q.name),
  'workers', coalesce((select jsonb_agg(a order by a.host, a.pid) from (${ALIVE}) a), '[]'),
  'ticks', coalesce((select jsonb_agg(jsonb_build_object('host', t.host, 'folder', t.folder, 'kind', t.kind) order by t.at desc)
    from tock.ticks t where t.at > tock.now() - interval '1 day'), '[]'),
  'roles', array(select distinct pg_get_userbyid(a.grantee) from aclexplode(n.nspacl) a
    where a.grantee <> 0 and a.grantee <> n.nspowner order by 1),
  'publications', array(select p.pubname from pg_publication p where not p.puballtables and (
    exists (select from pg_publication_namespace x where x.pnpubid = p.oid and x.pnnspid = n.oid)
    or exists (select from pg_publication_rel x join pg_class c on c.oid = x.prrelid where x.prpubid = p.oid and c.relnamespace = n.oid))
    order by p.pubname),
  'settings', array(select concat_ws(' ', 'alter', case when s.setrole = 0 then 'database ' || quote_ident(d.datname)
      else 'role ' || quote_ident(pg_get_userbyid(s.setrole)) || coalesce(' in database ' || quote_ident(d.datname), '') end,
      'reset', split_part(c.setting, '=', 1))
    from pg_db_role_setting s cross join unnest(s.setconfig) c(setting) left join pg_database d on d.oid = s.setdatabase
    where c.setting like 'pg_tock.%' and (s.setdatabase = 0 or d.datname = current_database()) order by 1)
) as facts
from pg_namespace n where n.nspname = 'tock'`,
);

const LIST_ALIVE = statement<object, AliveWorker>('list-alive-workers', ALIVE);

/** From this size on a table is not read to be counted. */
const SMALL_BYTES = 64 * 1024 * 1024;

const ESTIMATE = statement<{ table: string }, { rows: number; bytes: number }>(
  'estimate-rows',
  `
select coalesce(sum(${ESTIMATED_ROWS}), 0) as rows, coalesce(sum(pg_relation_size(c.oid)), 0)::float8 as bytes
from pg_namespace n join pg_class root on root.relnamespace = n.oid and root.relname = :table
-- No row for a table that is not partitioned.
left join lateral pg_partition_tree(root.oid) t on t.isleaf
join pg_class c on c.oid = coalesce(t.relid, root.oid) left join pg_stat_all_tables s on s.relid = c.oid
where n.nspname = 'tock'`,
);

/**
 * @throws TockError TOCK_NOT_FOUND, TOCK_BAD_STATE for a schema that is not Tock's; TOCK_FORBIDDEN for a role
 * without the owner's rights
 */
export async function previewUninstall(database: Database): Promise<UninstallPreview> {
  const owner = await requireOwner(database, database);
  const row = await READ_FACTS.first(database, {});
  if (row === undefined) throw new Error('the preview gave no row');
  const { live, ...facts } = row.facts;
  return {
    schema: database.schema,
    owner,
    ...facts,
    live: Object.fromEntries(LIVE_STATUSES.map(status => [status, live[status] ?? 0])) as Record<
      LiveStatus,
      number
    >,
    finished: await countRows(database, 'job_runs_finished'),
    keys: await countRows(database, 'job_keys'),
    occurrences: await countRows(database, 'job_occurrences'),
    audit: await countRows(database, 'audit'),
  };
}

async function requireOwner(session: Session, database: Database): Promise<string> {
  const { owner, isOwner, role } = await requireTockSchema(session, database);
  if (isOwner) return owner;
  throw new TockError(
    'TOCK_FORBIDDEN',
    `the schema ${database.schema} belongs to the role ${owner}, and ${role} may not drop it: name ${owner}, or a superuser, in DATABASE_URL`,
  );
}

type Counted = 'job_runs_finished' | 'job_keys' | 'job_occurrences' | 'audit';

async function countRows(session: Session, table: Counted): Promise<RowCount> {
  const estimate = await ESTIMATE.first(session, { table });
  if (estimate === undefined || estimate.bytes > SMALL_BYTES)
    return { count: Math.round(estimate?.rows ?? 0), isEstimate: true };
  const query = sql<{ count: number }>`select count(*)::float8 as count from ${tableOf(table)}`;
  return { count: (await firstRow(session, query))?.count ?? 0, isEstimate: false };
}

/**
 * Tables use functions as defaults, and have columns of the domains, so they go before them; but after the
 * functions that take a row of theirs.
 */
const ORDER = ['function', 'table', 'sequence', 'domain', 'routine'] as const;

const LIST_OWN = statement<{ names: readonly string[] }, { kind: (typeof ORDER)[number]; name: string }>(
  'list-own-objects',
  `
select case c.relkind when 'S' then 'sequence' else 'table' end as kind, format('%I.%I', n.nspname, c.relname) as name
from pg_namespace n join pg_class c on c.relnamespace = n.oid
-- Partitions go with their tables. Retention marks its tables, which have names of their own, by a comment.
where n.nspname = 'tock' and c.relkind in ('r', 'p', 'S') and not c.relispartition
  and (c.relname = any(:names::text[]) or obj_description(c.oid, 'pg_class') like 'tock: %')
union all
select case when exists (
    select from pg_type t where t.oid = any(p.proargtypes) and t.typnamespace = n.oid and t.typtype = 'c')
  then 'function' else 'routine' end, p.oid::regprocedure::text
from pg_namespace n join pg_proc p on p.pronamespace = n.oid
where n.nspname = 'tock' and p.proname = any(:names::text[])
union all
select 'domain', format('%I.%I', n.nspname, t.typname)
from pg_namespace n join pg_type t on t.typnamespace = n.oid
where n.nspname = 'tock' and t.typtype = 'd' and t.typname = any(:names::text[])
order by 1, 2`,
);

/**
 * Drops the schema in one transaction, in which each statement waits at most 5 s for a lock. Drops what the
 * migrations have made, then the schema, which must be empty by then.
 * @throws TockError TOCK_BAD_STATE while workers are alive (unless `force`), if something that Tock has not
 * made is in the schema or depends on it, or locks are held; TOCK_FORBIDDEN
 */
export async function uninstall(
  database: Database,
  { force = false }: { readonly force?: boolean } = {},
): Promise<void> {
  const { schema } = database;
  try {
    await database.transaction(
      async session => {
        await session.run(`set local lock_timeout = '5s'`);
        await lockMigrations(session, schema);
        await requireOwner(session, database);
        // From here on no worker can begin.
        await session.run('lock table tock.workers in access exclusive mode');
        if (!force) requireNoWorkers(await LIST_ALIVE.run(session, {}));
        const own = await LIST_OWN.run(session, { names: await madeNames() });
        for (const kind of ORDER) {
          const names = own.filter(each => each.kind === kind).map(({ name }) => name);
          if (names.length > 0) await session.run(`drop ${kind} ${names.join(', ')}`);
        }
        await session.run('drop schema tock');
      },
      { mayTakeLong: true },
    );
  } catch (error) {
    throw explain(error, schema);
  }
}

/** @throws TockError TOCK_BAD_STATE that names them */
export function requireNoWorkers(workers: readonly AliveWorker[]): void {
  if (workers.length === 0) return;
  const named = workers.slice(0, 5).map(({ kind, host, pid }) => `${kind} on ${host}, pid ${pid}`);
  const more = workers.length > named.length ? ` and ${workers.length - named.length} more` : '';
  throw new TockError(
    'TOCK_BAD_STATE',
    `${workers.length === 1 ? 'a worker is' : `${workers.length} workers are`} alive (${named.join('; ')}${more}): stop ${workers.length === 1 ? 'it' : 'them'} first, or use --force. Nothing was changed`,
  );
}

const MADE =
  /^\s*create (?:or replace |unlogged )*(?:table|sequence|domain|function|procedure) (?:if not exists )?tock\.(\w+)/gm;

/** What the migrations of this version have ever made. */
async function madeNames(): Promise<string[]> {
  const made = (await readMigrations()).flatMap(({ text }) =>
    [...text.matchAll(MADE)].map(([, name = '']) => name),
  );
  return [...new Set(['migrations', ...made])];
}

const MAX_SHOWN = 10;

function explain(error: unknown, schema: string): unknown {
  if (error instanceof TockError) return error;
  const state = sqlState(error);
  const refused = (why: string) =>
    new TockError('TOCK_BAD_STATE', `${why}. Nothing was changed`, { cause: error });
  if (isLockTimeout(error))
    return refused(
      `another session held locks on the schema ${schema} for more than 5s: stop what uses it (select pid, query from pg_stat_activity), and try again`,
    );
  if (state === '2BP01') {
    const found = detailOf(error).split('\n');
    const more = found.length > MAX_SHOWN ? `; and ${found.length - MAX_SHOWN} more` : '';
    return refused(
      `the schema ${schema} holds, or is used by, what this version of Tock has not made (${found.slice(0, MAX_SHOWN).join('; ')}${more}): drop or move that first, or use the version that has made it`,
    );
  }
  // Each table and index takes a lock.
  if (state === '53200')
    return refused(
      `the schema ${schema} has more tables and indexes than one transaction may lock: raise max_locks_per_transaction, or drop history first with tock prune`,
    );
  return error;
}

function detailOf(error: unknown): string {
  const { detail, message } = error as { readonly detail?: string; readonly message: string };
  return detail ?? message;
}
