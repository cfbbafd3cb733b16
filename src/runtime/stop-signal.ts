// The signals that stop a process.

/** Aborts on SIGTERM, SIGINT or SIGHUP, which drains. A second signal ends the process at once. */
export function stopSignal(): AbortSignal {
  const controller = new AbortController();
  // Node's own, which crash-guard.ts replaces later.
  const exit = process.exit.bind(process);
  for (const name of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) {
    process.on(name, () => {
      if (controller.signal.aborted) exit(1);
      controller.abort();
    });
  }
  return controller.signal;
}
