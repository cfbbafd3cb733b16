// Store: each connection is made of what its URL, and the files that the URL names, are at that moment.
import { randomBytes } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { followSecretFile } from '../../../src/environment/secret-file.js';
import { openPoolTo } from '../../../src/store/connection/connection.js';
import { isConnectionFailure } from '../../../src/store/connection/errors.js';
import { openDatabase } from '../../support/database.js';
import { createTestDatabase } from '../../support/embedded-database.js';
import { openForEach } from '../../support/open.js';

const test = openForEach(createTestDatabase);
const admin = openForEach(() => openDatabase({ connectionString: test.url, connections: 1 }));
let folder: string;
let role: string;
beforeEach(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'tock-url-'));
  role = `tock_test_${randomBytes(6).toString('hex')}`;
  await admin.run(`create role ${role} login password 'first'`);
});
afterEach(async () => {
  await admin.run(`drop role ${role}`);
  await rm(folder, { recursive: true });
});

const urlWith = (password: string, more = '') =>
  Object.assign(new URL(test.url), { username: role, password }).href + more;
/** What a rotation does: from now on nobody connects with the old one, and nobody is connected. */
const rotate = async (password: string) => {
  await admin.run(`alter role ${role} password '${password}'`);
  await admin.run('select pg_terminate_backend(pid, 10000) from pg_stat_activity where usename = $1', [role]);
};
const WHO = 'select current_user::text as who';

describe('the URL of a pool in a file', () => {
  it.each([
    ['one host', ''],
    ['a host of a list', '?target_session_attrs=read-write'],
  ])('is read for each connection, so that a password may be rotated while it runs: %s', async (_, more) => {
    const file = path.join(folder, 'url');
    await writeFile(file, `${urlWith('first', more)}\n`);
    const connectionString = followSecretFile('DATABASE_URL_FILE', file) ?? '';
    const database = openDatabase({ connectionString, connections: 2 });
    try {
      expect(await database.run(WHO)).toEqual([{ who: role }]);
      await rotate('second');
      await expect(database.run(WHO)).rejects.toSatisfy(isConnectionFailure);
      await expect(database.run(WHO)).rejects.toSatisfy(isConnectionFailure);
      // The file is written again: it is empty, then half there, then gone for a moment.
      await writeFile(file, '');
      await expect(database.run(WHO)).rejects.toSatisfy(isConnectionFailure);
      await writeFile(file, 'postgres://user:12@ho st:x');
      await expect(database.run(WHO)).rejects.toSatisfy(isConnectionFailure);
      await rm(file);
      await expect(database.run(WHO)).rejects.toSatisfy(isConnectionFailure);
      await writeFile(file, urlWith('second', more));
      expect(await database.run(WHO)).toEqual([{ who: role }]);
    } finally {
      await database.close();
    }
  });

  it('that is absent at the start is refused by the name of its variable', () => {
    const file = path.join(folder, 'absent');
    expect(() => followSecretFile('DATABASE_URL_FILE', file)).toThrow(
      expect.objectContaining({
        code: 'TOCK_BAD_OPTION',
        message: `DATABASE_URL_FILE names "${file}", which cannot be read`,
      }),
    );
  });
});

it('a pool without a URL connects by the parts of one, with the password', async () => {
  const { hostname: host, port, pathname } = new URL(test.url);
  const pool = openPoolTo(
    { host, port: Number(port), user: role, password: 'first', database: pathname.slice(1) },
    1,
  );
  try {
    expect((await pool.query(WHO)).rows).toEqual([{ who: role }]);
  } finally {
    await pool.end();
  }
});

it('a certificate that a URL names fails the connections that are made while it is absent, also of a caller that waits for one', async () => {
  const certificate = path.join(folder, 'root.crt');
  await writeFile(certificate, '');
  const named = `sslmode=disable&sslrootcert=${encodeURIComponent(certificate)}`;
  const pool = openPoolTo({ connectionString: urlWith('first', `?${named}`) }, 1);
  try {
    const client = await pool.connect();
    const waiting = pool.connect();
    waiting.catch(() => undefined);
    await rm(certificate);
    // Its connection is given up, and another one made for the caller that waits.
    client.release(true);
    await expect(waiting).rejects.toMatchObject({ code: 'ENOENT', path: certificate });
    await writeFile(certificate, '');
    (await pool.connect()).release();
  } finally {
    await pool.end();
  }
});
