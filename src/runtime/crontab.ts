// Reads the crontabs of this host, as far as this user may, and writes the user's own.

import { execFile } from 'node:child_process';
import { existsSync, readFileSync, realpathSync } from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import { parseEnv } from 'node:util';
import { osUser } from '../environment/os-user.js';
import { packageFolder, projectFolder } from '../environment/paths.js';
import { processIdentity } from '../environment/process-identity.js';
import type { Checkout, CrontabText } from '../model/doctor/crontab.js';
import { TockError } from '../model/errors.js';

export const SYSTEM_FOLDER = '/etc/cron.d';
export const SYSTEM_FILE = '/etc/crontab';
const TIMEOUT_MS = 5000;

/** The user's crontab and those of the system. Null: none could be read. */
export async function readCrontabs(): Promise<CrontabText[] | null> {
  const own = await readOwn();
  const names = await readdir(SYSTEM_FOLDER).catch(() => []);
  // Cron ignores files with other names, such as `app.dpkg-old`.
  const files = names.filter(name => /^[\w-]+$/.test(name)).map(name => path.join(SYSTEM_FOLDER, name));
  const read = await Promise.all([SYSTEM_FILE, ...files].map(readSystem));
  const found = [own, ...read].filter(crontab => crontab !== null);
  return found.length === 0 ? null : found;
}

/** Empty for a user who has none. */
async function readOwn(): Promise<CrontabText | null> {
  const source = `crontab of ${osUser()}`;
  return await new Promise(resolve => {
    execFile('crontab', ['-l'], { timeout: TIMEOUT_MS }, (error, stdout, stderr) => {
      const isEmpty = error !== null && NONE.test(stderr);
      resolve(error === null || isEmpty ? { source, hasUser: false, text: isEmpty ? '' : stdout } : null);
    });
  });
}

async function readSystem(file: string): Promise<CrontabText | null> {
  try {
    return { source: file, hasUser: true, text: await readFile(file, 'utf8') };
  } catch {
    return null;
  }
}

const NONE = /no crontab for/i;

/**
 * The user's crontab, byte by byte; null: there is none.
 * @param instead what to do on a host without cron
 * @throws TockError TOCK_NOT_FOUND without cron
 */
export async function readOwnCrontab(instead = 'name a file'): Promise<Buffer | null> {
  return await new Promise((resolve, reject) => {
    execFile('crontab', ['-l'], { timeout: TIMEOUT_MS, encoding: 'buffer' }, (error, stdout, stderr) => {
      if (error === null) resolve(stdout);
      else if (NONE.test(stderr.toString())) resolve(null);
      else reject(crontabFailed('read', error, stderr.toString(), instead));
    });
  });
}

/** Replaces the user's crontab; null removes it. @throws TockError TOCK_NOT_FOUND if cron refuses it */
export async function writeOwnCrontab(content: Buffer | null): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    const args = content === null ? ['-r'] : ['-'];
    const child = execFile('crontab', args, { timeout: TIMEOUT_MS }, (error, _stdout, stderr) => {
      if (error === null) resolve();
      else reject(crontabFailed('written', error, stderr));
    });
    // A crontab program that fails early does not read it.
    child.stdin?.on('error', () => undefined);
    child.stdin?.end(content ?? '');
  });
}

function crontabFailed(
  what: 'read' | 'written',
  error: Error,
  stderr: string,
  instead = 'name a file',
): TockError {
  const isMissing = (error as NodeJS.ErrnoException).code === 'ENOENT';
  const why = stderr.trim().replace(/\s*\n\s*/g, ' ') || error.message;
  return new TockError(
    'TOCK_NOT_FOUND',
    isMissing
      ? `this host has no program crontab: install cron, or ${instead}`
      : `the crontab of ${osUser()} cannot be ${what}: ${why}`,
    { cause: error },
  );
}

const DAEMONS = new Set(['cron', 'crond', 'fcron', 'cronie']);

/** Whether a cron daemon runs on this host; null where that cannot be seen. */
export async function isCronRunning(proc = '/proc'): Promise<boolean | null> {
  const names = await readdir(proc).catch(() => []);
  const processes = names.filter(name => /^\d+$/.test(name));
  if (processes.length === 0) return null;
  for (const id of processes) {
    const name = await readFile(path.join(proc, id, 'comm'), 'utf8').catch(() => '');
    if (DAEMONS.has(name.trim())) return true;
  }
  return false;
}

/** Settings without secrets. */
const VARIABLES = [
  'DATABASE_URL_FILE',
  'TOCK_DATABASE',
  'TOCK_SCHEMA',
  'TOCK_SERVICE',
  'TOCK_JOBS',
  'TOCK_DATA',
  'TOCK_QUEUES',
];

/** This checkout as a line in the crontab names it, without what a tick reads from `.env` in its folder. */
export function thisCheckout(env: NodeJS.ProcessEnv): Checkout {
  const folder = projectFolder();
  const own = variablesOf(path.join(folder, '.env'));
  const isSet = (name: string) => Boolean(env[name]) && env[name] !== own[name];
  return {
    host: processIdentity().host,
    folder,
    node: process.execPath,
    tickScript: path.join(packageOf(folder), 'dist', 'tick.js'),
    variables: Object.fromEntries(VARIABLES.filter(isSet).map(name => [name, env[name] ?? ''])),
    hasUrlInEnvironment: isSet('DATABASE_URL'),
    isNamedInFile: Boolean(own['DATABASE_URL'] ?? own['DATABASE_URL_FILE'] ?? own['TOCK_DATABASE']),
  };
}

/** As the project names it: the real path may hold its version (pnpm), or be that of a clone (npm link). */
function packageOf(folder: string): string {
  const real = packageFolder();
  const named = path.join(folder, 'node_modules', 'pg-tock');
  if (real !== null && existsSync(named) && realpathSync(named) === realpathSync(real)) return named;
  return real ?? folder;
}

function variablesOf(file: string): Readonly<Record<string, string | undefined>> {
  try {
    return parseEnv(readFileSync(file, 'utf8'));
  } catch {
    return {};
  }
}
