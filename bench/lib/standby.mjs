// Debian's PostgreSQL 15 as a primary and its standby, with a slow way between them.
// In: milliseconds each way. Out: the primary's URL, and whether its commits wait for the standby.
import { execFileSync } from 'node:child_process';
import { chownSync, existsSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { connect } from './database.mjs';
import { freePorts, inFolder } from './programs.mjs';

const BIN = '/usr/lib/postgresql/15/bin';
const PROXY = fileURLToPath(new URL('delay-proxy.mjs', import.meta.url));
const READY_WITHIN_MS = 60_000;

/** PostgreSQL does not run as root. */
function serverAccount() {
  if (process.getuid?.() !== 0) return {};
  const id = flag => Number(execFileSync('id', [flag, 'postgres'], { encoding: 'utf8' }));
  return { uid: id('-u'), gid: id('-g') };
}

/**
 * `waitForStandby(true)`: from now on commits wait for it. `failOver()`: the primary is killed, and what was on its way
 * to the standby is lost; resolves to the standby's URL once it takes writes.
 */
export async function startReplicated(delayMs) {
  if (!existsSync(path.join(BIN, 'pg_basebackup')))
    throw new Error('--only standby needs Debian’s PostgreSQL 15 (apt-get install postgresql-15)');
  const account = serverAccount();
  return await inFolder(async (folder, run) => {
    const [port, copyPort, proxyPort] = await freePorts(3);
    const [main, copy, password] = ['main', 'copy', 'password'].map(name => path.join(folder, name));
    const give = file => account.uid === undefined || chownSync(file, account.uid, account.gid);
    const call = (program, ...args) =>
      execFileSync(path.join(BIN, program), args, {
        ...account,
        cwd: folder,
        env: { HOME: folder },
        stdio: 'pipe',
      });
    for (const data of [main, copy]) {
      await mkdir(data, { mode: 0o700 });
      give(data);
    }
    await writeFile(password, 'secret');
    give(password);
    const url = `postgres://postgres:secret@127.0.0.1:${port}/postgres`;
    call('initdb', '-D', main, '-U', 'postgres', '-A', 'scram-sha-256', `--pwfile=${password}`, '-E', 'UTF8');
    const start = async (name, data, at) => {
      const settings = [`port=${at}`, 'listen_addresses=127.0.0.1', 'unix_socket_directories='];
      const args = ['-D', data, ...settings.flatMap(setting => ['-c', setting])];
      return await run(name, path.join(BIN, 'postgres'), args, { account });
    };
    const primary = await start('primary', main, port);
    await until('the primary', () => answers(url));
    const proxy = await run('proxy', process.execPath, [PROXY, proxyPort, port, delayMs].map(String));
    await proxy.listens(proxyPort);
    // What it is copied by is what it follows later: the slow way.
    const slow = `postgres://postgres:secret@127.0.0.1:${proxyPort}/postgres`;
    call('pg_basebackup', '-d', slow, '-D', copy, '-R', '-X', 'stream', '-c', 'fast');
    await start('standby', copy, copyPort);
    const sql = await connect(url);
    const follows = async state =>
      (
        await sql.rows(`select from pg_stat_replication where state = 'streaming' and sync_state = $1`, [
          state,
        ])
      ).length === 1;
    await until('the standby', () => follows('async'));
    return {
      url,
      waitForStandby: async isWaiting => {
        await sql.rows(`alter system set synchronous_standby_names = '${isWaiting ? '*' : ''}'`);
        await sql.rows('select pg_reload_conf()');
        await until('the settings', () => follows(isWaiting ? 'sync' : 'async'));
      },
      failOver: async () => {
        // Together, so that nothing more comes through.
        await Promise.all([proxy.stop(), primary.stop()]);
        call('pg_ctl', '-D', copy, '-w', 'promote');
        return `postgres://postgres:secret@127.0.0.1:${copyPort}/postgres`;
      },
    };
  });
}

async function answers(url) {
  try {
    const sql = await connect(url);
    await sql.close();
    return true;
  } catch {
    return false;
  }
}

async function until(what, isSo) {
  const end = performance.now() + READY_WITHIN_MS;
  while (!(await isSo())) {
    if (performance.now() > end) throw new Error(`${what} was not ready within ${READY_WITHIN_MS / 1000} s`);
    await sleep(50);
  }
}
