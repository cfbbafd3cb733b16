// scripts/mutate.mjs finds the tests of an area, and they find its faults.
import { execFileSync } from 'node:child_process';
import path from 'node:path';
import { expect, it } from 'vitest';

const ROOT = path.join(import.meta.dirname, '..');

it('the tests of what decides about a run find each of two small faults in it', () => {
  const args = ['scripts/mutate.mjs', '--area', 'decide', '--sample', '2', '--threshold', '100'];
  const said = execFileSync(process.execPath, args, { cwd: ROOT, encoding: 'utf8' });
  expect(said).toMatch(/decide +100\.0% +2\/2/);
});
