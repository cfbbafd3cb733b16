// How a process that sleeps is woken on its host: by the time of a file in the project's data folder. Who
// writes with Tock sets it; who sleeps looks at it each second. A file serves ticks, which are no process
// meanwhile, and has no limit of length as the path of a socket has. It exists only where a process has had
// `--idle`: who finds none does nothing.
import { chmodSync, mkdirSync, statSync, writeFile, writeFileSync } from 'node:fs';
import path from 'node:path';
import type { Clock } from '../model/clock.js';
import { projectFolder } from './paths.js';

const NAME = 'wake';

/** The project's folder for what Tock keeps on this host: TOCK_DATA, or `.tock` in the project. */
export const dataFolderOf = (env: NodeJS.ProcessEnv): string =>
  path.resolve(env['TOCK_DATA']?.trim() || path.join(projectFolder(), '.tock'));

const wakeFile = (): string => path.join(dataFolderOf(process.env), NAME);

/**
 * Makes the file, so that others write to it. Anybody on the host may: all that they can do is wake.
 * @throws where it cannot be written: then nobody may sleep here
 */
export function makeWakeFile(): void {
  const file = wakeFile();
  mkdirSync(path.dirname(file), { recursive: true });
  if (wokenAt() === null) {
    writeFileSync(file, '', { flag: 'a' });
    chmodSync(file, 0o666);
  }
  writeFileSync(file, '', { flag: 'r+' });
}

/** {@link makeWakeFile}, and whether it could. */
export function mayBeWoken(): boolean {
  try {
    makeWakeFile();
    return true;
  } catch {
    return false;
  }
}

/** When somebody on this host last wrote with Tock, as the file system has it; null: the file cannot be seen. */
export function wokenAt(): number | null {
  try {
    return statSync(wakeFile()).mtimeMs;
  } catch {
    return null;
  }
}

/** Who sleeps wakes up within a second. At most once a second; never fails, and is not waited for. */
export function createWaker({ now }: Pick<Clock, 'now'>): () => void {
  let before = Number.NEGATIVE_INFINITY;
  return () => {
    if (now() - before < 1000) return;
    before = now();
    writeFile(wakeFile(), new Date().toISOString(), { flag: 'r+' }, () => undefined);
  };
}
