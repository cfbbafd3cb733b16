// A crontab program of our own, so that no test touches a real crontab: it keeps the crontab in a file.
import { chmod, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { beginInTerminal, type Result, tock } from './cli-harness.js';

const PROGRAM = `#!/bin/sh
case "$1" in
-l) if [ -f "$FAKE_CRONTAB" ]; then cat "$FAKE_CRONTAB"; else echo "no crontab for app" >&2; exit 1; fi ;;
-) cat > "$FAKE_CRONTAB" ;;
-r) rm "$FAKE_CRONTAB" ;;
esac
`;

export interface CrontabKit {
  readonly folder: string;
  readonly env: Readonly<Record<string, string>>;
  tock(args: readonly string[], options?: { env?: Record<string, string>; input?: string }): Promise<Result>;
  /** In a terminal, with this answer to its question. */
  answer(args: readonly string[], input: string): Promise<Result>;
  /** Null: there is no crontab. */
  crontab(): Promise<Buffer | null>;
  setCrontab(content: string | Buffer | null): Promise<void>;
  write(name: string, content: string | Buffer): Promise<string>;
  close(): Promise<void>;
}

export async function openCrontabKit(): Promise<CrontabKit> {
  const folder = await mkdtemp(path.join(tmpdir(), 'tock-crontab-'));
  const bin = path.join(folder, 'bin');
  const file = path.join(folder, 'crontab');
  await mkdir(bin);
  await writeFile(path.join(bin, 'crontab'), PROGRAM);
  await chmod(path.join(bin, 'crontab'), 0o755);
  const jobs = path.join(folder, 'jobs.mjs');
  await writeFile(jobs, 'export const jobs = [];\n');
  const env = {
    PATH: `${bin}:${process.env['PATH'] ?? ''}`,
    HOME: folder,
    XDG_STATE_HOME: path.join(folder, 'state'),
    FAKE_CRONTAB: file,
    TOCK_JOBS: jobs,
  };
  return {
    folder,
    env,
    tock: async (args, options = {}) => await tock(args, { ...options, env: { ...env, ...options.env } }),
    answer: async (args, input) => await beginInTerminal(args, { env, input }).ended,
    crontab: async () => await readFile(file).catch(() => null),
    async setCrontab(content) {
      if (content === null) await rm(file, { force: true });
      else await writeFile(file, content);
    },
    async write(name, content) {
      const to = path.join(folder, name);
      await mkdir(path.dirname(to), { recursive: true });
      await writeFile(to, content);
      return to;
    },
    close: async () => await rm(folder, { recursive: true, force: true }),
  };
}
