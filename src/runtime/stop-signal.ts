// The signals that stop a process, and how a process ends whose work is over.

/** A terminal, a service manager or nodemon (SIGUSR2) sends one of these so that a process stops. */
const STOP_SIGNALS = ['SIGTERM', 'SIGINT', 'SIGHUP', 'SIGQUIT', 'SIGUSR2'] as const;

/** npm and npx pass on what a terminal sends to the whole group: one Ctrl-C comes as two signals. */
const SAME_KEYSTROKE_MS = process.env['npm_command'] === undefined ? 0 : 500;
/** A longer timer of Node's fires at once. */
const MAX_TIMER_MS = 2 ** 31 - 1;

/** From now on, stop signals do not end this process: the listener gets them. */
export function onStopSignal(listener: (name: NodeJS.Signals) => void): void {
  for (const name of STOP_SIGNALS) {
    // Node listens already if it was started with an option that writes a report or a heap snapshot then.
    if (name === 'SIGUSR2' && process.listenerCount(name) > 0) continue;
    process.on(name, listener);
  }
}

/** What a second stop signal waits for. */
const lastActs = new Set<() => Promise<void>>();

/** A second stop signal waits for this: a server that nobody else would stop. Returns what takes it back. */
export function beforeForcedExit(act: () => Promise<void>): () => void {
  lastActs.add(act);
  return () => lastActs.delete(act);
}

/** Aborts on the first stop signal, which drains. A second one ends the process after the last acts. */
export function stopSignal(): AbortSignal {
  const controller = new AbortController();
  let abortedAt = 0;
  let isForced = false;
  // Node's own, which crash-guard.ts replaces later.
  const exit = process.exit.bind(process);
  onStopSignal(() => {
    if (!controller.signal.aborted) {
      abortedAt = performance.now();
      controller.abort();
    } else if (performance.now() - abortedAt >= SAME_KEYSTROKE_MS) {
      if (isForced || lastActs.size === 0) exit(1);
      isForced = true;
      void Promise.allSettled([...lastActs].map(async act => await act())).then(() => exit(1));
    }
  });
  return controller.signal;
}

/**
 * The work is over: requests of hooks and exports of spans get `graceMs`. What handlers or the job module
 * have left open, such as a connection or a timer, then keeps the process no longer, and a stop signal ends
 * it at once.
 */
export function endWithin(graceMs: number, exitCode: number): void {
  const end = () => process.exit(exitCode);
  process.exitCode = exitCode;
  setTimeout(end, Math.min(graceMs, MAX_TIMER_MS)).unref();
  for (const name of STOP_SIGNALS) process.prependListener(name, end);
}
