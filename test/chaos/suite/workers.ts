// The workers: three daemons, and ticks as cron starts them.
// In: a build, a database URL, a job module. Out: processes to kill and to freeze; those that end are replaced.
import { closeSync, existsSync, openSync } from 'node:fs';
import path from 'node:path';
import { type Running, startProcess } from '../../support/processes.js';
import { LEASE_MS, type Target } from './plan.js';
import { named } from './stage.js';

const DAEMONS = ['daemon 1', 'daemon 2', 'daemon 3'] as const;
/** One connection that all share in turn, one for handlers, and several. */
const CONNECTIONS: Readonly<Record<Target, string>> = {
  'daemon 1': '1',
  'daemon 2': '2',
  'daemon 3': '10',
  tick: '10',
};
/** Of a pool that can spare a connection; the others poll. */
export const listens = (target: Target): boolean => Number(CONNECTIONS[target]) >= 4;
/** Whatever these print meets a full disk; and so it is with every second tick. */
const ON_FULL_DISK: Target = 'daemon 2';
const FULL_DISK = '/dev/full';
/** In a rolling deploy these have their turn last. */
const OLDER: ReadonlySet<Target> = new Set(['daemon 3', 'tick']);
export const hasOlderCode = (target: Target): boolean => OLDER.has(target);
const TICK_EVERY_MS = 4000;
const RESTART_AFTER_MS = 100;
/** A worker that was asked to stop may take so long. */
const STOP_WITHIN_MS = 60_000;
/** What no fault may bring about. */
const ALARMS = /"event":"(?:finalize\.refused|definition\.broken|hook\.failed)"/;

interface Member {
  readonly target: Target;
  /** By `performance.now()`. */
  readonly startedAt: number;
  readonly running: Running;
  isFrozen: boolean;
  /** It was killed. */
  isDoomed: boolean;
  /** It was asked to stop. */
  isStopping: boolean;
}

export type Crew = ReturnType<typeof startCrew>;

function startOnFullDisk(...[script, env, args]: Parameters<typeof startProcess>): Running {
  const full = openSync(FULL_DISK, 'w');
  try {
    return startProcess(script, env, args, { stdout: full, stderr: full });
  } finally {
    closeSync(full);
  }
}

