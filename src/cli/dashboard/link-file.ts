// A private file for the one-time link, for where standard output is no terminal but a log: everybody who
// reads the log could sign in with a link in it.
import { mkdtempSync, writeFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';

/** Writes each link, in place of the one before, to a file that only this user can read. */
export class LinkFile {
  /** Null: nothing was written. */
  file: string | null = null;
  /** Why the last link could not be written, such as a full disk. The pages are served all the same. */
  problem: string | null = null;

  write(link: string): void {
    try {
      this.file ??= path.join(mkdtempSync(path.join(tmpdir(), 'tock-dashboard-')), 'link');
      writeFileSync(this.file, `${link}\n`, { mode: 0o600 });
      this.problem = null;
    } catch (error) {
      this.problem = (error as Error).message;
    }
  }

  async remove(): Promise<void> {
    if (this.file !== null) await rm(path.dirname(this.file), { recursive: true, force: true });
  }
}
