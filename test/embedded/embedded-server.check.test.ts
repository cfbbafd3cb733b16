// The embedded server: started, shared and stopped, by real processes.
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, readdir, stat } from 'node:fs/promises';
import { createServer } from 'node:net';
import path from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { run } from '../../src/embedded/embedded-process.js';
import { startEmbeddedServer } from '../../src/embedded/embedded-server.js';
import { fitsSocket, socketFile } from '../../src/embedded/embedded-socket.js';
import { readConfig } from '../../src/runtime/configuration.js';
import { openTock } from '../../src/runtime/open.js';
import {
  finish,
  isRoot,
  isServed,
  newFolder,
  otherUid,
  portOf,
  query,
  settings,
  startChild,
  useEmbeddedServers,
} from './embedded-harness.js';

useEmbeddedServers();

/** What another user gets who connects to a socket. */
async function connectAs(uid: number, socket: string): Promise<string> {
  const script = `require('node:net').connect(process.argv[1]).on('error', e => console.log(e.code)).on('connect', () => process.exit())`;
  const { output } = await run(process.execPath, ['-e', script, socket], { name: 'another', uid, gid: uid });
  return output.trim();
}

it('fitsSocket refuses folders to which no client could connect', () => {
  expect(fitsSocket(`/${'d'.repeat(87)}`)).toBe(true);
  expect(fitsSocket(`/${'d'.repeat(88)}`)).toBe(false);
  expect(fitsSocket(`/${'ü'.repeat(44)}`)).toBe(false);
  expect(fitsSocket('/a,b')).toBe(false);
});

