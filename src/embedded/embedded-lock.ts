// Room: embedded. Who may change the embedded server just now, and who still uses it.
// In: the `.tock` folder, which all the processes share. Out: a lock, and one file per user under `users/`.
// Both name a process by pid and start time, so that they die with it, also by kill -9.
import { randomBytes } from 'node:crypto';
import { lstat, mkdir, readdir, rename, rm, rmdir, unlink, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { removeTree } from './embedded-files.js';
import { errorCode, ignoring, processLife } from './embedded-process.js';

const pollMs = 20;
const tokenPattern = /^\d+\.\w+\.[0-9a-f]{12}$/;
// Longer than a holder may take in the worst case: a start that has to recover a large database first.
const lockTimeoutMs = 180_000;

/**
 * Runs `work` while no other process, and no other caller in this one, runs theirs for the same folder.
 *
 * The lock is the directory `lock`, which holds one file named after its holder's token. It is made under
 * another name and renamed into place: that fails while a `lock` with something in it exists. A dead
 * holder's token is removed by its full name, so nobody can remove the token of a holder who came since.
 *
 * @throws when the lock is not to be had for 3 minutes.
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

/** Notes that this process uses the server. Out: the file to delete when it no longer does. */
export async function registerUser(folder: string): Promise<string> {
  const users = path.join(folder, 'users');
  await mkdir(users, { recursive: true });
  if (!(await lstat(users)).isDirectory()) throw new Error(`${users} is a link: remove it`);
  const file = path.join(users, await newToken());
  await writeFile(file, '', { flag: 'wx' });
  return file;
}

/** Forgets one user. Out: how many living ones remain. To be called under the lock. */
export async function unregisterUser(file: string): Promise<number> {
  await rm(file, { force: true });
  return (await livingTokens(path.dirname(file))).length;
}

/** How many living processes use the server. */
export async function countUsers(folder: string): Promise<number> {
  return (await livingTokens(path.join(folder, 'users'))).length;
}

/** A name for something of ours in the shared folder, by which others can tell when we are dead. */
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
    // What has no such name is not ours to remove, whatever folder this is.
    if (!tokenPattern.test(token)) continue;
    if (await tokenLives(token)) living.push(token);
    else await ignoring(['ENOENT'], unlink(path.join(directory, token)));
  }
  return living;
}

/** Removes what killed processes were in the middle of making: `<word>-<token>`. To be called under the lock. */
export async function removeLeftovers(folder: string): Promise<void> {
  for (const name of await readdir(folder)) {
    const token = /^(?:lock|initdb|binaries)-(\d+\..+)$/.exec(name)?.[1];
    if (token === undefined || !tokenPattern.test(token) || (await tokenLives(token))) continue;
    // An orphaned initdb may still be writing there; then the next one to hold the lock removes the rest.
    await removeTree(path.join(folder, name)).catch(() => {});
  }
}
