// The embedded server under root, when the account that it runs as, or the owner of its folder, puts links where root
// reads, writes, gives away or removes something. What they lead to stays as it was, and is shown to nobody.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, chown, cp, lstat, mkdir, readdir, readFile, rename, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { type Account, run, serverAccount } from '../../src/embedded/embedded-process.js';
import { removeEmbeddedServer, startEmbeddedServer } from '../../src/embedded/embedded-server.js';
import {
  copyWithoutInstallScript,
  endAfterTest,
  finish,
  isRoot,
  isServed,
  killServer,
  newFolder,
  otherUid,
  query,
  settings,
  startChild,
  useEmbeddedServers,
} from './embedded-harness.js';

useEmbeddedServers();

if (!isRoot) console.warn('embedded-hostile.test.ts is left out: it needs root');

const SECRET = 'a line of a file of root’s';

let folder: string;
let account: Account;
/** A folder and a file that only root may change, as /etc and /etc/passwd are. */
let victims: string;
let victim: string;

beforeEach(async () => {
  if (!isRoot) return;
  account = (await serverAccount()) as Account;
  folder = await newFolder();
  victims = path.join(path.dirname(folder), 'etc');
  victim = path.join(victims, 'passwd');
  await mkdir(victims, { mode: 0o755 });
  await writeFile(victim, SECRET, { mode: 0o644 });
});

/** Nothing in the folder was changed, added or removed. */
async function expectUntouched(): Promise<void> {
  const shapes = await Promise.all(
    [victims, victim].map(async name => {
      const { uid, gid, mode } = await lstat(name);
      return [uid, gid, mode & 0o7777];
    }),
  );
  expect(shapes).toEqual([
    [0, 0, 0o755],
    [0, 0, 0o644],
  ]);
  expect(await readdir(victims)).toEqual(['passwd']);
  expect(await readFile(victim, 'utf8')).toBe(SECRET);
}

async function as(who: Account, ...[command, ...args]: [string, ...string[]]): Promise<void> {
  const { code, output } = await run(command, args, who);
  expect(`${code} ${output}`).toBe('0 ');
}

/** Links to the victim, made by the server's account. */
async function plant(...links: string[]): Promise<void> {
  for (const link of links) await as(account, 'ln', '-sfn', victim, link);
}

/** A server that was killed, so that its lock files are there. Out: its data, and the folder of its socket. */
async function killedServer(place: string): Promise<{ data: string; sockets: string }> {
  const server = await startEmbeddedServer({ folder: place, settings });
  await killServer(server.dataDirectory, 'SIGKILL');
  const { hostname } = new URL(server.connectionString);
  await server.stop();
  return { data: server.dataDirectory, sockets: decodeURIComponent(hostname) };
}

/** What the attempt to start it says, if it fails. */
async function startAndStop(
  options: Partial<Parameters<typeof startEmbeddedServer>[0]> = {},
): Promise<string> {
  try {
    const server = await startEmbeddedServer({ folder, settings, ...options });
    expect(await query(server.connectionString, 'select 1')).toBe(1);
    await server.stop();
    return '';
  } catch (error) {
    return String(error);
  }
}

const other: Account = { name: 'nobody', uid: otherUid, gid: otherUid };

