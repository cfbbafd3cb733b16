// Environment: a user of the operating system without a name and a home, as in a container.
import { spawnSync } from 'node:child_process';
import path from 'node:path';
import { expect, it } from 'vitest';
import { osHome, osUser, osUserName } from '../../src/environment/os-user.js';

const CLI = path.resolve('dist/cli.js');

it('has the name and the home that the system says', () => {
  expect(osUser()).toBe(osUserName());
  expect(osHome()).not.toBe('');
});

it.skipIf(process.getuid?.() !== 0)('may have neither: commands name it by its number', () => {
  const { HOME: _, ...env } = process.env;
  const options = { cwd: '/', uid: 54_321, gid: 54_321, env, encoding: 'utf8' } as const;
  const init = spawnSync(process.execPath, [CLI, 'init', '--yes', '--no-install'], options);
  expect(init.stderr).toMatch(/^tock init: uid 54321 may not write \/: /);
  const found = spawnSync(process.execPath, [CLI, 'import', 'crontab', '/dev/null'], options);
  expect(found.stderr).not.toMatch(/system error/);
});
