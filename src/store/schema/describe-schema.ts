// What the schema holds, for `tock schema`: tables, partitions, their sizes, and the applied migrations.
import { TockError } from '../../model/errors.js';
import type { Database, Session } from '../connection/database.js';
import { statement } from '../connection/statement.js';
import { instant } from '../connection/values/readable-instant.js';
import { type Migration, readMigrations } from './migrate.js';
import { ESTIMATED_ROWS, requireTockSchema } from './schema-state.js';

/** Bytes with TOAST; `rows` is an estimate of the planner and the statistics. */
interface Sizes {
  readonly rows: number;
  readonly bytes: number;
  readonly indexBytes: number;
}

export interface TableSize extends Sizes {
  readonly table: string;
  /** How many partitions it has, which are summed up here; null: it is not partitioned. */
  readonly partitions: number | null;
}

export interface PartitionSize extends Sizes {
  readonly partition: string;
  readonly table: string;
  /** As PostgreSQL prints it: `FOR VALUES …`, in UTC; or `DEFAULT`. */
  readonly bound: string;
}

export interface MigrationState {
  readonly name: string;
  readonly appliedAt: Date | null;
  /** `changed`: its file says something else now. `newer`: this code does not know it. */
  readonly state: 'applied' | 'missing' | 'changed' | 'newer';
}

export interface SchemaDescription {
  readonly schema: string;
  readonly owner: string;
  readonly server: string;
  readonly databaseBytes: number;
  readonly bytes: number;
  readonly tables: readonly TableSize[];
  readonly partitions: readonly PartitionSize[];
  readonly migrations: readonly MigrationState[];
}

interface Relation extends Sizes {
  readonly name: string;
  readonly parent: string | null;
  readonly bound: string | null;
  readonly isPartitioned: boolean;
}

const LIST_RELATIONS = statement<object, Relation>(
  'list-relations',
  `
select c.relname as name, parent.relname as parent, pg_get_expr(c.relpartbound, c.oid) as bound, c.relkind = 'p' as "isPartitioned",
  ${ESTIMATED_ROWS} as rows, pg_table_size(c.oid)::float8 as bytes, pg_indexes_size(c.oid)::float8 as "indexBytes"
from pg_class c
left join pg_stat_all_tables s on s.relid = c.oid
left join pg_inherits i on i.inhrelid = c.oid
left join pg_class parent on parent.oid = i.inhparent
where c.relnamespace = (select n.oid from pg_namespace n where n.nspname = 'tock') and c.relkind in ('r', 'p')
order by c.relname`,
);

const LIST_APPLIED = statement<object, { name: string; checksum: string; appliedAt: Date }>(
  'list-applied-migrations',
  `select m.name, m.checksum, ${instant('m.applied_at')} as "appliedAt" from tock.migrations m order by m.name`,
);

const READ_SIZE = statement<object, { server: string; databaseBytes: number }>(
  'read-database-size',
  `select current_setting('server_version') as server, pg_database_size(current_database())::float8 as "databaseBytes"`,
);

/**
 * The checksums of the applied migrations by name; none if the schema is not there, or is empty.
 * @throws TockError TOCK_FORBIDDEN for a role that may not read them
 */
export async function readAppliedChecksums(database: Database): Promise<Map<string, string>> {
  try {
    await requireReadable(database, database);
  } catch (error) {
    if (error instanceof TockError && ['TOCK_NOT_FOUND', 'TOCK_BAD_STATE'].includes(error.code))
      return new Map();
    throw error;
  }
  const rows = await LIST_APPLIED.run(database, {});
  return new Map(rows.map(({ name, checksum }) => [name, checksum]));
}

/**
 * Reads catalogues and statistics, and the table of migrations.
 * @throws TockError TOCK_NOT_FOUND, TOCK_BAD_STATE (see requireTockSchema), TOCK_FORBIDDEN
 */
export async function describeSchema(database: Database): Promise<SchemaDescription> {
  return await database.transaction(async session => {
    await session.run(`set local timezone = 'UTC'`);
    const { owner } = await requireReadable(session, database);
    const relations = await LIST_RELATIONS.run(session, {});
    const applied = await LIST_APPLIED.run(session, {});
    const size = await READ_SIZE.first(session, {});
    if (size === undefined) throw new Error('the server did not say its size');
    return {
      schema: database.schema,
      owner,
      ...size,
      bytes: relations.reduce((sum, { bytes, indexBytes }) => sum + bytes + indexBytes, 0),
      tables: tablesOf(relations),
      partitions: partitionsOf(relations),
      migrations: statesOf(await readMigrations(), applied),
    };
  });
}

async function requireReadable(session: Session, database: Database) {
  const owner = await requireTockSchema(session, database);
  if (owner.mayRead) return owner;
  throw new TockError(
    'TOCK_FORBIDDEN',
    `the role ${owner.role} may not read the schema ${database.schema}; ${owner.owner} may grant it: grant usage on schema ${database.schema} to ${owner.role}; grant select on all tables in schema ${database.schema} to ${owner.role}`,
  );
}

/** Partitioned tables whose partitions are tables: each is one line. A level above, `job_runs`, is none. */
function isLine(table: Relation, all: readonly Relation[]): boolean {
  const parent = all.find(({ name }) => name === table.parent);
  if (parent !== undefined && isGrouped(parent, all)) return false;
  return !table.isPartitioned || isGrouped(table, all);
}

function isGrouped({ name, isPartitioned }: Relation, all: readonly Relation[]): boolean {
  return isPartitioned && !all.some(each => each.parent === name && each.isPartitioned);
}

function tablesOf(all: readonly Relation[]): TableSize[] {
  return all
    .filter(table => isLine(table, all))
    .map(table => {
      const parts = table.isPartitioned ? all.filter(({ parent }) => parent === table.name) : [table];
      const sum = (sizeOf: (sizes: Sizes) => number) =>
        parts.reduce((total, part) => total + sizeOf(part), 0);
      return {
        table: table.name,
        partitions: table.isPartitioned ? parts.length : null,
        rows: sum(({ rows }) => rows),
        bytes: sum(({ bytes }) => bytes),
        indexBytes: sum(({ indexBytes }) => indexBytes),
      };
    });
}

function partitionsOf(all: readonly Relation[]): PartitionSize[] {
  return all.flatMap(({ name, parent, bound, rows, bytes, indexBytes }) => {
    const table = all.find(each => each.name === parent);
    return table !== undefined && isGrouped(table, all)
      ? [{ partition: name, table: table.name, bound: bound ?? '', rows, bytes, indexBytes }]
      : [];
  });
}

function statesOf(
  known: readonly Migration[],
  applied: readonly { readonly name: string; readonly checksum: string; readonly appliedAt: Date }[],
): MigrationState[] {
  const rows = new Map(applied.map(row => [row.name, row]));
  const names = new Set(known.map(({ name }) => name));
  const ours = known.map(({ name, checksum }): MigrationState => {
    const row = rows.get(name);
    if (row === undefined) return { name, appliedAt: null, state: 'missing' };
    return { name, appliedAt: row.appliedAt, state: row.checksum === checksum ? 'applied' : 'changed' };
  });
  const newer = applied
    .filter(({ name }) => !names.has(name))
    .map(({ name, appliedAt }): MigrationState => ({ name, appliedAt, state: 'newer' }));
  return [...ours, ...newer];
}
