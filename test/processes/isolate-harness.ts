// What the tests of isolated jobs share: a database, a daemon in this process, ticks as processes, and a look at pids.
// In: the jobs of isolated-jobs.ts, bundled for the children. Out: a fresh TestTock before each test.
import { existsSync, readFileSync } from 'node:fs';
import { afterEach, beforeAll, beforeEach } from 'vitest';
import type { Daemon } from '../../src/index.js';
import type { Tock } from '../../src/tock/types.js';
import { bundleJobs, type Running, startProcess, TICK } from '../support/processes.js';
import { openTestTock, type TestTock, until } from '../support/test-tock.js';
import { jobs } from './isolated-jobs.js';

export let jobsModule: string;
beforeAll(async () => {
  jobsModule = await bundleJobs('test/processes/isolated-jobs.ts');
});

export const lines: { level: string; fields: Record<string, unknown>; message: string | undefined }[] = [];
const loggerWith = (bindings: object) => {
  const at = (level: string) => (fields: object, message?: string) => {
    lines.push({ level, fields: { ...bindings, ...fields }, message });
  };
  return {
    debug: at('debug'),
    info: at('info'),
    warn: at('warn'),
    error: at('error'),
    child: (more: object) => loggerWith({ ...bindings, ...more }),
  };
};

export let test: TestTock;
let daemon: Daemon | undefined;
const running: Running[] = [];
beforeEach(async () => {
  lines.length = 0;
  test = await openTestTock(jobs, {
    jobsModule,
    logger: loggerWith({}),
    // A busy machine may hold up a heartbeat for seconds.
    lease: '30s',
    heartbeat: '100ms',
    grace: '500ms',
    drain: '0s',
  });
  await test.sql('create table public.children (run_id bigint, attempt int, pid int, reason text)');
  await test.sql('create table public.releases (at timestamptz default now())');
  await test.sql('create table public.notes (id bigserial, text text)');
});
afterEach(async () => {
  for (const each of running.splice(0)) {
    each.child.kill('SIGCONT');
    each.child.kill('SIGKILL');
  }
  await daemon?.stop();
  daemon = undefined;
  await test.close();
});

/** Starts a daemon in this process; it is stopped after the test. */
export const start = async (tock?: Tock) => {
  daemon = await (tock ?? test.tock).start();
  return daemon;
};
/** Starts a tick as a process of its own. */
export const tick = (env: Record<string, string> = {}) => {
  const started = startProcess(TICK, {
    DATABASE_URL: test.url,
    TOCK_JOBS: jobsModule,
    TOCK_LEASE: '30s',
    TOCK_HEARTBEAT: '200ms',
    TOCK_GRACE: '500ms',
    ...env,
  });
  running.push(started);
  return started;
};
export const ended = (id: string) =>
  until(async () => {
    const run = await test.tock.runs.get(id);
    return run?.finishedAt && run;
  }, `run ${id} to end`);
export const attempted = (id: string) =>
  until(async () => {
    const run = await test.tock.runs.get(id);
    return run && run.errors.length > 0 && run;
  }, `an attempt of run ${id} to fail`);
export const childOf = async (id: string, attempt = 1) =>
  await until(
    async () =>
      (
        await test.sql<{ pid: number }>(
          'select pid from public.children where run_id = $1 and attempt = $2',
          [id, attempt],
        )
      )[0]?.pid,
    `a child for run ${id}`,
  );
/** Ended, or a zombie that nobody has reaped yet. */
export const isGone = (pid: number) => {
  if (!existsSync('/proc/self/stat')) {
    try {
      process.kill(pid, 0);
      return false;
    } catch {
      return true;
    }
  }
  try {
    return /\) [ZX]/.test(readFileSync(`/proc/${pid}/stat`, 'latin1'));
  } catch {
    return true;
  }
};
export const gone = (pid: number) => until(async () => isGone(pid), `process ${pid} to be gone`);
