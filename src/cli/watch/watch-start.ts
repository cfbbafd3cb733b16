// `tock start --watch`: runs the scheduler in a child process, and starts it anew when the jobs have changed.
import { spawn } from 'node:child_process';
import path from 'node:path';
import { performance } from 'node:perf_hooks';
import type { KeptDashboard } from '../../dashboard/server/serve.js';
import { onStopSignal } from '../../runtime/stop-signal.js';
import type { Shell } from '../shell.js';
import { cleanLine, paint } from '../terminal.js';
import { isKept, KEPT, type Kept, RUNNING, STOP } from './join-watcher.js';
import { watchFiles } from './watch-files.js';

/** npm passes Ctrl-C on, so that one keystroke may come as two signals. */
const SAME_KEYSTROKE_MS = 500;
const MAX_NAMED_FILES = 3;
/** The exit code for a database that cannot be reached (exit-codes.ts). */
const UNREACHABLE = 3;

interface Worker {
  /** Resolves to whether it is running: once it is, or has ended. */
  readonly running: Promise<boolean>;
  /** Resolves to its exit code; null: by a signal. */
  readonly ended: Promise<number | null>;
  readonly kill: () => void;
  /** Asks it to end without a word, as it would at Ctrl-C. */
  readonly replace: () => void;
}

export interface Watched {
  /** The job module, which exists. */
  readonly module: string;
  /** Whether its workers serve the dashboard. */
  readonly hasDashboard: boolean;
}

/** @returns the exit code, once a signal has stopped it */
export async function watchStart(shell: Shell, watched: Watched): Promise<number> {
  const server = await holdServer(shell);
  try {
    return await watch(shell, watched);
  } finally {
    await server?.stop();
  }
}

async function watch(shell: Shell, { module, hasDashboard }: Watched): Promise<number> {
  const files = watchFiles([module]);
  const stop = new AbortController();
  let dashboard: KeptDashboard | null = null;
  const start = (which: 'first' | 'again') =>
    startWorker(which, hasDashboard ? { [KEPT]: JSON.stringify(dashboard) } : {}, kept => {
      ({ dashboard } = kept);
    });
  let worker = start('first');
  let askedAt = Number.NEGATIVE_INFINITY;
  onStopSignal(() => {
    if (performance.now() - askedAt < SAME_KEYSTROKE_MS) return;
    askedAt = performance.now();
    stop.abort();
    worker.kill();
  });
  let changes = '';
  let hasRun = false;
  let since = performance.now();
  for (;;) {
    const isRunning = await worker.running;
    hasRun ||= isRunning;
    const took = ((performance.now() - since) / 1000).toFixed(1);
    if (!isRunning) {
      const code = await worker.ended;
      // No change of a file would help.
      if (changes === '' && code === UNREACHABLE) return code;
      if (!stop.signal.aborted)
        shell.say(`${changes}${paint('yellow', 'not started')}; waiting for the next change`);
    } else if (changes !== '') shell.say(`${changes}restarted in ${took} s`);

    let isReplaced = false;
    if (isRunning)
      void worker.ended.then(code => {
        if (isReplaced || stop.signal.aborted) return;
        shell.note(`the worker ended with exit code ${code ?? 'none'}; waiting for the next change`);
      });
    const changed = await files.changed(stop.signal);
    isReplaced = true;
    since = performance.now();
    if (!stop.signal.aborted) worker.replace();
    const code = await worker.ended;
    if (stop.signal.aborted) return isRunning ? (code ?? 0) : 0;
    changes = `${paint('cyan', 'changed')}: ${namesOf(changed)} - `;
    worker = start(hasRun ? 'again' : 'first');
  }
}

/** A group of its own: Ctrl-C reaches the watcher alone, and the worker gets exactly one signal from it. */
function startWorker(which: 'first' | 'again', env: NodeJS.ProcessEnv, onKept: (kept: Kept) => void): Worker {
  const args = process.argv.slice(1).filter(each => each !== '--watch');
  const child = spawn(process.execPath, [...process.execArgv, ...args, '--watched', which], {
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    detached: true,
    env: { ...process.env, ...env },
  });
  const ended = new Promise<number | null>(resolve => {
    child.once('error', () => resolve(1));
    child.once('exit', resolve);
  });
  const running = new Promise<boolean>(resolve => {
    child.on('message', message => {
      if (message === RUNNING) resolve(true);
      else if (isKept(message)) onKept(message);
    });
    void ended.then(() => resolve(false));
  });
  return {
    running,
    ended,
    kill: () => child.kill('SIGTERM'),
    replace: () => {
      if (child.connected) child.send(STOP, () => undefined);
    },
  };
}

/** Otherwise the embedded server would end with each worker, and start again with the next. */
async function holdServer({ config }: Shell): Promise<{ stop(): Promise<void> } | null> {
  if (config.databaseUrl !== null || !config.isEmbedded) return null;
  const { startEmbeddedServer } = await import('../../embedded/embedded-server.js');
  return await startEmbeddedServer({ folder: config.dataFolder });
}

/** `jobs/report.ts`, from the working directory. */
function namesOf(files: readonly string[]): string {
  const names = files
    .map(file => path.relative(process.cwd(), file))
    .map((name, index) => cleanLine(name.startsWith('..') ? (files[index] ?? name) : name));
  const more = names.length > MAX_NAMED_FILES ? ` and ${names.length - MAX_NAMED_FILES} more` : '';
  return `${names.slice(0, MAX_NAMED_FILES).join(', ')}${more}`;
}
