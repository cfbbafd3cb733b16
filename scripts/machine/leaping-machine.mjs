// Cron and PostgreSQL on a machine whose clock is set by the caller, to one minute after the other: Debian's faketime.
// For use inside private-cron.sh. Both read the clock from one file, so they agree; no other process needs it, since Tock
// goes by the database's clock. The clock runs as ours does from one leap to the next.
import { spawn, spawnSync } from 'node:child_process';
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:net';
import path from 'node:path';
import { performance } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';

const LIBRARY = ['x86_64', 'aarch64']
  .map(machine => `/usr/lib/${machine}-linux-gnu/faketime/libfaketime.so.1`)
  .find(file => existsSync(file));
const POSTGRES = process.env.PG_BIN ?? '/usr/lib/postgresql/15/bin';
/** Each wait is over within a second or so, but on two cores CI does much else beside it. */
const LIMIT_MS = 120_000;
/** How often cron is woken while it has not executed what is waited for. */
const NUDGE_MS = 100;
/** Cron wakes a second after the minute. */
const INTO_THE_MINUTE_MS = 5000;

/** What is missing on this host, as a sentence; null: nothing. */
export function missingHere() {
  if (LIBRARY === undefined) return 'faketime is not installed (Debian: apt-get install -y faketime)';
  if (!existsSync(path.join(POSTGRES, 'initdb')))
    return `there is no PostgreSQL in ${POSTGRES} (Debian: apt-get install -y postgresql-15)`;
  return null;
}

/** @param folder others can enter it @param instant epoch milliseconds: what the clock shows first */
export async function openMachine(folder, instant) {
  const clock = path.join(folder, 'clock');
  const beats = path.join(folder, 'beats');
  const boots = path.join(folder, 'boots');
  const env = {
    PATH: '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin',
    LD_PRELOAD: LIBRARY,
    FAKETIME_TIMESTAMP_FILE: clock,
    FAKETIME_NO_CACHE: '1',
    FAKETIME_DONT_FAKE_MONOTONIC: '1',
    NO_FAKE_STAT: '1',
  };
  let aheadMs = 0;
  const setClock = at => {
    const seconds = Math.round(at / 1000) - Math.floor(Date.now() / 1000);
    writeFileSync(`${clock}.new`, `${seconds < 0 ? '' : '+'}${seconds}`);
    // Renamed into its place: a reader would find it empty.
    renameSync(`${clock}.new`, clock);
    aheadMs = seconds * 1000;
  };
  setClock(instant);
  const server = await startServer(path.join(folder, 'server'), env);
  writeFileSync(beats, '');
  // Lines of the system: they show that cron has started, and that it has executed a minute.
  writeFileSync('/etc/cron.d/beats', `@reboot root echo >> ${boots}\n* * * * * root echo >> ${beats}\n`);
  let cron = null;
  /** How many beats there were before a minute: each minute from then on adds one. */
  let counted = null;

  const wake = () => {
    if (cron.exitCode !== null || cron.signalCode !== null) throw new Error('cron has ended');
    // It closes its log, which is nothing here, and looks at the clock.
    cron.kill('SIGHUP');
  };
  const until = async (what, isSo) => {
    const end = performance.now() + LIMIT_MS;
    let next = performance.now();
    while (!isSo()) {
      if (performance.now() > end) throw new Error(`waited ${LIMIT_MS / 1000} s until ${what}`);
      if (performance.now() >= next) {
        wake();
        next = performance.now() + NUDGE_MS;
      }
      await sleep(2);
    }
  };

  return {
    url: server.url,
    setClock,
    until,
    /**
     * As after a start of the machine: waits until cron has executed the lines with @reboot. Only then has it surely read the
     * clock from which it counts the minutes, and handles signals. If the clock leapt before, cron would skip that minute.
     */
    async startCron() {
      rmSync('/run/crond.reboot', { force: true });
      rmSync(boots, { force: true });
      counted = null;
      cron = spawn('cron', ['-f'], { env, stdio: 'ignore' });
      const end = performance.now() + LIMIT_MS;
      while (!existsSync(boots)) {
        if (cron.exitCode !== null || performance.now() > end) throw new Error('cron does not start');
        await sleep(5);
      }
    },
    async stopCron() {
      const ended = new Promise(resolve => cron.once('exit', resolve));
      cron.kill('SIGTERM');
      await ended;
    },
    /**
     * Sets the clock to this minute, and waits until cron has executed its lines. On a busy machine the clock may have
     * come there by itself, and cron has executed them: it is never set back, because cron would wait for the minute after.
     * @param at epoch milliseconds; one minute after the last
     */
    async toMinute(at) {
      counted ??= { at, beats: statSync(beats).size };
      const due = counted.beats + (at - counted.at) / 60_000 + 1;
      if (Date.now() + aheadMs < at + INTO_THE_MINUTE_MS) setClock(at + INTO_THE_MINUTE_MS);
      await until(
        `cron has executed the minute ${new Date(at).toISOString()}`,
        () => statSync(beats).size >= due,
      );
    },
    stop: server.stop,
  };
}

async function startServer(folder, env) {
  mkdirSync(folder);
  const { uid, gid } = postgresUser();
  chownSync(folder, uid, gid);
  const password = path.join(folder, 'password');
  writeFileSync(password, 'secret');
  chmodSync(password, 0o644);
  const data = path.join(folder, 'data');
  const log = path.join(folder, 'log');
  const port = await freePort();
  const settings = [
    `-p ${port} -c listen_addresses=127.0.0.1 -c unix_socket_directories=''`,
    '-c fsync=off -c synchronous_commit=off -c full_page_writes=off -c jit=off -c autovacuum=off -c timezone=UTC',
  ];
  const call = (program, args, more = {}) => {
    const as = [`--reuid=${uid}`, `--regid=${gid}`, '--clear-groups', 'env'];
    // Set for the program only: what faketime shares by the process's number must be its own user's.
    const settings = Object.entries(more).map(([name, value]) => `${name}=${value}`);
    const { status, error } = spawnSync(
      'setpriv',
      [...as, ...settings, path.join(POSTGRES, program), '-D', data, ...args],
      { cwd: '/', stdio: ['ignore', 'ignore', 'inherit'], env: { PATH: env.PATH } },
    );
    if (status === 0) return;
    const why = existsSync(log) ? readFileSync(log, 'utf8') : String(error ?? '');
    throw new Error(`${program} ended with ${status}: ${why}`);
  };
  call('initdb', [
    '-U',
    'postgres',
    '-A',
    'scram-sha-256',
    `--pwfile=${password}`,
    '-E',
    'UTF8',
    '--locale=C.UTF-8',
  ]);
  call('pg_ctl', ['-w', '-l', log, '-o', settings.join(' '), 'start'], env);
  return {
    url: `postgres://postgres:secret@127.0.0.1:${port}/postgres`,
    stop: () => call('pg_ctl', ['-m', 'immediate', 'stop']),
  };
}

function postgresUser() {
  const line = readFileSync('/etc/passwd', 'utf8')
    .split('\n')
    .find(each => each.startsWith('postgres:'));
  const [, , uid, gid] = (line ?? '').split(':').map(Number);
  if (!uid) throw new Error('there is no user postgres');
  return { uid, gid };
}

async function freePort() {
  const server = createServer();
  await new Promise(resolve => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address();
  await new Promise(resolve => server.close(resolve));
  return port;
}
