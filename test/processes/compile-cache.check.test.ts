// The compiled code that a tick keeps for the next one: what is kept is used, and what cannot be trusted is not.
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  chmod,
  chown,
  cp,
  lstat,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  rm,
  symlink,
  writeFile,
} from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { startProcess, TICK } from '../support/processes.js';

const DIGEST_BYTES = 32;
const isRoot = process.getuid?.() === 0;

let home: string;
let folder: string;
beforeEach(async () => {
  home = await mkdtemp(path.join(tmpdir(), 'tock-compiled-'));
  folder = path.join(home, 'node_modules', '.cache', 'pg-tock');
  const root = path.dirname(path.dirname(TICK));
  for (const name of ['dist', 'package.json'])
    await cp(path.join(root, name), path.join(home, name), { recursive: true });
  await writeFile(
    path.join(home, 'jobs.mjs'),
    `import { defineJob } from './dist/index.js';\nexport const jobs = [defineJob({ name: 'one', run: () => null })];`,
  );
});
afterEach(() => rm(home, { recursive: true, force: true }));

/** A tick that fails: it loads all that each tick loads, and finds no database. */
async function tick(env: Record<string, string> = {}) {
  const url = 'postgres://nobody@127.0.0.1:1/none';
  const all = { DATABASE_URL: url, TOCK_JOBS: path.join(home, 'jobs.mjs'), ...env };
  const ended = await startProcess(path.join(home, 'dist', 'tick.js'), all).ended;
  expect(ended).toMatchObject({ code: 3, signal: null, stdout: '' });
  expect(ended.stderr).toMatch(/^tick: .*(?:ECONNREFUSED|refused).*\n$/i);
}

const keptFiles = async () =>
  (await readdir(folder)).filter(name => name.startsWith('core-')).map(name => path.join(folder, name));

/** Runs a tick, and returns the one file that it kept. */
async function keptFile() {
  await tick();
  const [file, ...others] = await keptFiles();
  if (file === undefined) throw new Error('nothing was kept');
  expect(others).toEqual([]);
  return file;
}

/** Whether a tick keeps its code anew, as it does whenever it could not use what there was. */
async function isKeptAnew(file: string) {
  const before = await lstat(file);
  await tick();
  const after = await lstat(file);
  expect(after.isFile()).toBe(true);
  return after.ino !== before.ino || after.mtimeMs !== before.mtimeMs;
}

const digestOf = (key: string, data: Buffer) => createHash('sha256').update(key).update(data).digest();

describe('what a tick keeps', () => {
  it('is used by the next tick, which keeps nothing anew', async () => {
    const file = await keptFile();
    expect((await lstat(file)).mode & 0o777).toBe(0o644);
    expect(await isKeptAnew(file)).toBe(false);
  });

  it('is for the flags that V8 had', async () => {
    const file = await keptFile();
    await tick({ NODE_OPTIONS: '--stack-trace-limit=20' });
    expect(await keptFiles()).toHaveLength(2);
    expect(await isKeptAnew(file)).toBe(false);
  });

  it('is for the build that it comes from', async () => {
    await keptFile();
    const dist = path.join(home, 'dist');
    const core = (await readdir(dist)).find(name => /^core-[0-9a-f]{8}\.cjs$/.test(name)) ?? '';
    const next = core.replace(/[0-9a-f]{8}/, 'ffffffff');
    for (const name of await readdir(dist)) {
      if (!/\.c?js$/.test(name)) continue;
      const file = path.join(dist, name);
      await writeFile(file, (await readFile(file, 'utf8')).replaceAll(core, next));
    }
    await cp(path.join(dist, core), path.join(dist, next));
    await tick();
    expect(await keptFiles()).toHaveLength(2);
  });

  it('is not kept if it is turned off', async () => {
    await tick({ NODE_DISABLE_COMPILE_CACHE: '1' });
    await expect(readdir(folder)).rejects.toThrow(/ENOENT/);
  });

  it('is kept in the folder that NODE_COMPILE_CACHE names', async () => {
    const other = path.join(home, 'other');
    await tick({ NODE_COMPILE_CACHE: other });
    expect((await readdir(other)).filter(name => name.startsWith('core-'))).toHaveLength(1);
    await expect(readdir(folder)).rejects.toThrow(/ENOENT/);
  });
});

