// The migrations as SQL, for teams that apply it with tools of their own.
import { inSchema } from '../connection/schema-name.js';
import { BOOKS, lockKey, MIN_SERVER, type Migration, missingOf, readMigrations } from './migrate.js';

export interface MigrationSqlOptions {
  readonly schema: string;
  /** Those to apply, in their order; at least one. */
  readonly migrations: readonly Migration[];
  /** Names of those that must be there already. */
  readonly applied: readonly string[];
  /** Of this package, for the first line. */
  readonly version: string;
  /** False: for a tool that opens a transaction itself. */
  readonly hasTransaction: boolean;
}

/** What is missing, by name, and its SQL; null: nothing is. */
export interface MissingSql {
  readonly migrations: readonly string[];
  readonly sql: string | null;
}

/**
 * @param done checksums of the applied ones by name
 * @throws TockError TOCK_MIGRATION_CHANGED
 */
export async function missingSql(
  done: ReadonlyMap<string, string>,
  options: Pick<MigrationSqlOptions, 'schema' | 'version' | 'hasTransaction'>,
): Promise<MissingSql> {
  const known = await readMigrations();
  const migrations = missingOf(known, done);
  if (migrations.length === 0) return { migrations: [], sql: null };
  const applied = known.map(({ name }) => name).filter(name => done.has(name));
  return {
    migrations: migrations.map(({ name }) => name),
    sql: migrationSql({ ...options, migrations, applied }),
  };
}

/**
 * The SQL that does what `migrate` does: the same lock, the same rows, one transaction. It refuses a database
 * that is not in the state it was made for. With the first migration it makes the coming partitions too.
 */
export function migrationSql(options: MigrationSqlOptions): string {
  const { schema, migrations, applied, hasTransaction } = options;
  const parts = [
    heading(options),
    ...(hasTransaction ? ['begin isolation level read committed;'] : []),
    `set local lock_timeout = '10s';`,
    `select pg_advisory_xact_lock(hashtextextended(${literal(lockKey(schema))}, 0));`,
    inSchema(BOOKS, schema).trim(),
    guard(options),
    ...migrations.map(migration => applying(migration, schema)),
    books(migrations, schema),
    ...(applied.length === 0 ? [inSchema(PARTITIONS, schema)] : []),
    ...(hasTransaction ? ['commit;'] : []),
  ];
  return `${parts.join('\n\n')}\n`;
}

const PARTITIONS = `-- The partitions of this month and the next three. Later ones are created by ticks, daemons and prune.
select made as partitions from tock.create_partitions();`;

function heading({ schema, migrations, version, hasTransaction }: MigrationSqlOptions): string {
  return [
    `-- Tock ${version}, schema ${schema}: ${migrations.map(({ name }) => name).join(', ')}`,
    '-- Apply it as the role that owns the schema, or is to own it: psql --set ON_ERROR_STOP=1 --file FILE',
    hasTransaction
      ? '-- It is one transaction: all of it is applied, or nothing. Then tock migrate finds nothing to do.'
      : '-- Apply it in one transaction, which this SQL does not open. Then tock migrate finds nothing to do.',
  ].join('\n');
}

/** What has names in it is written with the schema's name: `inSchema` might take a part of a name for it. */
function guard({ schema, migrations, applied }: MigrationSqlOptions): string {
  const names = (list: readonly { readonly name: string }[]) =>
    list.map(({ name }) => literal(name)).join(', ');
  const table = `"${schema}".migrations`;
  const again = 'make this SQL again with: tock migrate --sql';
  const before = applied.map(name => ({ name }));
  return `do $guard$ begin
  if current_setting('server_version_num')::integer < ${MIN_SERVER} then
    raise exception 'the server is PostgreSQL %; Tock needs ${MIN_SERVER / 10_000} or later', current_setting('server_version');
  end if;
  if exists (select from ${table} m where m.name in (${names(migrations)})) then
    raise exception 'the schema ${schema} has migrations of this SQL already; ${again}';
  end if;${
    before.length === 0
      ? ''
      : `
  if (select count(*) from ${table} m where m.name in (${names(before)})) < ${before.length} then
    raise exception 'the schema ${schema} lacks migrations that this SQL builds on; ${again}';
  end if;`
  }
end $guard$;`;
}

function applying({ name, text, checksum }: Migration, schema: string): string {
  return `-- ${name}

${inSchema(text, schema).trim()}

insert into "${schema}".migrations (name, checksum) values (${literal(name)}, ${literal(checksum)});`;
}

/** What `migrate` records too: what the schema holds, which database it is, the action in the audit. */
function books(migrations: readonly Migration[], schema: string): string {
  const names = migrations.map(({ name }) => literal(name)).join(', ');
  return `select "${schema}".note_objects();
select "${schema}".note_identity() where not exists (select from "${schema}".database_identity);
insert into "${schema}".audit (via, action, targets, count) values ('cli', 'migrate', array[${names}], ${migrations.length});`;
}

const literal = (text: string): string => `'${text.replaceAll("'", "''")}'`;