/** Starts the workers. */
export function startCrew(options: {
  readonly dist: string;
  readonly url: string;
  readonly jobs: string;
  /** Of those that still run older code. Default: none do. */
  readonly olderJobs?: string;
  readonly temporary: string;
  /** Whether some have their output on a full disk. */
  readonly hasFullDisk?: boolean;
  /** Default `warn`. */
  readonly logLevel?: string;
  /** Called with all that a process has printed, when it has ended. */
  readonly onOutput?: (output: string) => void;
}) {
  const members = new Set<Member>();
  const endings: Promise<unknown>[] = [];
  const events = new Map<string, number>();
  const wrong: string[] = [];
  const alarms: string[] = [];
  let started = 0;
  let onFullDisk = 0;
  let isStopping = false;
  let hasSuicides = false;
  const hasFullDisk = options.hasFullDisk === true && existsSync(FULL_DISK);

  const start = (target: Target) => {
    const isTick = target === 'tick';
    const isMute = hasFullDisk && (target === ON_FULL_DISK || (isTick && started % 2 === 0));
    const env = {
      DATABASE_URL: named(options.url, `${target.replace(' ', '-')}-${++started}`),
      TOCK_JOBS: (OLDER.has(target) ? options.olderJobs : undefined) ?? options.jobs,
      TMPDIR: options.temporary,
      TOCK_LEASE: `${LEASE_MS}ms`,
      TOCK_HEARTBEAT: '600ms',
      TOCK_GRACE: '300ms',
      TOCK_DRAIN: '5s',
      TOCK_CONNECTIONS: CONNECTIONS[target],
      TOCK_STATEMENT_TIMEOUT: '5s',
      TOCK_LOG_LEVEL: options.logLevel ?? 'warn',
    };
    const script = path.join(options.dist, isTick ? 'tick.js' : 'cli.js');
    const args = isTick ? ['--budget', '3s'] : ['start', '--json'];
    const running = isMute ? startOnFullDisk(script, env, args) : startProcess(script, env, args);
    if (isMute) onFullDisk++;
    const member: Member = {
      target,
      running,
      startedAt: performance.now(),
      isFrozen: false,
      isDoomed: false,
      isStopping: false,
    };
    members.add(member);
    const ending = running.ended.then(({ code, signal, stdout, stderr }) => {
      members.delete(member);
      options.onOutput?.(`${stdout}${stderr}`);
      for (const [, event = ''] of `${stdout}${stderr}`.matchAll(/"event":"([a-z._]+)"/g))
        events.set(event, (events.get(event) ?? 0) + 1);
      for (const line of `${stdout}${stderr}`.split('\n')) if (ALARMS.test(line)) alarms.push(line);
      // Who meets no database at the start says so with 3. A daemon that has begun goes on without.
      // Nobody knows it of one on a full disk.
      const hasBegun = !isTick && stdout.includes('"worker"');
      const isAway = code === 3 && !hasBegun;
      // Asked to stop before it listens to signals, it ends by the signal.
      const hasStopped = member.isStopping && (code === 0 || (signal === 'SIGTERM' && !hasBegun));
      const isSuicide = hasSuicides && signal === 'SIGKILL';
      const isExpected = member.isDoomed || isAway || hasStopped || isSuicide || (isTick && code === 0);
      if (!isExpected)
        wrong.push(
          `a ${target} ended by itself: ${signal ?? `exit code ${code}`}: ${stderr.trim().slice(-500)}`,
        );
      if (!isStopping && !isTick) setTimeout(() => isStopping || start(target), RESTART_AFTER_MS);
    });
    endings.push(ending);
  };
  for (const target of DAEMONS) start(target);
  const beat = setInterval(() => start('tick'), TICK_EVERY_MS);

  const isFit = (each: Member) => !each.isFrozen && !each.isDoomed && !each.isStopping;
  const ask = (member: Member) => {
    member.isStopping = true;
    member.running.child.kill('SIGTERM');
  };
  const fit = () =>
    [...members]
      .filter(each => isFit(each) && each.target !== 'tick')
      .map(({ target, running, startedAt }) => ({ target, pid: running.child.pid, startedAt }));
  const thaw = (member: Member) => {
    member.isFrozen = false;
    member.running.child.kill('SIGCONT');
  };
  const destroy = async () => {
    isStopping = true;
    clearInterval(beat);
    for (const member of members) {
      member.isDoomed = true;
      member.running.child.kill('SIGKILL');
    }
    await Promise.all(endings);
  };
  const stop = async () => {
    isStopping = true;
    clearInterval(beat);
    for (const member of members) ask(member);
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<true>(resolve => {
      timer = setTimeout(resolve, STOP_WITHIN_MS, true);
    });
    const isLate = await Promise.race([late, Promise.all(endings)]);
    clearTimeout(timer);
    if (isLate !== true) return;
    wrong.push(
      ...[...members].map(each => `a ${each.target} did not stop within ${STOP_WITHIN_MS / 1000} s`),
    );
    await destroy();
  };
  return {
    /** Resolves to a worker that lives and is not frozen: the one that is meant, or another. */
    async find(target: Target, signal: AbortSignal) {
      for (;;) {
        const fit = [...members].filter(isFit);
        const found = fit.find(each => each.target === target) ?? fit[0];
        if (found) return found;
        signal.throwIfAborted();
        await new Promise(resolve => setTimeout(resolve, 20));
      }
    },
    /** The daemons that live and are not frozen. */
    fit,
    kill(member: Member) {
      member.isDoomed = true;
      member.running.child.kill('SIGKILL');
    },
    drain: ask,
    freeze(member: Member) {
      member.isFrozen = true;
      member.running.child.kill('SIGSTOP');
    },
    thaw,
    /** From now on who is killed by nobody else has done it himself. */
    mayKillThemselves() {
      hasSuicides = true;
    },
    /** Asks all to stop, and resolves when they have. */
    stop,
    /** Ends all at once. */
    destroy,
    /** Processes that ended as nobody had asked them to. */
    wrong,
    started: () => started,
    /** How many of them had their output on a full disk. */
    onFullDisk: () => onFullDisk,
    /** How often the workers have logged an event, as far as they could. */
    count: (event: string) => events.get(event) ?? 0,
    /** The lines of events that no fault explains. */
    alarms,
  };
}
