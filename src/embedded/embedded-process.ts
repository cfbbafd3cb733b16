// Processes and users of the operating system.
import { execFile, spawn } from 'node:child_process';
import { lstat, readdir, readFile, readlink, stat } from 'node:fs/promises';
import path from 'node:path';

/** The user that a program runs as, if not this process's own. */
export interface Account {
  readonly name: string;
  readonly uid: number;
  readonly gid: number;
}

/** The folders and user of one embedded server. `folder` is `.tock`; `home` is it, or in /var/tmp. */
export interface Cluster {
  readonly folder: string;
  readonly home: string;
  readonly dataDirectory: string;
  readonly logFile: string;
  readonly account: Account | undefined;
}

/** A program's stdout and stderr together, and how it ended; `code` is null when it was killed. */
export interface Ended {
  readonly code: number | null;
  readonly output: string;
}

/** The environment of started programs: without PG* settings, locale or secrets of this process. */
export function bareEnvironment(): NodeJS.ProcessEnv {
  const kept: NodeJS.ProcessEnv = { LC_ALL: 'C', TZ: 'UTC' };
  for (const name of ['PATH', 'TMPDIR', 'TEMP', 'TMP', 'SystemRoot']) {
    const value = process.env[name];
    if (value !== undefined) kept[name] = value;
  }
  return kept;
}

/** Runs a program as `account` (default: this user), from a folder that every user may enter. */
export function spawnOptions(account: Account | undefined): {
  cwd: string;
  env: NodeJS.ProcessEnv;
  uid?: number;
  gid?: number;
} {
  const base = { cwd: path.parse(process.execPath).root, env: bareEnvironment() };
  return account === undefined ? base : { ...base, uid: account.uid, gid: account.gid };
}

/** Runs a program to its end. One that cannot be started also counts as ended, with code -1. */
export async function run(
  command: string,
  args: readonly string[],
  account?: Account,
  input = '',
): Promise<Ended> {
  return new Promise(resolve => {
    const child = spawn(command, args, { ...spawnOptions(account), stdio: 'pipe' });
    let output = '';
    const collect = (chunk: string): void => {
      output += chunk;
    };
    child.stdout.setEncoding('utf8').on('data', collect);
    child.stderr.setEncoding('utf8').on('data', collect);
    child.once('error', error => resolve({ code: -1, output: error.message }));
    child.once('close', code => resolve({ code, output }));
    // A program may end before it has read its input.
    child.stdin.on('error', () => {});
    child.stdin.end(input);
  });
}

/**
 * The user that owns a new cluster and runs PostgreSQL: undefined (this user), or, because PostgreSQL refuses
 * to run as root, `postgres` if there is one, otherwise `nobody`.
 */
export async function serverAccount(): Promise<Account | undefined> {
  if (process.getuid?.() !== 0) return undefined;
  const users = (await readFile('/etc/passwd', 'utf8')).split('\n').map(line => line.split(':'));
  for (const wanted of ['postgres', 'nobody']) {
    const [name, , uid, gid] = users.find(([name]) => name === wanted) ?? [];
    if (name !== undefined && Number(uid) > 0 && Number(gid) > 0)
      return { name, uid: Number(uid), gid: Number(gid) };
  }
  throw new Error('PostgreSQL refuses to run as root, and /etc/passwd has no user "postgres" or "nobody"');
}

/**
 * The user that runs the server of an existing data directory: as root the directory's owner, who may differ
 * from the user of a new cluster. A directory of root itself (a copy that root made) goes to `account`.
 */
export async function ownerAccount(dataDirectory: string, account: Account): Promise<Account> {
  const found = await lstat(dataDirectory).catch(() => undefined);
  if (found === undefined) return account;
  // Root may have placed the data elsewhere. Another user's link could lead anywhere.
  if (!found.isDirectory() && found.uid !== 0)
    throw new Error(`${dataDirectory} is a link of uid ${found.uid}: remove it`);
  const { uid, gid } = found.isDirectory() ? found : await stat(dataDirectory);
  return uid === 0 || uid === account.uid ? account : { name: `uid ${uid}`, uid, gid };
}

/** `<pid>.<start>` of a living process, since pids are reused; undefined for dead ones and zombies. */
export async function processLife(pid: number): Promise<string | undefined> {
  if (!Number.isSafeInteger(pid) || pid <= 0) return undefined;
  if (process.platform === 'linux') return linuxProcessLife(pid);
  if (!answersSignalZero(pid)) return undefined;
  if (process.platform === 'win32') return `${pid}.0`;
  const start = (await outputOf('ps', ['-o', 'lstart=', '-p', String(pid)])).replaceAll(/\W+/g, '');
  return start === '' ? undefined : `${pid}.${start}`;
}

/** Whether the process `pid` still lives; cheap enough for every second. */
export async function isAlive(pid: number, life: string | undefined): Promise<boolean> {
  return process.platform === 'linux' ? (await linuxProcessLife(pid)) === life : answersSignalZero(pid);
}

async function linuxProcessLife(pid: number): Promise<string | undefined> {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '');
  // The command's name, in parentheses, may itself contain spaces and parentheses.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  const state = fields[0];
  const start = fields[19];
  if (start === undefined || state === 'Z' || state === 'X') return undefined;
  return `${pid}.${start}`;
}

function answersSignalZero(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return errorCode(error) === 'EPERM';
  }
}

/** Whether `pid` is a living postmaster of this cluster, not another process with its old pid. */
export async function isPostmasterOf(pid: number, dataDirectory: string): Promise<boolean> {
  if ((await processLife(pid)) === undefined) return false;
  if (process.platform === 'win32') return true;
  if (process.platform !== 'linux') {
    const command = await outputOf('ps', ['-ww', '-o', 'command=', '-p', String(pid)]);
    return command.includes('postgres') && command.includes(dataDirectory);
  }
  const words = (await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '')).split('\0');
  if (path.basename(words[0] ?? '') !== 'postgres') return false;
  if (words.includes(dataDirectory)) return true;
  return (await readlink(`/proc/${pid}/cwd`).catch(() => '')) === dataDirectory;
}

/**
 * Ends backends that a killed postmaster of `dataDirectory` left behind: waiting ones notice its death,
 * computing ones do not. Linux only, and only if the folders of processes are visible.
 */
export async function endOrphans(dataDirectory: string): Promise<void> {
  for (const pid of await readdir('/proc').catch(() => [])) {
    if (!/^\d+$/.test(pid)) continue;
    const title = await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '');
    if (!title.startsWith('postgres:')) continue;
    if ((await readlink(`/proc/${pid}/cwd`).catch(() => '')) !== dataDirectory) continue;
    try {
      process.kill(Number(pid), 'SIGQUIT');
    } catch (error) {
      if (errorCode(error) !== 'ESRCH') throw error;
    }
  }
}

async function outputOf(command: string, args: string[]): Promise<string> {
  return new Promise(resolve => {
    execFile(command, args, (error, stdout) => resolve(error === null ? stdout.trim() : ''));
  });
}

/** The `code` of a system error (ENOENT …) or a PostgreSQL error (57P03 …); otherwise undefined. */
export function errorCode(error: unknown): string | undefined {
  if (typeof error !== 'object' || error === null || !('code' in error)) return undefined;
  return typeof error.code === 'string' ? error.code : undefined;
}

/** Ignores the system errors named in `codes`, and only those. */
export async function ignoring(codes: readonly string[], work: Promise<unknown>): Promise<void> {
  try {
    await work;
  } catch (error) {
    if (!codes.includes(errorCode(error) ?? '')) throw error;
  }
}
