// Brings the schema to the version that this code needs.
import { createHash } from 'node:crypto';
import { TockError } from '../../model/errors.js';
import type { Database, Session } from '../connection/database.js';
import { isConnectionFailure } from '../connection/errors.js';
import { statement } from '../connection/statement.js';
import { makeComingPartitions } from '../partitions/coming-partitions.js';
import { noteIdentity } from './database-identity.js';
import { MIGRATION_NAMES } from './migration-names.js';
import type { MigrationText } from './migration-texts.js';
import { readSchemaTrouble } from './schema-trouble.js';

/** A migration may have much to move. It waits at most 10 s for a lock. */
const LONG = { mayTakeLong: true } as const;
/** The oldest supported server, as server_version_num counts. */
export const MIN_SERVER = 150000;

export interface Migration extends MigrationText {
  readonly checksum: string;
}

/** What a migration did. */
export interface MigrateResult {
  readonly applied: readonly string[];
  readonly alreadyThere: number;
  readonly madePartitions: number;
  /** Why some coming partitions could not be made; null: they exist. Retried by ticks, daemons and prune. */
  readonly partitionsLeft: string | null;
}

/** Makes the schema and the table of its migrations, if they are not there. */
export const BOOKS = `
do $$ begin
  if to_regnamespace('tock') is null then create schema tock; end if;
end $$;
create table if not exists tock.migrations (
  name       text primary key,
  checksum   text not null,
  applied_at timestamptz not null default clock_timestamp(),
  objects    jsonb
);
comment on table tock.migrations is 'Which migrations have been applied, and what they said.';
comment on column tock.migrations.objects is 'What the schema held after the last of them; null beside the others.';
`;

const LIST = statement<object, { name: string; checksum: string }>(
  'list-migrations',
  `select name, checksum from tock.migrations`,
);
const NOTE = statement<{ name: string; checksum: string }, never>(
  'note-migration',
  `insert into tock.migrations (name, checksum) values (:name, :checksum)`,
);
const NOTE_OBJECTS = statement<object, never>('note-schema-objects', 'select tock.note_objects()');
const LOCK = statement<{ key: string }, object>(
  'lock-migrations',
  `select pg_advisory_xact_lock(hashtextextended(:key, 0))`,
);
const READ_SERVER = statement<object, { version: number; name: string }>(
  'read-server-version',
  `select current_setting('server_version_num')::integer as version, current_setting('server_version') as name`,
);

/** Of the advisory lock that lets one session at a time change a schema. */
export const lockKey = (schema: string): string => `tock.migrate:${schema}`;

/** Waits for the lock until the end of the transaction. */
export async function lockMigrations(session: Session, schema: string): Promise<void> {
  await LOCK.run(session, { key: lockKey(schema) });
}

/**
 * Applies the missing migrations in one transaction. Then makes the coming partitions in short ones; if that
 * is impossible now, the schema is up to date all the same.
 *
 * Safe to run from several hosts at once: an advisory lock of the transaction lets one go first. Each
 * statement waits at most 10 s for a lock, so that it fails rather than hold up live traffic.
 * @param onApplied called in the transaction with the names of the applied ones, unless there are none
 * @param texts default: those of this version
 * @throws TockError TOCK_MIGRATION_CHANGED when an applied file has changed, TOCK_DATABASE_TOO_OLD
 */
export async function migrate(
  database: Database,
  onApplied?: (session: Session, names: readonly string[]) => Promise<unknown>,
  texts?: readonly MigrationText[],
): Promise<MigrateResult> {
  const applied = await applyMissing(database, await readMigrations(texts), onApplied);
  return { ...applied, ...(await makePartitions(database)) };
}

async function makePartitions(
  database: Database,
): Promise<Pick<MigrateResult, 'madePartitions' | 'partitionsLeft'>> {
  try {
    const { made, isLeft } = await makeComingPartitions(database, { unit: null, mayTakeLong: true });
    const why = 'another session held locks on the history for too long (see pg_blocking_pids)';
    return { madePartitions: made, partitionsLeft: isLeft ? why : null };
  } catch (error) {
    if (isConnectionFailure(error)) throw error;
    return { madePartitions: 0, partitionsLeft: String(error) };
  }
}

async function applyMissing(
  database: Database,
  migrations: readonly Migration[],
  onApplied: Parameters<typeof migrate>[1],
): Promise<Pick<MigrateResult, 'applied' | 'alreadyThere'>> {
  return await database.transaction(async session => {
    await refuseOldServer(session);
    await session.run(`set local lock_timeout = '10s'`);
    await lockMigrations(session, database.schema);
    await session.run(BOOKS);
    const done = await LIST.run(session, {});
    const missing = missingOf(migrations, new Map(done.map(row => [row.name, row.checksum])));
    for (const { name, text, checksum } of missing) {
      // Without parameters the driver sends the text as it is, however many statements it holds.
      await session.run(text);
      await NOTE.run(session, { name, checksum });
    }
    await noteIdentity(session);
    const applied = missing.map(({ name }) => name);
    if (applied.length > 0) await NOTE_OBJECTS.run(session, {});
    if (applied.length > 0) await onApplied?.(session, applied);
    return { applied, alreadyThere: done.length };
  }, LONG);
}

/**
 * One cheap statement. A schema that is ahead is fine, since a rolling deploy migrates first.
 * @throws TockError TOCK_NOT_MIGRATED if the schema lacks a migration of this code; TOCK_FORBIDDEN if row
 * level security hides which ones it has
 */
export async function requireMigrated(database: Database): Promise<void> {
  const rows = await LIST.run(database, {});
  const applied = new Set(rows.map(row => row.name));
  const missing = MIGRATION_NAMES.filter(name => !applied.has(name));
  if (missing.length === 0) return;
  const { hidden } = await readSchemaTrouble(database);
  if (hidden.includes('migrations'))
    throw new TockError(
      'TOCK_FORBIDDEN',
      `row level security hides the rows of schema ${database.schema} from this role; let the owner switch it off (tock doctor has the command)`,
    );
  throw new TockError(
    'TOCK_NOT_MIGRATED',
    `the schema ${database.schema} lacks ${missing.join(', ')}; run: tock migrate`,
  );
}

async function refuseOldServer(session: Session): Promise<void> {
  const row = await READ_SERVER.first(session, {});
  if (row && row.version < MIN_SERVER) {
    throw new TockError(
      'TOCK_DATABASE_TOO_OLD',
      `the server is PostgreSQL ${row.name}; Tock needs 15 or later`,
    );
  }
}

/** In the order in which they are applied. @param texts default: those of this version */
export async function readMigrations(texts?: readonly MigrationText[]): Promise<Migration[]> {
  const given = texts ?? (await import('./migration-texts.js')).MIGRATION_TEXTS;
  return given.map(({ name, text }) => ({
    name,
    text,
    checksum: createHash('sha256').update(text.replaceAll('\r\n', '\n')).digest('hex'),
  }));
}

/**
 * Those that are not applied.
 * @param done checksums of the applied ones by name
 * @throws TockError TOCK_MIGRATION_CHANGED
 */
export function missingOf(migrations: readonly Migration[], done: ReadonlyMap<string, string>): Migration[] {
  return migrations.filter(({ name, checksum }) => {
    const applied = done.get(name);
    if (applied !== undefined && applied !== checksum) {
      throw new TockError(
        'TOCK_MIGRATION_CHANGED',
        `${name} was changed after it had been applied; migrations are append-only: restore it and add a new file`,
      );
    }
    return applied === undefined;
  });
}
