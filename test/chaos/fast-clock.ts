// A server and processes whose clock shows another time, and runs fast: Debian's faketime.
// In: an instant and a speed. Out: a PostgreSQL that believes it, restarted at another instant if need be; daemons and
// ticks that share its time.
import { existsSync } from 'node:fs';
import { chmod, mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { findBinaries } from '../../src/embedded/embedded-binaries.js';
import { type EmbeddedServer, startEmbeddedServer } from '../../src/embedded/embedded-server.js';
import { startProcess } from '../support/processes.js';
import { sqlAt } from '../support/sql-at.js';

/** libfaketime, where it is installed. */
export const FAKETIME = ['x86_64', 'aarch64']
  .map(machine => `/usr/lib/${machine}-linux-gnu/faketime/libfaketime.so.1`)
  .find(file => existsSync(file));

export type FastServer = Awaited<ReturnType<typeof openFastServer>>;

/** Starts a server at an instant. Its clock runs as ours does until it leaps; then `speed` times as fast. */
export async function openFastServer(instant: string, speed: number) {
  const folder = await mkdtemp(path.join(tmpdir(), 'tock-fast-'));
  await chmod(folder, 0o755);
  const native = await findBinaries(process.cwd());
  const bin = path.join(folder, 'native', 'bin');
  await mkdir(bin, { recursive: true });
  for (const name of ['initdb', 'pg_ctl'])
    await symlink(path.join(native, 'bin', name), path.join(bin, name));
  const fake = (at: string, speed: number) => ({
    LD_PRELOAD: FAKETIME ?? '',
    FAKETIME: `@${at.slice(0, 19).replace('T', ' ')} x${speed}`,
    TZ: 'UTC',
  });
  // In place of the server's program one that sets the clock first.
  const begin = async (at: string, speed: number): Promise<EmbeddedServer> => {
    const env = Object.entries(fake(at, speed)).map(([name, value]) => `${name}='${value}'`);
    const program = path.join(bin, 'postgres');
    await writeFile(program, `#!/bin/sh\nexec env ${env.join(' ')} '${native}/bin/postgres' "$@"\n`);
    await chmod(program, 0o755);
    return await startEmbeddedServer({
      folder: path.join(folder, '.tock'),
      binaries: path.dirname(bin),
      settings: { fsync: 'off', max_connections: '60', autovacuum: 'off' },
    });
  };
  let server = await begin(instant, 1);
  const url = server.connectionString;
  const sql = <Row>(text: string, values?: unknown[]) => sqlAt<Row>(url, text, values);
  return {
    url,
    sql,
    /** Starts a process whose clock shows what the server's shows now, and runs as fast. Its timers and timeouts do not. */
    async start(script: string, env: Record<string, string>, args: string[]) {
      const [row] = await sql<{ now: Date }>('select clock_timestamp() as now');
      const clock = { ...fake(row?.now.toISOString() ?? '', speed), FAKETIME_DONT_FAKE_MONOTONIC: '1' };
      return startProcess(script, { ...env, ...clock }, args);
    },
    /** Stops the server and starts it again at another instant; from there on time runs fast. */
    async leapTo(at: string) {
      await server.stop();
      server = await begin(at, speed);
      if (server.connectionString !== url) throw new Error('the server has come back under another URL');
    },
    async remove() {
      await server.stop();
      await rm(folder, { recursive: true, force: true });
    },
  };
}
