// Runtime: a compiled job module that is older than its source is noticed.
import { mkdir, mkdtemp, rm, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { newerSource } from '../../src/runtime/job-module-age.js';

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'tock-age-'));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

/** Writes a file that was changed so many seconds after 2026 began. */
async function write(name: string, at: number): Promise<string> {
  const file = path.join(folder, name);
  await mkdir(path.dirname(file), { recursive: true });
  await writeFile(file, '');
  await utimes(file, 1_767_225_600 + at, 1_767_225_600 + at);
  return file;
}

describe('newerSource', () => {
  it('is the newest source of dist/jobs that was edited after the build, in any folder', async () => {
    const module = await write('dist/jobs/index.js', 10);
    await write('jobs/index.ts', 5);
    expect(newerSource(module)).toBeNull();
    await write('jobs/old.ts', 11);
    const mail = await write('jobs/mail/send.ts', 12);
    expect(newerSource(module)).toBe(mail);
    await write('dist/jobs/mail/send.js', 13);
    expect(newerSource(module)).toBeNull();
  });

  it('is the source beside a module that was compiled in place', async () => {
    const module = await write('jobs/index.mjs', 10);
    const source = await write('jobs/index.mts', 11);
    expect(newerSource(module)).toBe(source);
  });

  it('is none of declarations, other programs and packages, nor for a module without a source', async () => {
    const module = await write('dist/jobs/index.js', 10);
    expect(newerSource(module)).toBeNull();
    await write('jobs/index.d.ts', 11);
    await write('jobs/notes.md', 11);
    await write('jobs/node_modules/other/index.ts', 11);
    await write('src/app.ts', 11);
    expect(newerSource(module)).toBeNull();
    expect(newerSource(await write('jobs/index.ts', 12))).toBeNull();
    expect(newerSource(path.join(folder, 'missing', 'index.js'))).toBeNull();
    expect(newerSource(null)).toBeNull();
  });
});
