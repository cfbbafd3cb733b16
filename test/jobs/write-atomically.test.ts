import { mkdir, mkdtemp, open, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { writeAtomically } from '../../jobs/lib/write-atomically.js';

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'tock-jobs-'));
});
afterEach(() => rm(folder, { recursive: true }));

describe('writeAtomically', () => {
  it('leaves whoever reads the old file with all of the old file', async () => {
    const file = path.join(folder, 'deep', 'report.md');
    await writeAtomically(file, 'the first, and longer, version');
    const reader = await open(file);
    await writeAtomically(file, 'the second');
    expect(await reader.readFile('utf8')).toBe('the first, and longer, version');
    await reader.close();
    expect(await readFile(file, 'utf8')).toBe('the second');
    expect(await readdir(path.dirname(file))).toEqual(['report.md']);
  });

  it('leaves no draft behind when it fails', async () => {
    await mkdir(path.join(folder, 'taken', 'by a folder'), { recursive: true });
    await expect(writeAtomically(path.join(folder, 'taken'), 'text')).rejects.toThrow(/EISDIR|ENOTEMPTY/);
    expect(await readdir(folder)).toEqual(['taken']);
  });
});
