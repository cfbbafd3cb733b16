// Reads the crontabs of this host, as far as this user may.
import { execFile } from 'node:child_process';
import { readdir, readFile } from 'node:fs/promises';
import { userInfo } from 'node:os';
import path from 'node:path';
import { packageFolder, projectFolder } from '../environment/paths.js';
import { processIdentity } from '../environment/process-identity.js';
import type { Checkout, CrontabText } from '../model/doctor/crontab.js';

const SYSTEM_FOLDER = '/etc/cron.d';
const SYSTEM_FILE = '/etc/crontab';

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
  const source = `crontab of ${userName()}`;
  return await new Promise(resolve => {
    execFile('crontab', ['-l'], { timeout: 5000 }, (error, stdout, stderr) => {
      const isEmpty = error !== null && /no crontab for/i.test(stderr);
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

function userName(): string {
  try {
    return userInfo().username;
  } catch {
    // In a container the user may have no name.
    return `user ${process.getuid?.() ?? ''}`;
  }
}

/** Settings without secrets. */
const VARIABLES = [
  'DATABASE_URL_FILE',
  'TOCK_DATABASE',
  'TOCK_SCHEMA',
  'TOCK_JOBS',
  'TOCK_DATA',
  'TOCK_QUEUES',
];

/** This checkout as a line in the crontab names it. */
export function thisCheckout(env: NodeJS.ProcessEnv): Checkout {
  const set = VARIABLES.flatMap(name => (env[name] ? [[name, env[name]] as const] : []));
  return {
    host: processIdentity().host,
    folder: projectFolder(),
    node: process.execPath,
    tickScript: path.join(packageFolder() ?? projectFolder(), 'dist', 'tick.js'),
    variables: Object.fromEntries(set),
    hasUrlInEnvironment: Boolean(env['DATABASE_URL']),
  };
}
