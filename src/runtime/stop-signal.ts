// The signals that stop a process.

/** npm and npx pass on what a terminal sends to the whole group: one Ctrl-C comes as two signals. */
const SAME_KEYSTROKE_MS = process.env['npm_command'] === undefined ? 0 : 500;

/** Aborts on SIGTERM, SIGINT or SIGHUP, which drains. A second signal ends the process at once. */
export function stopSignal(): AbortSignal {
  const controller = new AbortController();
  let abortedAt = 0;
  // Node's own, which crash-guard.ts replaces later.
  const exit = process.exit.bind(process);
  for (const name of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) {
    process.on(name, () => {
      if (!controller.signal.aborted) {
        abortedAt = performance.now();
        controller.abort();
      } else if (performance.now() - abortedAt >= SAME_KEYSTROKE_MS) exit(1);
    });
  }
  return controller.signal;
}
