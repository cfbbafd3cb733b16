// SQL to a running embedded server.
import path from 'node:path';
import { Client } from 'pg';
import { passwordFileOf, readPassword, superuser } from './embedded-cluster.js';
import type { Cluster } from './embedded-process.js';

interface Place {
  readonly port: number;
  readonly socketFolder: string | undefined;
}

const connectTimeoutMs = 5_000;
const queryTimeoutMs = 60_000;

/** A socket's folder takes the place of the host. */
export async function connectionString(
  cluster: Cluster,
  { port, socketFolder }: Place,
  database: string,
): Promise<string> {
  const password = await readPassword(cluster);
  const host = socketFolder === undefined ? '127.0.0.1' : encodeURIComponent(socketFolder);
  return `postgresql://${superuser}:${password}@${host}:${port}/${encodeURIComponent(database)}`;
}

/** The shell command that connects psql to the database. The password stays in its file. */
export function psqlCommand(cluster: Cluster, { port, socketFolder }: Place, database: string): string {
  const password = `PGPASSWORD="$(cat ${quoteForShell(passwordFileOf(cluster))})"`;
  const host = quoteForShell(socketFolder ?? '127.0.0.1');
  return `${password} psql -h ${host} -p ${port} -U ${superuser} ${quoteForShell(database)}`;
}

function quoteForShell(word: string): string {
  return /^[\w./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}

/** Throws unless the server at this address answers and uses this data directory. */
export async function checkIdentity(cluster: Cluster, place: Place): Promise<void> {
  await withClient(cluster, place, async client => {
    const { rows } = await client.query<{ data_directory: string }>('show data_directory');
    const actual = rows[0]?.data_directory;
    if (actual === undefined || path.resolve(actual) !== cluster.dataDirectory) {
      throw new Error(
        `the server on port ${place.port} has its data in ${actual}, not in ${cluster.dataDirectory}`,
      );
    }
  });
}

export async function ensureDatabase(cluster: Cluster, place: Place, database: string): Promise<void> {
  await withClient(cluster, place, async client => {
    const { rowCount } = await client.query('select from pg_database where datname = $1', [database]);
    if (rowCount === 0) await client.query(`create database ${client.escapeIdentifier(database)}`);
  });
}

async function withClient(
  cluster: Cluster,
  place: Place,
  work: (client: Client) => Promise<void>,
): Promise<void> {
  const client = new Client({
    connectionString: await connectionString(cluster, place, 'postgres'),
    connectionTimeoutMillis: connectTimeoutMs,
    query_timeout: queryTimeoutMs,
  });
  // A broken idle connection must not end this process; the next query reports it.
  client.on('error', () => {});
  await client.connect();
  try {
    await work(client);
  } finally {
    await client.end();
  }
}