describe.runIf(isRoot)('as root, links that the server’s account has put into the data directory', () => {
  it('are not followed by writes, chmod or chown when the server starts after a kill -9', async () => {
    const { data } = await killedServer(folder);
    await plant(...['postmaster.pid.stale', '.s.PGSQL.5432.lock', '.s.PGSQL.5432'].map(f => `${data}/${f}`));
    expect(await startAndStop()).toBe('');
    await expectUntouched();
    await plant(`${data}/postmaster.pid`);
    expect(await startAndStop()).toBe('');
    await expectUntouched();
  });

  it('are not followed by writes if the socket is elsewhere', async () => {
    const deep = path.join(folder, 'deep'.repeat(30), '.tock');
    const { sockets } = await killedServer(deep);
    expect(sockets).toMatch(/^\/var\/tmp\/tock-/);
    await plant(`${sockets}/.s.PGSQL.5432.lock`, `${sockets}/.s.PGSQL.5432`);
    expect(await startAndStop({ folder: deep })).toBe('');
    await expectUntouched();
  });

  it('are not read, so root’s files are shown to nobody', async () => {
    const { data } = await killedServer(folder);
    for (const name of ['tock.password', 'PG_VERSION', 'postmaster.opts']) {
      await as(account, 'mv', `${data}/${name}`, `${data}/old`);
      await plant(`${data}/${name}`);
      const error = await startAndStop();
      expect(error).not.toContain(SECRET);
      expect(error).toMatch(/TockError/);
      await as(account, 'mv', '-T', `${data}/old`, `${data}/${name}`);
    }
    await expectUntouched();
  });

  it('do not block the start, even to a FIFO', async () => {
    const { data } = await killedServer(folder);
    await as(account, 'rm', `${data}/postmaster.pid`);
    await as(account, 'mkfifo', `${data}/postmaster.pid`);
    expect(await startAndStop()).toBe('');
  });

  it('do not mislead clients that look for the socket', async () => {
    const starter = startChild(folder);
    const { dataDirectory } = await starter.report;
    const pidFile = `${dataDirectory}/postmaster.pid`;
    const text = await readFile(pidFile, 'utf8');
    await writeFile(pidFile, text.replace(/\n\/.*\n\n/, `\n${dataDirectory}/base\n\n`));
    expect(await startAndStop()).toMatch(/a socket elsewhere: end that process/);
    await writeFile(pidFile, text);
    await finish(starter);
  });

  it('get no password if initdb’s account puts one in place of the data', async () => {
    const binaries = path.join(path.dirname(folder), 'native');
    await copyWithoutInstallScript(binaries);
    const initdb = path.join(binaries, 'bin', 'initdb');
    await rename(initdb, `${initdb}.real`);
    await chmod(`${initdb}.real`, 0o755);
    // It is executed as the account.
    const script = `#!/bin/sh\n"$0.real" "$@" || exit\n[ "$1" = -D ] && rm -rf "$2" && ln -s ${victims} "$2"\nexit 0\n`;
    await writeFile(initdb, script);
    const error = await startAndStop({ binaries });
    await expectUntouched();
    expect(error).toMatch(/TockError: .*as (?:postgres|nobody)/);
  });

  it('do not give away their targets, in a copy that root made', async () => {
    const { data } = await killedServer(folder);
    await as(account, 'ln', '-s', victims, `${data}/base/1/link`);
    const copy = `${folder}-copy`;
    await cp(folder, copy, {
      recursive: true,
      verbatimSymlinks: true,
      filter: name => !name.includes('.s.PGSQL'),
    });
    expect(await startAndStop({ folder: copy })).toBe('');
    await expectUntouched();
    expect((await lstat(path.join(copy, 'data', 'base', '1', 'PG_VERSION'))).uid).toBe(account.uid);
  });

  it('do not mislead root’s rm -r, however fast they come and go', async () => {
    const { data } = await killedServer(folder);
    const files = Array.from({ length: 10 }, (_, index) => `f${index}`);
    for (const file of files) await writeFile(path.join(victims, file), '');
    // Folders that become links and folders again, all the time.
    const script = `
      const fs = require('node:fs');
      process.chdir(${JSON.stringify(data)});
      const names = Array.from({ length: 200 }, (_, index) => 't' + index);
      const tried = (...work) => { for (const each of work) try { each(); } catch {} };
      for (const name of names) for (const file of ${JSON.stringify(files)}) fs.mkdirSync(name + '/' + file, { recursive: true });
      fs.mkdirSync('away');
      console.log('ready');
      for (;;) {
        for (const name of names) tried(() => fs.renameSync(name, 'away/' + name), () => fs.symlinkSync(${JSON.stringify(victims)}, name));
        for (const name of names) tried(() => fs.unlinkSync(name), () => fs.renameSync('away/' + name, name));
      }`;
    const flipper = spawn(process.execPath, ['-e', script], {
      uid: account.uid,
      gid: account.gid,
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    endAfterTest(flipper);
    await once(flipper.stdout, 'data');
    await removeEmbeddedServer(folder).catch(() => undefined);
    flipper.kill('SIGKILL');
    await once(flipper, 'close');
    expect((await readdir(victims)).sort()).toEqual([...files, 'passwd'].sort());
  });
});

describe.runIf(isRoot)('as root, links in a folder that another user owns', () => {
  beforeEach(async () => {
    await mkdir(folder);
    await chown(folder, otherUid, otherUid);
  });

  it('do not lead to the removal of files: users', async () => {
    await as(other, 'ln', '-s', victims, path.join(folder, 'users'));
    const error = await startAndStop();
    await expectUntouched();
    expect(error).toMatch(/users is a link: remove it/);
    expect(await isServed(path.join(folder, 'data'))).toBe(false);
  });

  it('do not lead to writes: the log', async () => {
    await as(other, 'ln', '-s', victim, path.join(folder, 'postgres.log'));
    const error = await startAndStop();
    await expectUntouched();
    expect(error).toMatch(/postgres\.log is a link/);
  });

  it('do not lead to writes: the notes', async () => {
    await chmod(folder, 0o700);
    const binaries = path.join(path.dirname(folder), 'native');
    await copyWithoutInstallScript(binaries);
    await chmod(binaries, 0o700);
    for (const what of ['data-is', 'programs-are'])
      await as(other, 'ln', '-s', victim, path.join(folder, `${what}-elsewhere.txt`));
    expect(await startAndStop({ binaries })).toBe('');
    await expectUntouched();
  });

  it('are not accepted as a data directory', async () => {
    await as(other, 'ln', '-s', victims, path.join(folder, 'data'));
    const error = await startAndStop();
    await expectUntouched();
    expect(error).toMatch(/data is a link of uid 65534/);
  });

  it('do not separate users: root and they share one server by its socket', async () => {
    const user = startChild(folder, { uid: otherUid });
    const { connectionString } = await user.report;
    expect(new URL(connectionString).hostname).toContain('%2F');
    const joined = await startEmbeddedServer({ folder });
    expect(joined).toMatchObject({ startedHere: false, connectionString });
    await joined.stop();
    await finish(user);
  });
});
