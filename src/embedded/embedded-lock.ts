// The lock of the embedded server, and the list of processes that use it, in files under `.tock`. Both name a
// process by pid and start time, so they become void when it dies, even by kill -9.
import { randomBytes } from 'node:crypto';
import { lstat, mkdir, readdir, rename, rm, rmdir, unlink, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { removeTree } from './embedded-files.js';
import { errorCode, ignoring, processLife } from './embedded-process.js';

const pollMs = 20;
const tokenPattern = /^\d+\.\w+\.[0-9a-f]{12}$/;
// Longer than the worst case: a start that first has to recover a large database.
const lockTimeoutMs = 180_000;

/**
 * Runs `work` under the folder's lock, exclusively among all processes and callers.
 *
 * The lock is the directory `lock`, which holds one file named after its holder's token. It is created under
 * another name and renamed into place, which fails while a non-empty `lock` exists. A dead holder's token is
 * removed by its full name, so a newer holder's token is safe.
 * @throws if the lock is not free within 3 minutes
 */
export async function withLock<T>(folder: string, work: () => Promise<T>): Promise<T> {
  const token = await newToken();
  await acquire(folder, token);
  try {
    await removeLeftovers(folder);
    return await work();
  } finally {
    const lock = path.join(folder, 'lock');
    await ignoring(['ENOENT'], unlink(path.join(lock, token)));
    await removeIfEmpty(lock);
  }
}

async function acquire(folder: string, token: string): Promise<void> {
  const lock = path.join(folder, 'lock');
  const prepared = path.join(folder, `lock-${token}`);
  await mkdir(prepared);
  await writeFile(path.join(prepared, token), '', { flag: 'wx' });
  const deadline = Date.now() + lockTimeoutMs;
  for (;;) {
    if (await renamed(prepared, lock)) return;
    const holders = await livingTokens(lock);
    if (holders.length === 0) await removeIfEmpty(lock);
    if (Date.now() > deadline) {
      await removeTree(prepared);
      const holder = holders[0]?.split('.')[0];
      throw new Error(
        `${holder === undefined ? 'another user' : `process ${holder}`} has held ${lock} for too long`,
      );
    }
    await delay(pollMs);
  }
}

async function renamed(from: string, to: string): Promise<boolean> {
  try {
    await rename(from, to);
    return true;
  } catch (error) {
    const taken = ['ENOTEMPTY', 'EEXIST', ...(process.platform === 'win32' ? ['EPERM', 'EACCES'] : [])];
    if (taken.includes(errorCode(error) ?? '')) return false;
    throw error;
  }
}

async function removeIfEmpty(directory: string): Promise<void> {
  await ignoring(['ENOENT', 'ENOTEMPTY', 'EEXIST'], rmdir(directory));
}

/** Returns the file to delete when this process no longer uses the server. */
export async function registerUser(folder: string): Promise<string> {
  const users = path.join(folder, 'users');
  await mkdir(users, { recursive: true });
  if (!(await lstat(users)).isDirectory()) throw new Error(`${users} is a link: remove it`);
  const file = path.join(users, await newToken());
  await writeFile(file, '', { flag: 'wx' });
  return file;
}

/** Removes one user. Returns how many living ones remain. Requires the lock. */
export async function unregisterUser(file: string): Promise<number> {
  await rm(file, { force: true });
  return (await livingTokens(path.dirname(file))).length;
}

export async function countUsers(folder: string): Promise<number> {
  return (await livingTokens(path.join(folder, 'users'))).length;
}

/** A name by which other processes can see whether this one is dead. */
export async function newToken(): Promise<string> {
  const life = await processLife(process.pid);
  return `${life ?? `${process.pid}.0`}.${randomBytes(6).toString('hex')}`;
}

async function tokenLives(token: string): Promise<boolean> {
  const [pid, start] = token.split('.');
  return (await processLife(Number(pid))) === `${pid}.${start}`;
}

async function livingTokens(directory: string): Promise<string[]> {
  const living: string[] = [];
  for (const token of await readdir(directory).catch(() => [])) {
    if (!tokenPattern.test(token)) continue;
    if (await tokenLives(token)) living.push(token);
    else await ignoring(['ENOENT'], unlink(path.join(directory, token)));
  }
  return living;
}

/** Removes unfinished files of killed processes, `<word>-<token>`. Requires the lock. */
export async function removeLeftovers(folder: string): Promise<void> {
  for (const name of await readdir(folder)) {
    const token = /^(?:lock|initdb|binaries)-(\d+\..+)$/.exec(name)?.[1];
    if (token === undefined || !tokenPattern.test(token) || (await tokenLives(token))) continue;
    // An orphaned initdb may still write there; the next holder of the lock removes the rest.
    await removeTree(path.join(folder, name)).catch(() => {});
  }
}
