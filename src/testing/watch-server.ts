// Watches a test run's server, and removes it once no process uses it.
import { readdir, readFile, rename, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { performance } from 'node:perf_hooks';
import { setTimeout as delay } from 'node:timers/promises';
import { removeTree } from '../embedded/embedded-files.js';
import { countUsers, newToken, withLock } from '../embedded/embedded-lock.js';
import { processLife } from '../embedded/embedded-process.js';
import { removeEmbeddedServer } from '../embedded/embedded-server.js';

const LOOK_EVERY_MS = 250;
/** Longer than a runner takes from the end of one test process to the beginning of the next. */
const LINGER_MS = 3000;

const noteOf = (folder: string) => path.join(folder, 'reaper');

export async function isWatched(folder: string): Promise<boolean> {
  const token = await readFile(noteOf(folder), 'utf8').catch(() => '');
  const [pid, start] = token.split('.');
  return token !== '' && (await processLife(Number(pid))) === `${pid}.${start}`;
}

/**
 * Removes the server three seconds after its last user. Returns at once if another process already watches
 * it. First removes the servers of test runs whose reaper was killed.
 */
export async function watchServer(folder: string, prefix: string): Promise<void> {
  const isOurs = await withLock(folder, async () => {
    if (await isWatched(folder)) return false;
    const draft = `${noteOf(folder)}.draft`;
    await writeFile(draft, await newToken());
    await rename(draft, noteOf(folder));
    return true;
  });
  if (!isOurs) return;
  await removeAbandoned(folder, prefix);
  do await untilUnused(folder);
  while (!(await removeEmbeddedServer(folder)));
}

async function untilUnused(folder: string): Promise<void> {
  let usedAt = performance.now();
  while (performance.now() - usedAt < LINGER_MS) {
    await delay(LOOK_EVERY_MS);
    if ((await countUsers(folder)) > 0) usedAt = performance.now();
  }
}

async function removeAbandoned(ours: string, prefix: string): Promise<void> {
  const parent = path.dirname(prefix);
  for (const name of await readdir(parent)) {
    const folder = path.join(parent, name);
    if (!folder.startsWith(prefix) || folder === ours) continue;
    const ending = /\.ended-(\d+)\.(\d+)\./.exec(name);
    if (ending) {
      const isEnding = (await processLife(Number(ending[1]))) === `${ending[1]}.${ending[2]}`;
      if (!isEnding) await removeTree(folder).catch(() => undefined);
    } else if (!(await isWatched(folder))) {
      // A server that is just starting may have no reaper yet; then its starter tries again.
      await removeEmbeddedServer(folder).catch(() => undefined);
    }
  }
}
