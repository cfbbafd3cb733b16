// The parts of the embedded server that need no server: names, files, what is said of a failure.
import { mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { psqlCommand } from '../../src/embedded/embedded-client.js';
import { failure } from '../../src/embedded/embedded-cluster.js';
import { readOwned, replaceFirstLine } from '../../src/embedded/embedded-files.js';
import { countUsers, registerUser, unregisterUser } from '../../src/embedded/embedded-lock.js';
import { findRunning } from '../../src/embedded/embedded-postmaster.js';
import { bareEnvironment, type Cluster } from '../../src/embedded/embedded-process.js';
import { pauseBefore } from '../../src/embedded/embedded-revival.js';
import { findSocketFolder, fitsSocket, socketFile } from '../../src/embedded/embedded-socket.js';
import { openForEach } from '../support/open.js';

const folder = openForEach(async () => {
  const at = await mkdtemp(path.join(tmpdir(), 'tock-embedded-'));
  return { at, close: async () => await rm(at, { recursive: true }) };
});
const cluster = (at = folder.at): Cluster => ({
  folder: at,
  home: at,
  dataDirectory: path.join(at, 'data'),
  logFile: path.join(at, 'server.log'),
  account: undefined,
});

describe('postmaster.pid', () => {
  const found = async (text: string) => {
    await mkdir(path.join(folder.at, 'data'));
    await writeFile(path.join(folder.at, 'data', 'postmaster.pid'), text);
    return await findRunning(cluster());
  };

  it.each([
    ['is not there', null],
    ['is empty', ''],
    ['names no process', 'none\n/data\n0\n5432\n\n\n\nready\n'],
    // That of this test is alive, and no server of these data.
    ['names a process that is no server', `${process.pid}\n/data\n0\n5432\n\n\n\nready\n`],
  ])('that %s means that no server runs', async (_what, text) => {
    expect(text === null ? await findRunning(cluster()) : await found(text)).toBeUndefined();
  });

  it('may name no other folder of the socket than ours, which nobody else may change', async () => {
    const data = path.join(folder.at, 'data');
    await mkdir(data, { mode: 0o700 });
    expect(await findSocketFolder(cluster(), '')).toBeUndefined();
    expect(await findSocketFolder(cluster(), '.')).toBe(data);
    expect(await findSocketFolder(cluster(), tmpdir())).toBeUndefined();
  });
});

describe('the socket', () => {
  it('fits in a folder whose path is short, without a comma, of which psql would make two hosts', () => {
    expect(socketFile('/srv/app', 5432)).toBe('/srv/app/.s.PGSQL.5432');
    expect([fitsSocket('/srv/app'), fitsSocket(`/srv/${'a'.repeat(90)}`), fitsSocket('/srv/a,b')]).toEqual([
      true,
      false,
      false,
    ]);
  });

  it('is where psql connects, by a command that a shell reads as it is meant', () => {
    expect(psqlCommand(cluster('/srv/app'), { port: 5432, socketFolder: "/it's" }, 'app')).toMatch(
      /^PGPASSWORD="\$\(cat \/srv\/app\/\S+\)" psql -h '\/it'\\''s' -p 5432 -U tock app$/,
    );
  });
});

it('a file of the server is read and changed, but not through a link', async () => {
  const [file, link] = [path.join(folder.at, 'file'), path.join(folder.at, 'link')];
  await writeFile(file, 'old and longer\nsecond\n');
  await symlink(file, link);
  expect([await readOwned(file), await readOwned(link), await readOwned(`${file}s`)]).toEqual([
    'old and longer\nsecond\n',
    undefined,
    undefined,
  ]);
  expect([await replaceFirstLine(link, 'no'), await replaceFirstLine(file, 'new')]).toEqual([false, true]);
  expect(await readFile(file, 'utf8')).toBe('new\nsecond\n');
});

it('counts the processes that use it, without those that have died', async () => {
  expect(await countUsers(folder.at)).toBe(0);
  const [one, two] = [await registerUser(folder.at), await registerUser(folder.at)];
  await writeFile(path.join(folder.at, 'users', `${process.pid}.1.0123456789ab`), '');
  expect(await countUsers(folder.at)).toBe(2);
  expect([await unregisterUser(one), await unregisterUser(two)]).toEqual([1, 0]);
});

it('waits longer and longer before it revives a server that dies soon, and not where it lived', () => {
  expect([
    pauseBefore(null, 10),
    pauseBefore(0, 10),
    pauseBefore(1000, 10),
    pauseBefore(1000, 60_000),
  ]).toEqual([0, 1000, 2000, 0]);
  expect(pauseBefore(50_000, 10)).toBe(60_000);
});

it.each([
  ['could not write: No space left on device', 'Free some space on the disk of /srv/app.'],
  ['FATAL: could not create semaphores', 'more shared memory'],
  ['initdb: could not look up effective user ID 7', 'add this user id to /etc/passwd'],
  ['mkdir: Permission denied', 'Let this user read and write /srv/app.'],
  ['something new', 'Set DATABASE_URL to another server, or see /srv/app/server.log'],
])('says what to do: %s', (output, fix) => {
  const { code, message } = failure(cluster('/srv/app'), 'initdb failed', `first\n${output}\n`);
  expect([code, message]).toEqual(['TOCK_EMBEDDED_SERVER_FAILED', expect.stringContaining(fix)]);
  expect(message).toContain(`\n  ${output}`);
});

it('gives its programs no secret of this process', () => {
  expect(Object.keys(bareEnvironment()).filter(name => /^PG|URL|HOME|SECRET|PASSWORD/.test(name))).toEqual(
    [],
  );
});
