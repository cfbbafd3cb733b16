// The worker's end of the connection to `tock start --watch`.

/** What the two say to each other. */
export const STOP = 'stop';
export const RUNNING = 'running';

export interface Watcher {
  /** Aborts when this worker is to make way for the next one, or when the watcher is gone. */
  readonly stop: AbortSignal;
  /** Says that this worker is running. */
  readonly sayRunning: () => void;
}

export function joinWatcher(): Watcher {
  const controller = new AbortController();
  process.on('message', message => {
    if (message === STOP) controller.abort();
  });
  process.once('disconnect', () => controller.abort());
  // Listening alone must not keep this process alive.
  process.channel?.unref();
  return { stop: controller.signal, sayRunning: () => process.send?.(RUNNING) };
}
