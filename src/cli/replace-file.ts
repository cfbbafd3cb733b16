// Replaces a file in one step, for readers that may come at any moment.
import { randomUUID } from 'node:crypto';
import { open, rename, rm } from 'node:fs/promises';
import path from 'node:path';

/** Readable for every user: the reader is another one. */
const MODE = 0o644;

/**
 * Writes a file beside its place and renames it into it. A reader sees the old file or the new one, whole. If
 * it fails, the old one stays, and nothing is left behind.
 */
export async function replaceFile(file: string, content: string): Promise<void> {
  try {
    await replace(file, content);
  } catch (error) {
    throw new Error(`cannot replace ${file}: ${error instanceof Error ? error.message : String(error)}`, {
      cause: error,
    });
  }
}

async function replace(file: string, content: string): Promise<void> {
  const draft = path.join(path.dirname(file), `.${path.basename(file)}.${randomUUID()}.tmp`);
  const handle = await open(draft, 'wx', MODE);
  try {
    try {
      // Cron's umask may allow less.
      await handle.chmod(MODE);
      await handle.writeFile(content);
      await handle.sync();
    } finally {
      await handle.close();
    }
    await rename(draft, file);
  } catch (error) {
    await rm(draft, { force: true });
    throw error;
  }
}
