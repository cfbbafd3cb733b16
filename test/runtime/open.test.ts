// What a program takes of the job module, beside its jobs.
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { readConfig } from '../../src/runtime/configuration.js';
import { openTock } from '../../src/runtime/open.js';
import { openForEach } from '../support/open.js';
import { reuseTestTock } from '../support/test-tock.js';

const test = openForEach(() => reuseTestTock());
let folder = '';
beforeEach(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'tock-module-'));
});
afterEach(() => rm(folder, { recursive: true }));

/** Ticks with a job module that also exports this, and returns what is then on record of retention. */
async function tickWith(name: string, more: string): Promise<unknown> {
  const module = path.join(folder, `${name}.mjs`);
  await writeFile(module, `export const jobs = [];\n${more}`);
  const config = readConfig({ DATABASE_URL: test.url, TOCK_JOBS: module, TOCK_LOG_LEVEL: 'silent' });
  const { tock, close } = await openTock({ config });
  try {
    await tock.tick();
  } finally {
    await close();
  }
  const rows = await test.sql<{ kept: unknown }>(
    `delete from tock.upkeep where kind like 'keeps %' returning substr(kind, 7)::jsonb as kept`,
  );
  return rows[0]?.kept;
}

describe('retention of a job module', () => {
  const DAY = 86_400_000;

  it('is that of its processes', async () => {
    expect(await tickWith('none', '')).toMatchObject({ keepMs: { dead: 90 * DAY }, keepKeysMs: 400 * DAY });
    const more = `export const retention = { keep: { dead: '500d' } };`;
    expect(await tickWith('long', more)).toMatchObject({
      keepMs: { succeeded: 90 * DAY, dead: 500 * DAY },
      keepKeysMs: 500 * DAY,
    });
    expect(await tickWith('never', 'export const retention = false;')).toBe(false);
  });

  it('is refused where it is none', async () => {
    await expect(tickWith('wrong', `export const retention = '90d';`)).rejects.toMatchObject({
      code: 'TOCK_BAD_OPTION',
      message: expect.stringContaining(`retention is "90d"; write { keep: '90d' }`) as string,
    });
    await expect(tickWith('misspelt', `export const retention = { kept: '9d' };`)).rejects.toThrow(/kept/);
  });
});