describe('startEmbeddedServer', () => {
  it('makes a cluster, serves it by a private socket with a password, and stops it', async () => {
    const server = await startEmbeddedServer({ folder: await newFolder(), settings });
    const url = server.connectionString;
    expect(server.startedHere).toBe(true);
    expect(await query(url, 'select current_database()')).toBe('tock');
    expect(await query(url, 'show server_encoding')).toBe('UTF8');
    expect(await query(url, `select upper('ä')`)).toBe('Ä');
    expect(await query(url, 'show timezone')).toBe('UTC');
    expect(await query(url, 'show fsync')).toBe('off');
    expect(await query(url, 'show listen_addresses')).toBe('');
    expect(await query(url, 'show unix_socket_directories')).toBe(server.dataDirectory);
    const socket = await stat(path.join(server.dataDirectory, '.s.PGSQL.5432'));
    expect([socket.isSocket(), socket.mode & 0o777]).toEqual([true, 0o700]);
    expect((await stat(server.dataDirectory)).mode & 0o777).toBe(0o700);
    if (isRoot) expect(await connectAs(otherUid, socketFile(server.dataDirectory, 5432))).toBe('EACCES');
    const wrong = new URL(url);
    wrong.password = 'wrong';
    await expect(query(wrong.href, 'select 1')).rejects.toMatchObject({ code: '28P01' });
    const { mode } = await stat(path.join(server.dataDirectory, 'tock.password'));
    expect(mode & 0o777).toBe(0o600);
    await server.stop();
    await server.stop();
    expect(await isServed(server.dataDirectory)).toBe(false);
    expect(await readdir(path.dirname(server.dataDirectory))).not.toContain('lock');
  });

  it('is said to be starting only by a command that starts it', async () => {
    const config = { ...readConfig({ TOCK_DATA: await newFolder() }), databaseUrl: null };
    const open = async () => {
      const steps: string[] = [];
      const onStep = (step: string) => void steps.push(step);
      const opened = await openTock({ config, needsJobs: false, migrate: 'unchecked', onStep });
      return { ...opened, steps };
    };
    const first = await open();
    const second = await open();
    expect(first.steps).toContain('starting the embedded PostgreSQL');
    expect(second.steps).toEqual(['connecting to the embedded PostgreSQL']);
    await second.close();
    await first.close();
  });

  it('creates the named database once, and keeps the data and the URL from start to start', async () => {
    const options = { folder: await newFolder(), settings, database: `it's "new"` };
    const first = await startEmbeddedServer(options);
    await query(first.connectionString, 'create table kept as select 42 as answer');
    await first.stop();
    const second = await startEmbeddedServer(options);
    expect(second.connectionString).toBe(first.connectionString);
    expect(await query(second.connectionString, 'select answer from kept')).toBe(42);
    await second.stop();
  });

  it('is shared with another process, and stopped by its last user', async () => {
    const folder = await newFolder();
    const starter = startChild(folder);
    const { startedHere, connectionString, dataDirectory } = await starter.report;
    expect(startedHere).toBe(true);
    const joiner = await startEmbeddedServer({ folder });
    expect(joiner).toMatchObject({ startedHere: false, connectionString, dataDirectory });
    await finish(starter);
    expect(await query(connectionString, 'select 1')).toBe(1);
    await joiner.stop();
    expect(await isServed(dataDirectory)).toBe(false);
  });

  it('is started once by processes that start at the same instant', async () => {
    const folder = await newFolder();
    const starters = [startChild(folder), startChild(folder), startChild(folder)];
    const reports = await Promise.all(starters.map(({ report }) => report));
    expect(reports.filter(report => report.startedHere)).toHaveLength(1);
    expect(new Set(reports.map(({ connectionString }) => connectionString)).size).toBe(1);
    for (const { connectionString } of reports) expect(await query(connectionString, 'select 1')).toBe(1);
    await Promise.all(starters.map(finish));
    expect(await isServed(path.join(folder, 'data'))).toBe(false);
  });

  it('survives joining and leaving in any order within one process', async () => {
    const folder = await newFolder();
    const uses = await Promise.all([1, 2, 3].map(() => startEmbeddedServer({ folder, settings })));
    expect(uses.filter(use => use.startedHere)).toHaveLength(1);
    const [last, ...others] = uses;
    await Promise.all(others.map(use => use.stop()));
    expect(await query(last?.connectionString ?? '', 'select 1')).toBe(1);
    await last?.stop();
    expect(await isServed(path.join(folder, 'data'))).toBe(false);
  });

  it('serves two folders, each with its own data', async () => {
    const folders = [await newFolder(), await newFolder()];
    const servers = await Promise.all(folders.map(folder => startEmbeddedServer({ folder, settings })));
    for (const { connectionString, dataDirectory } of servers)
      expect(await query(connectionString, 'show data_directory')).toBe(dataDirectory);
    expect(new Set(servers.map(({ dataDirectory }) => dataDirectory)).size).toBe(2);
    await Promise.all(servers.map(server => server.stop()));
  });

  it('works in a folder with a space, a quote and a letter beyond ASCII, too deep for a socket', async () => {
    const folder = await newFolder(path.join(`a "b'ü`, 'deep'.repeat(30), '.tock'));
    const server = await startEmbeddedServer({ folder, settings });
    const place = decodeURIComponent(new URL(server.connectionString).hostname);
    expect(place).toMatch(/^\/var\/tmp\/tock-\w{16}\/socket$/);
    expect((await stat(place)).mode & 0o777).toBe(0o700);
    expect(await query(server.connectionString, 'select 1')).toBe(1);
    const joiner = startChild(folder);
    expect(await joiner.report).toMatchObject({ connectionString: server.connectionString });
    await server.stop();
    await finish(joiner);
    const again = await startEmbeddedServer({ folder, settings });
    expect(again.connectionString).toBe(server.connectionString);
    await again.stop();
  });

  it('works in a folder with quotes that is not too deep', async () => {
    const server = await startEmbeddedServer({ folder: await newFolder(`a "b'ü/.tock`), settings });
    expect(decodeURIComponent(new URL(server.connectionString).hostname)).toBe(server.dataDirectory);
    expect(await query(server.connectionString, 'select 1')).toBe(1);
    await server.stop();
  });

  it('puts the socket elsewhere if the data directory cannot contain one', async () => {
    const folder = await newFolder();
    const first = await startEmbeddedServer({ folder, settings });
    await first.stop();
    // Some file systems have no sockets. To PostgreSQL a folder of that name is as much of an obstacle.
    await mkdir(path.join(first.dataDirectory, '.s.PGSQL.5432'));
    const second = await startEmbeddedServer({ folder, settings });
    expect(new URL(second.connectionString).hostname).toMatch(/^%2Fvar%2Ftmp%2Ftock-\w{16}%2Fsocket$/);
    expect(await query(second.connectionString, 'select 1')).toBe(1);
    await second.stop();
  });

  it('prints a command by which psql connects, without the password', async () => {
    const server = await startEmbeddedServer({ folder: await newFolder(`it's/.tock`), settings });
    expect(server.psqlCommand).not.toContain(new URL(server.connectionString).password);
    // Where there is no psql, the shell says what it would be given.
    const stub = 'psql() { printf "%s|" "$PGPASSWORD" "$@"; }';
    const { stdout } = await promisify(execFile)('sh', ['-c', `${stub}; ${server.psqlCommand}`]);
    const { password } = new URL(server.connectionString);
    expect(stdout).toBe(`${password}|-h|${server.dataDirectory}|-p|5432|-U|tock|tock|`);
    const real = `command -v psql >/dev/null || { echo tock; exit; }; ${server.psqlCommand} -Atc 'select current_user'`;
    expect((await promisify(execFile)('sh', ['-c', real])).stdout).toBe('tock\n');
    await server.stop();
  });

  it('takes another port, if it has one, when another program has taken its own', async () => {
    const options = { folder: await newFolder(), settings, listens: true };
    const first = await startEmbeddedServer(options);
    expect(new URL(first.connectionString).hostname).toBe('127.0.0.1');
    const joiner = startChild(options.folder);
    const bySocket = (await joiner.report).connectionString;
    expect(new URL(bySocket).hostname).toBe(encodeURIComponent(first.dataDirectory));
    await first.stop();
    await finish(joiner);
    const thief = createServer().listen({ host: '127.0.0.1', port: Number(portOf(first)) });
    await once(thief, 'listening');
    const second = await startEmbeddedServer(options);
    expect(portOf(second)).not.toBe(portOf(first));
    expect(await query(second.connectionString, 'select 1')).toBe(1);
    await second.stop();
    thief.close();
  });

  it('is not stopped by Ctrl-C in the terminal in which it was started', async () => {
    const starter = startChild(await newFolder());
    const { connectionString } = await starter.report;
    process.kill(-(starter.child.pid ?? Number.NaN), 'SIGINT');
    expect(await query(connectionString, 'select 1')).toBe(1);
    await finish(starter);
  });
});
