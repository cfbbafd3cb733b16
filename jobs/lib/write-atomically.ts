// Writes a file that gets its name only once it is complete and on disk.
import { randomUUID } from 'node:crypto';
import { mkdir, rename, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';

/**
 * Writes a file beside its place and renames it into it, so that a reader never meets half a file and a
 * repeated attempt replaces the first one's file with its own.
 */
export async function writeAtomically(file: string, content: string | Uint8Array): Promise<void> {
  const folder = path.dirname(file);
  // In the same folder, because a rename is atomic only within one file system.
  const draft = path.join(folder, `.${randomUUID()}.tmp`);
  await mkdir(folder, { recursive: true });
  try {
    await writeFile(draft, content, { flush: true });
    await rename(draft, file);
  } catch (error) {
    await rm(draft, { force: true });
    throw error;
  }
}
