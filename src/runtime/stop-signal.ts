// Room: runtime. The signals that ask a process to stop.

/** Aborts on SIGTERM, SIGINT and SIGHUP: the tick drains and ends. A second signal ends the process at once. */
export function stopSignal(): AbortSignal {
  const controller = new AbortController();
  // Node's own, whatever takes its place later (crash-guard.ts).
  const exit = process.exit.bind(process);
  for (const name of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) {
    process.on(name, () => {
      if (controller.signal.aborted) exit(1);
      controller.abort();
    });
  }
  return controller.signal;
}
