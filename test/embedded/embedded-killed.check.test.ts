// The embedded server after a kill -9 of whatever was there: found again, or started again.
import { execFile, spawn } from 'node:child_process';
import { copyFile, readdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { processLife, serverAccount } from '../../src/embedded/embedded-process.js';
import { startEmbeddedServer } from '../../src/embedded/embedded-server.js';
import {
  endAfterTest,
  isServed,
  kill,
  killServer,
  newFolder,
  query,
  settings,
  startChild,
  until,
  useEmbeddedServers,
} from './embedded-harness.js';

useEmbeddedServers();

describe('startEmbeddedServer, after a kill -9', () => {
  it('of the server, starts it again', async () => {
    const folder = await newFolder();
    const killed = await startEmbeddedServer({ folder, settings });
    await query(killed.connectionString, 'create table kept as select 42 as answer');
    await killServer(killed.dataDirectory, 'SIGKILL');
    const again = await startEmbeddedServer({ folder, settings });
    expect(again.startedHere).toBe(true);
    expect(await query(again.connectionString, 'select answer from kept')).toBe(42);
    await killed.stop();
    expect(await query(again.connectionString, 'select 1')).toBe(1);
    await again.stop();
    expect(await isServed(again.dataDirectory)).toBe(false);
  });

  it('of a computing server, ends its orphans and starts it again', async () => {
    const folder = await newFolder();
    const killed = await startEmbeddedServer({ folder, settings });
    const endless = query(killed.connectionString, 'do $$ begin loop end loop; end $$').catch(() => 'broken');
    const busy = `select count(*)::int from pg_stat_activity where state = 'active' and query like 'do %'`;
    await until('the loop runs', async () => (await query(killed.connectionString, busy)) === 1);
    await killServer(killed.dataDirectory, 'SIGKILL');
    const again = await startEmbeddedServer({ folder, settings });
    expect(again.startedHere).toBe(true);
    expect(await endless).toBe('broken');
    await killed.stop();
    await again.stop();
  });

  it('of the process that started it, joins the remaining server, and no longer counts the dead user', async () => {
    const folder = await newFolder();
    const starter = startChild(folder);
    const { connectionString } = await starter.report;
    await kill(starter);
    const next = await startEmbeddedServer({ folder });
    expect(next).toMatchObject({ startedHere: false, connectionString });
    await next.stop();
    expect(await isServed(next.dataDirectory)).toBe(false);
  });

  it('of everything, starts again', async () => {
    const folder = await newFolder();
    const starter = startChild(folder);
    const { dataDirectory } = await starter.report;
    await kill(starter);
    await killServer(dataDirectory, 'SIGKILL');
    const next = await startEmbeddedServer({ folder, settings });
    expect(next.startedHere).toBe(true);
    await next.stop();
  });

  it('of initdb halfway, makes a complete cluster and removes the partial one', async () => {
    const folder = await newFolder();
    const starter = startChild(folder);
    const halves = async (): Promise<string[]> =>
      (await readdir(folder).catch(() => [])).filter(name => name.startsWith('initdb-'));
    await until('initdb begins', async () => {
      const [half] = await halves();
      return (
        half !== undefined && (await readdir(path.join(folder, half, 'data')).catch(() => [])).length > 0
      );
    });
    await kill(starter);
    expect(await halves()).toHaveLength(1);
    const next = await startEmbeddedServer({ folder, settings });
    expect(next.startedHere).toBe(true);
    expect(await query(next.connectionString, 'select 1')).toBe(1);
    await next.stop();
    // The orphaned initdb may still be writing while the first start removes its folder.
    await until('the half is gone', async () => {
      const again = await startEmbeddedServer({ folder, settings });
      await again.stop();
      return (await halves()).length === 0;
    });
  });

  it('is not confused by a postmaster.pid whose pid now belongs to another process', async () => {
    const folder = await newFolder();
    const first = await startEmbeddedServer({ folder, settings });
    const file = path.join(first.dataDirectory, 'postmaster.pid');
    const text = await readFile(file, 'utf8');
    await killServer(first.dataDirectory, 'SIGKILL');
    // PostgreSQL takes the pid for a server's only if that process is of its own user.
    const account = await serverAccount();
    const stranger = spawn(
      'sleep',
      ['600'],
      account === undefined ? {} : { uid: account.uid, gid: account.gid },
    );
    endAfterTest(stranger);
    await writeFile(file, text.replace(/^\d+/, String(stranger.pid)));
    const second = await startEmbeddedServer({ folder, settings });
    expect(second.startedHere).toBe(true);
    await second.stop();
    await first.stop();
    expect(await processLife(stranger.pid ?? 0)).toBeDefined();
  });

  it('is not confused by an empty postmaster.pid', async () => {
    const folder = await newFolder();
    const first = await startEmbeddedServer({ folder, settings });
    await first.stop();
    await writeFile(path.join(first.dataDirectory, 'postmaster.pid'), '');
    const second = await startEmbeddedServer({ folder, settings });
    expect(second.startedHere).toBe(true);
    await second.stop();
  });

  it('does not join the original’s server in a copied folder', async () => {
    const original = await newFolder('original');
    const copy = path.join(path.dirname(original), 'copy');
    const first = await startEmbeddedServer({ folder: original, settings });
    await first.stop();
    await promisify(execFile)('cp', ['-a', original, copy]);
    const again = await startEmbeddedServer({ folder: original, settings });
    await copyFile(
      path.join(again.dataDirectory, 'postmaster.pid'),
      path.join(copy, 'data', 'postmaster.pid'),
    );
    const second = await startEmbeddedServer({ folder: copy, settings });
    expect(second).toMatchObject({ startedHere: true, dataDirectory: path.join(copy, 'data') });
    expect(second.connectionString).not.toBe(again.connectionString);
    await second.stop();
    await again.stop();
  });
});
