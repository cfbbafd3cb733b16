// Waits for changes of a job module's files. It looks at them a few times a second, which also works where
// changes are not announced, as in folders that a container shares with its host.
import { existsSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { readJobFiles, timesOf } from './job-files.js';

const LOOK_MS = 150;

export interface WatchedFiles {
  /**
   * Resolves to the files that are no longer what they were at the last call, once no more of them change.
   * Empty if the signal aborts first.
   */
  changed(signal: AbortSignal): Promise<string[]>;
}

/** @param entries absolute paths; what they import is watched too */
export function watchFiles(entries: readonly string[]): WatchedFiles {
  let texts = readJobFiles(entries);
  // Not those of now: a file may have been written since it was read.
  let times = '';
  let isWritten = false;
  return {
    async changed(signal) {
      while (await waits(signal)) {
        const seen = timesOf(texts.keys());
        if (seen !== times) {
          times = seen;
          isWritten = true;
          // It may still be being written.
          continue;
        }
        if (!isWritten) continue;
        isWritten = false;
        const before = texts;
        texts = readJobFiles(entries);
        const changed = [...before].filter(([file, text]) => text !== (texts.get(file) ?? null));
        // A file that is only imported no longer has not changed.
        const own = changed.filter(([file]) => texts.has(file) || !existsSync(file));
        if (own.length > 0) return own.map(([file]) => file);
      }
      return [];
    },
  };
}

/** False once the signal aborts. */
async function waits(signal: AbortSignal): Promise<boolean> {
  await sleep(LOOK_MS, undefined, { signal }).catch(() => undefined);
  return !signal.aborted;
}
