// The project that a reader of the README makes: its commands, typed into a terminal in an empty folder, with the package
// that is built here.
import { spawnSync } from 'node:child_process';
import { chmod, mkdir, mkdtemp, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { cleanEnvironment, packBuilt, servePackage } from './served-package.mjs';
import { openTerminal } from './terminal.mjs';

const STARTS = /npx tock start( --\S+)*$/;
/** The packages, a server, and then up to a minute until the next occurrence. */
const LIMIT_MS = 240_000;
/** Where the documents suppose the project to be. */
const STATED_FOLDER = '/srv/app';

/** @param say gets what was done, in a line */
export async function openReadmeProject(say) {
  const base = await mkdtemp(path.join(os.tmpdir(), 'tock-readme-project-'));
  // The embedded server runs as another user if this one is root.
  await chmod(base, 0o711);
  const folder = path.join(base, 'app');
  await mkdir(folder);
  const registry = await servePackage(packBuilt(base));
  const env = { ...cleanEnvironment, ...registry.env };
  const terminal = await openTerminal({ cwd: folder, env });

  /** Until the first run has succeeded; then Ctrl-C. */
  const start = async command => {
    await terminal.enter(command);
    await terminal.until(/\[y\/N\] ?$/, LIMIT_MS);
    await terminal.enter('y');
    await terminal.until(/run \d+ of say-hello succeeded/, LIMIT_MS);
    const printed = await terminal.interrupt();
    if (!/stopped: \d+ succeeded/.test(printed)) throw new Error(`after Ctrl-C, ${command}:\n${printed}`);
  };
  const execute = async command => {
    const printed = await terminal.run(command, LIMIT_MS);
    const code = await terminal.run('echo "exit code $?"');
    if (!code.includes('exit code 0')) throw new Error(`${command} failed:\n${printed}`);
    for (const line of printed.trim().split('\n').slice(0, -1)) console.log(`    ${line.trimEnd()}`);
  };
  /** As cron does: by sh, in the folder that it names. */
  const tick = line => {
    const command = line.replace(/^(\S+ ){5}/, '').replaceAll(STATED_FOLDER, folder);
    const done = spawnSync('sh', ['-c', command], { env, encoding: 'utf8', timeout: LIMIT_MS });
    if (done.status !== 0)
      throw new Error(`${line}\nended with ${done.status}: ${done.stdout}${done.stderr}`);
  };
  return {
    async run({ language, text }) {
      for (const line of text.split('\n').filter(each => each.trim() !== '' && !each.startsWith('#'))) {
        if (language === 'crontab') tick(line);
        else if (STARTS.test(line)) await start(line);
        else await execute(line);
        say(`in a project: ${line}`);
      }
    },
    async close() {
      await terminal.close();
      await registry.close();
      await rm(base, { recursive: true, force: true });
    },
  };
}
