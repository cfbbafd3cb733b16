// What a person at a shell has who runs the commands that the doctor names: tock, psql and a crontab of their own.
// In: a command. Out: its exit code and what it printed. No crontab of this machine is read or changed.
import { spawn, spawnSync } from 'node:child_process';
import { chmod, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Result } from './cli-harness.js';

const PG = pathToFileURL(path.resolve('node_modules/pg/esm/index.mjs')).href;
/** Where psql is not installed: only what the doctor's commands use. */
const PSQL = `import pg from ${JSON.stringify(PG)};
const [url, ...rest] = process.argv.slice(2);
const client = new pg.Client({ connectionString: url });
await client.connect();
for (let index = 0; index < rest.length; index += 2) await client.query(rest[index + 1]);
await client.end();
`;
const CRONTAB = `#!/bin/sh
if [ "$1" = -l ]; then
  [ -e "$CRONTAB_FILE" ] || { echo "no crontab for $USER" >&2; exit 1; }
  exec cat "$CRONTAB_FILE"
fi
[ "$1" = - ] && exec cat > "$CRONTAB_FILE"
exit 2
`;

export interface Shell {
  /** For the doctor, that it finds the same crontab. */
  readonly env: Readonly<Record<string, string>>;
  readonly run: (command: string, env: Readonly<Record<string, string>>) => Promise<Result>;
  readonly crontab: () => Promise<string>;
  readonly writeCrontab: (text: string) => Promise<void>;
  readonly remove: () => Promise<void>;
}

export async function openShell(): Promise<Shell> {
  const folder = await mkdtemp(path.join(tmpdir(), 'tock-shell-'));
  const program = async (name: string, text: string) => {
    await writeFile(path.join(folder, name), text);
    await chmod(path.join(folder, name), 0o755);
  };
  const exec = (script: string) => `#!/bin/sh\nexec '${process.execPath}' '${script}' "$@"\n`;
  await program('tock', exec(path.resolve('dist/cli.js')));
  await program('crontab', CRONTAB);
  if (spawnSync('psql', ['--version']).status !== 0) {
    await writeFile(path.join(folder, 'psql.mjs'), PSQL);
    await program('psql', exec(path.join(folder, 'psql.mjs')));
  }
  const file = path.join(folder, 'crontab.txt');
  const env = {
    PATH: `${folder}:${process.env['PATH'] ?? ''}`,
    HOME: process.env['HOME'] ?? '/',
    USER: 'somebody',
    TZ: 'UTC',
    CRONTAB_FILE: file,
  };
  return {
    env,
    run: async (command, more) => {
      const child = spawn('sh', ['-c', command], { env: { ...env, ...more } });
      let [stdout, stderr] = ['', ''];
      child.stdout.setEncoding('utf8').on('data', text => (stdout += String(text)));
      child.stderr.setEncoding('utf8').on('data', text => (stderr += String(text)));
      child.stdin.end();
      return await new Promise((resolve, reject) => {
        child.on('error', reject);
        child.on('close', code => resolve({ code, stdout, stderr }));
      });
    },
    crontab: () => readFile(file, 'utf8'),
    writeCrontab: text => writeFile(file, text),
    remove: () => rm(folder, { recursive: true, force: true }),
  };
}
