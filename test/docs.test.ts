// Documents that are generated are what the code says.
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';

describe('docs/state-machine.md', () => {
  it('is what src/model/states.ts says', async () => {
    const { stdout } = await promisify(execFile)(process.execPath, ['scripts/generate-docs.mjs', '--check']);
    expect(stdout).toMatch(/up to date/);
  });
});
