// The units that `tock init --systemd` writes, judged by systemd itself where it is installed.
// In the check: it starts processes.
import { spawnSync } from 'node:child_process';
import { mkdir, mkdtemp, readdir, readFile, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';

const CLI = path.resolve('dist/cli.js');
const NO_SYSTEMD = spawnSync('systemd-analyze', ['--version']).status !== 0;
if (NO_SYSTEMD) console.warn('the units are not verified by systemd: systemd-analyze is not installed');

/** The settings that these units may have, by section: systemd ignores others, and only logs that. */
const KNOWN: Readonly<Record<string, readonly string[]>> = {
  Unit: ['Description', 'After', 'Wants'],
  Service: [
    'Type',
    'User',
    'WorkingDirectory',
    'EnvironmentFile',
    'ExecStart',
    'Restart',
    'RestartSec',
    'TimeoutStopSec',
  ],
  Timer: ['OnCalendar', 'AccuracySec'],
  Install: ['WantedBy'],
};

let parent: string;
beforeEach(async () => {
  parent = await mkdtemp(path.join(tmpdir(), 'tock-units-'));
});
afterEach(async () => {
  await rm(parent, { recursive: true, force: true });
});

/** A project, and a node that is called by its own path. */
async function initIn(name: string): Promise<string> {
  const folder = path.join(parent, name);
  await mkdir(folder);
  const { DATABASE_URL: _, ...env } = process.env;
  const flags = ['init', '--yes', '--no-install', '--systemd'];
  const { status, stderr } = spawnSync(process.execPath, [CLI, ...flags], {
    cwd: folder,
    env,
    encoding: 'utf8',
  });
  expect(stderr).toBe('');
  expect(status).toBe(0);
  return path.join(folder, 'deploy');
}

describe.each(['app', `100% it's "my" app`])('tock init --systemd in a folder called %s', name => {
  it('writes units with settings that systemd knows', async () => {
    const units = await initIn(name);
    const names = await readdir(units);
    expect(names.sort()).toEqual(['tock-tick.service', 'tock-tick.timer', 'tock.service']);
    for (const unit of names) {
      let section = '';
      for (const line of (await readFile(path.join(units, unit), 'utf8')).split('\n')) {
        if (line === '' || line.startsWith('#')) continue;
        section = /^\[(\w+)\]$/.exec(line)?.[1] ?? section;
        if (!line.startsWith('['))
          expect(KNOWN[section], `${unit}: ${line}`).toContain(line.split('=', 1)[0]);
      }
    }
  });

  it.skipIf(NO_SYSTEMD)('passes systemd-analyze verify', async () => {
    const units = await initIn(name);
    // The tick's program is looked for in the folder of the unit's own, so the package must be there.
    await mkdir(path.join(units, '..', 'node_modules'));
    await symlink(path.resolve('.'), path.join(units, '..', 'node_modules', 'pg-tock'));
    const files = (await readdir(units)).map(unit => path.join(units, unit));
    const { status, stdout, stderr } = spawnSync('systemd-analyze', ['verify', '--man=no', ...files], {
      encoding: 'utf8',
    });
    expect({ status, said: `${stdout}${stderr}` }).toEqual({ status: 0, said: '' });
  });
});
