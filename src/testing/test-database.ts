// The empty database of one test; or a schema, if the role may not create databases.
import { randomBytes } from 'node:crypto';
import { systemClock } from '../environment/system-clock.js';
import { TockError } from '../model/errors.js';
import { openDatabase } from '../store/connection/database.js';
import { explainDatabaseError } from '../store/connection/errors.js';
import { DATABASE_MARK, SCHEMA_MARK } from './test-clock.js';

export interface TestPlace {
  readonly connectionString: string;
  readonly schema: string;
  readonly isOwnDatabase: boolean;
  /** Drops it, even while connections to it are open. */
  drop(): Promise<void>;
}

const INSUFFICIENT_PRIVILEGE = '42501';

/** The server for tests, and what named it: `connectionString`, `TOCK_TEST_DATABASE_URL`. */
export interface TestServer {
  readonly url: string;
  readonly namedBy: string;
}

/**
 * Makes a database or schema, marked as the kit's, whose name begins with `tock_test_`.
 * @param schema Tock's schema in a database of its own
 * @throws TockError whose message says which setting to correct
 */
export async function createTestPlace({ url, namedBy }: TestServer, schema: string): Promise<TestPlace> {
  try {
    return await createPlace(url, schema);
  } catch (error) {
    const explained = explainDatabaseError(error, schema);
    if (!(explained instanceof TockError)) throw error;
    const { code, message } = explained;
    // Tests never use DATABASE_URL.
    throw new TockError(code, message.replaceAll(/\bDATABASE_URL\b|\bconnectionString\b/g, namedBy), {
      cause: error,
    });
  }
}

async function createPlace(server: string, schema: string): Promise<TestPlace> {
  const name = `tock_test_${process.pid}_${randomBytes(6).toString('hex')}`;
  try {
    await runOn(server, [
      `create database ${name} template template0 encoding 'UTF8'`,
      `comment on database ${name} is '${DATABASE_MARK}'`,
    ]);
    const url = readUrl(server);
    url.pathname = `/${name}`;
    return {
      connectionString: url.href,
      schema,
      isOwnDatabase: true,
      drop: () => runOn(server, [`drop database if exists ${name} with (force)`]),
    };
  } catch (error) {
    if ((error as { code?: unknown }).code !== INSUFFICIENT_PRIVILEGE) throw error;
  }
  await runOn(server, [`create schema ${name}`, `create table ${name}.${SCHEMA_MARK} ()`]);
  return {
    connectionString: server,
    schema: name,
    isOwnDatabase: false,
    drop: () => runOn(server, [`drop schema if exists ${name} cascade`]),
  };
}

function readUrl(text: string): URL {
  const url = URL.canParse(text) ? new URL(text) : null;
  if (url && ['postgres:', 'postgresql:'].includes(url.protocol)) return url;
  // The text is not shown: it may hold a password.
  throw new TockError(
    'TOCK_BAD_OPTION',
    'connectionString is no URL of a PostgreSQL server; write postgresql://user:password@host:5432/database',
  );
}

async function runOn(server: string, statements: readonly string[]): Promise<void> {
  const database = openDatabase({
    clock: systemClock,
    connectionString: readUrl(server).href,
    connections: 1,
  });
  try {
    for (const statement of statements) await database.run(statement);
  } finally {
    await database.close();
  }
}