describe('what was kept is not used, and a tick works without it', () => {
  it.each<[string, (bytes: Buffer) => Buffer]>([
    ['a byte has changed', bytes => Buffer.from(bytes.map((byte, at) => (at === 70_000 ? ~byte : byte)))],
    ['all of its code has changed', bytes => Buffer.from(bytes.map((byte, at) => (at < 400 ? byte : 0xa5)))],
    ['half of it is missing', bytes => bytes.subarray(0, bytes.length >> 1)],
    ['it is empty', () => Buffer.alloc(0)],
    ['it is text', () => Buffer.from('not code')],
  ])('if it is damaged: %s', async (_, damage) => {
    const file = await keptFile();
    const whole = await readFile(file);
    const damaged = damage(whole);
    expect(damaged.equals(whole)).toBe(false);
    await writeFile(file, damaged);
    expect(await isKeptAnew(file)).toBe(true);
    expect(await isKeptAnew(file)).toBe(false);
  });

  it('if V8 refuses it, as it does with the code of another version', async () => {
    const file = await keptFile();
    const data = (await readFile(file)).subarray(DIGEST_BYTES);
    const core = (await readdir(path.join(home, 'dist'))).find(name => /^core-[0-9a-f]{8}\.cjs$/.test(name));
    const key = [core, process.version, process.arch, ''].join('\n');
    expect(digestOf(key, data)).toEqual((await readFile(file)).subarray(0, DIGEST_BYTES));
    // The second word is the hash of the version.
    const foreign = Buffer.from(data.map((byte, at) => (at >= 4 && at < 8 ? ~byte : byte)));
    await writeFile(file, Buffer.concat([digestOf(key, foreign), foreign]));
    expect(await isKeptAnew(file)).toBe(true);
  });

  it('if it was kept by another version of Node', async () => {
    const file = await keptFile();
    const data = (await readFile(file)).subarray(DIGEST_BYTES);
    const key = ['core-00000000.cjs', 'v20.0.0', process.arch, ''].join('\n');
    await writeFile(file, Buffer.concat([digestOf(key, data), data]));
    expect(await isKeptAnew(file)).toBe(true);
  });

  it('if it is a symbolic link', async () => {
    const file = await keptFile();
    const elsewhere = path.join(home, 'elsewhere');
    const bytes = await readFile(file);
    await writeFile(elsewhere, bytes);
    await rm(file);
    await symlink(elsewhere, file);
    expect(await isKeptAnew(file)).toBe(true);
    expect(await readFile(elsewhere)).toEqual(bytes);
  });

  it('if others may write it', async () => {
    const file = await keptFile();
    await chmod(file, 0o666);
    expect(await isKeptAnew(file)).toBe(true);
    expect((await lstat(file)).mode & 0o777).toBe(0o644);
  });

  // Only root can give a file away.
  it.runIf(isRoot)('if it is another user’s', async () => {
    const file = await keptFile();
    await chown(file, 65_534, 65_534);
    expect(await isKeptAnew(file)).toBe(true);
    expect((await lstat(file)).uid).toBe(0);
  });

  it('if it is a pipe, on which nobody writes', async () => {
    const file = await keptFile();
    await rm(file);
    execFileSync('mkfifo', [file]);
    expect(await isKeptAnew(file)).toBe(true);
  });
});

describe('nothing is kept', () => {
  it.each([
    ['by the help, which needs little of it', ['--help'], 0],
    ['by a tick that is called wrongly', ['--hurry'], 2],
  ])('%s', async (_, args, code) => {
    expect(await startProcess(path.join(home, 'dist', 'tick.js'), {}, args).ended).toMatchObject({ code });
    expect(await readdir(folder).catch(() => [])).not.toContainEqual(expect.stringMatching(/^core-/));
  });

  it('in a folder that is a link to another one', async () => {
    const elsewhere = path.join(home, 'elsewhere');
    await mkdir(elsewhere);
    await mkdir(path.dirname(folder), { recursive: true });
    await symlink(elsewhere, folder);
    await tick();
    expect(await readdir(elsewhere)).toEqual([]);
  });

  it('in a folder into which others may write', async () => {
    await mkdir(folder, { recursive: true });
    await chmod(folder, 0o777);
    await tick();
    expect(await readdir(folder)).toEqual([]);
  });

  it.runIf(isRoot)('in a folder of another user', async () => {
    await mkdir(folder, { recursive: true });
    await chown(folder, 65_534, 65_534);
    await tick();
    expect(await readdir(folder)).toEqual([]);
  });
});
