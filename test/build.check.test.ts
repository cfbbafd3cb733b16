// In the check: it builds, which takes seconds, while programs of the build start.
import { spawn, spawnSync } from 'node:child_process';
import { rm } from 'node:fs/promises';
import path from 'node:path';
import { expect, it } from 'vitest';

const ROOT = path.join(import.meta.dirname, '..');
const startTock = () => spawnSync('node', ['dist/cli.js', '--version'], { cwd: ROOT, encoding: 'utf8' });

it('a build leaves no moment in which a program of the last one is not whole', async () => {
  const { stdout: version } = startTock();
  await rm(path.join(ROOT, 'dist', '.built'), { force: true });
  const building = spawn('node', ['scripts/build.mjs', '--quiet'], { cwd: ROOT, stdio: 'inherit' });
  const ended = new Promise(resolve => building.once('exit', resolve));
  let isEnded = false;
  void ended.then(() => {
    isEnded = true;
  });
  const answers = new Set<string>();
  while (!isEnded) {
    const { stdout, stderr, status } = startTock();
    answers.add(`${status} ${stdout}${stderr}`);
    // So that its end is heard of.
    await new Promise(resolve => setImmediate(resolve));
  }
  expect(await ended).toBe(0);
  expect([...answers]).toEqual([`0 ${version}`]);
});
