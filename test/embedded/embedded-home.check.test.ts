// Embedded: the folder in /var/tmp, where anybody may have made a folder of that name before.
import { chmod, chown, lstat, mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ensureProgramsCopy } from '../../src/embedded/embedded-home.js';

const isRoot = process.getuid?.() === 0;
const REFUSED = /^\/var\/tmp\/tock-\w+ already exists, and other users may change it: remove it$/;

let folder: string;
let elsewhere: string;
beforeEach(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'tock-home-'));
  elsewhere = await ensureProgramsCopy(folder);
});
afterEach(async () => {
  await rm(elsewhere, { recursive: true, force: true });
  await rm(folder, { recursive: true, force: true });
});

const modeOf = async (name: string) => (await lstat(name)).mode & 0o777;
/** What somebody else has put in its place. */
const plant = async (make: () => Promise<unknown>) => {
  await rm(elsewhere, { recursive: true });
  await make();
};

describe('the folder in /var/tmp', () => {
  it('can be changed by this user only, and is the same one the next time', async () => {
    expect(elsewhere).toMatch(/^\/var\/tmp\/tock-\w+$/);
    expect(await modeOf(elsewhere)).toBe(isRoot ? 0o711 : 0o700);
    expect(await ensureProgramsCopy(folder)).toBe(elsewhere);
  });

  it.each([
    ['that the group may change', 0o770],
    ['that anybody may change', 0o707],
  ])('is refused if it exists %s', async (_what, mode) => {
    await plant(async () => {
      await mkdir(elsewhere);
      await chmod(elsewhere, mode);
    });
    await expect(ensureProgramsCopy(folder)).rejects.toThrow(REFUSED);
    expect(await modeOf(elsewhere)).toBe(mode);
  });

  it('is refused if it is a file or a link, even to our own folder', async () => {
    await plant(() => symlink(folder, elsewhere));
    await expect(ensureProgramsCopy(folder)).rejects.toThrow(REFUSED);
    await plant(() => writeFile(elsewhere, ''));
    await expect(ensureProgramsCopy(folder)).rejects.toThrow(REFUSED);
  });

  it.runIf(isRoot)('is refused if it belongs to another user', async () => {
    await plant(async () => {
      await mkdir(elsewhere, { mode: 0o700 });
      await chown(elsewhere, 65_534, 65_534);
    });
    await expect(ensureProgramsCopy(folder)).rejects.toThrow(REFUSED);
  });
});
