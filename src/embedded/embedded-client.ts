// Room: embedded. What is asked of a running embedded server over SQL.
// In: the cluster and its port. Out: proof that it is this cluster's server, its URL, and the database.
import path from 'node:path';
import { Client } from 'pg';
import { type Cluster, readPassword, superuser } from './embedded-cluster.js';

const connectTimeoutMs = 5_000;
const queryTimeoutMs = 60_000;

/** The URL of a database on the running server. */
export async function connectionString(cluster: Cluster, port: number, database: string): Promise<string> {
  const password = await readPassword(cluster);
  return `postgresql://${superuser}:${password}@127.0.0.1:${port}/${encodeURIComponent(database)}`;
}

/** Ends well when the server on this port answers and works on this very data directory, else throws. */
export async function checkIdentity(cluster: Cluster, port: number): Promise<void> {
  await withClient(cluster, port, async client => {
    const { rows } = await client.query<{ data_directory: string }>('show data_directory');
    const actual = rows[0]?.data_directory;
    if (actual === undefined || path.resolve(actual) !== cluster.dataDirectory) {
      throw new Error(
        `the server on port ${port} has its data in ${actual}, not in ${cluster.dataDirectory}`,
      );
    }
  });
}

/** Creates the database if the server has none of that name. */
export async function ensureDatabase(cluster: Cluster, port: number, database: string): Promise<void> {
  await withClient(cluster, port, async client => {
    const { rowCount } = await client.query('select from pg_database where datname = $1', [database]);
    if (rowCount === 0) await client.query(`create database ${client.escapeIdentifier(database)}`);
  });
}

async function withClient(
  cluster: Cluster,
  port: number,
  work: (client: Client) => Promise<void>,
): Promise<void> {
  const client = new Client({
    connectionString: await connectionString(cluster, port, 'postgres'),
    connectionTimeoutMillis: connectTimeoutMs,
    query_timeout: queryTimeoutMs,
  });
  // A connection that breaks between two queries must not end this process; the next query reports it.
  client.on('error', () => {});
  await client.connect();
  try {
    await work(client);
  } finally {
    await client.end();
  }
}
