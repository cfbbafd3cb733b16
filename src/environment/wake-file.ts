// How a process that sleeps is woken on its host: by the time of a file in the project's data folder. Who
// writes with Tock sets it; who sleeps looks at it each second. A file serves ticks, which are no process
// meanwhile, and has no limit of length as the path of a socket has. It exists only where a process has had
// `--idle`: who finds none does nothing.
import { chmodSync, mkdirSync, statSync, writeFile, writeFileSync } from 'node:fs';
import path from 'node:path';
import type { Clock } from '../model/clock.js';
import type { Logger } from '../model/logger.js';
import { projectFolder } from './paths.js';

const NAME = 'wake';

/** The project's folder for what Tock keeps on this host: TOCK_DATA, or `.tock` in the project. */
export const dataFolderOf = (env: NodeJS.ProcessEnv): string =>
  path.resolve(env['TOCK_DATA']?.trim() || path.join(projectFolder(), '.tock'));

export interface WakeFile {
  /**
   * Makes it, so that others write to it. Anybody on the host may: all that they can do is wake.
   * @throws where it cannot be written: then nobody may sleep here
   */
  make(): void;
  /** When somebody on this host last wrote with Tock, as the file system has it; null: it cannot be seen. */
  wokenAt(): number | null;
}

/** @param folder default: that of this process now, also if it changes its working directory later */
export function wakeFileIn(folder = dataFolderOf(process.env)): WakeFile {
  const file = path.join(folder, NAME);
  const wokenAt = () => {
    try {
      return statSync(file).mtimeMs;
    } catch {
      return null;
    }
  };
  return {
    make() {
      if (mkdirSync(folder, { recursive: true }) !== undefined)
        writeFileSync(path.join(folder, '.gitignore'), '*\n');
      if (wokenAt() === null) {
        writeFileSync(file, '', { flag: 'a' });
        chmodSync(file, 0o666);
      }
      writeFileSync(file, '', { flag: 'r+' });
    },
    wokenAt,
  };
}

/**
 * Who sleeps wakes up within a second. At most once a second; never fails, and is not waited for. If others
 * sleep who cannot be woken, that is logged once.
 */
export function createWaker({ now }: Pick<Clock, 'now'>, logger: Pick<Logger, 'warn'>): () => void {
  const file = path.join(dataFolderOf(process.env), NAME);
  let before = Number.NEGATIVE_INFINITY;
  let isFailing = false;
  return () => {
    if (now() - before < 1000) return;
    before = now();
    writeFile(file, new Date().toISOString(), { flag: 'r+' }, error => {
      // A full disk keeps the text, not the time.
      if (error === null || ['ENOENT', 'ENOTDIR', 'ENOSPC'].includes(error.code ?? '')) return;
      if (!isFailing)
        logger.warn(
          { event: 'wake.failed', error: String(error) },
          `who sleeps here (--idle) is not woken by what this process writes: ${String(error)}`,
        );
      isFailing = true;
    });
  };
}
