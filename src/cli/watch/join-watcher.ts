// The worker's end of the connection to `tock start --watch`.
import type { KeptDashboard } from '../../dashboard/server/serve.js';

/** What the two say to each other. */
export const STOP = 'stop';
export const RUNNING = 'running';
export interface Kept {
  readonly dashboard: KeptDashboard;
}
/** The variable with what the worker before kept of its dashboard, as JSON; absent: none is to be served. */
export const KEPT = 'TOCK_WATCHED_DASHBOARD';

export interface Watcher {
  /** Aborts when this worker is to make way for the next one, or when the watcher is gone. */
  readonly stop: AbortSignal;
  /** Says that this worker is running. */
  readonly sayRunning: () => void;
  /** What the worker before kept. Null: nothing, since it served none. Undefined: none is to be served. */
  readonly dashboard: KeptDashboard | null | undefined;
  /** Hands that over to the next worker. */
  readonly keep: (dashboard: KeptDashboard) => void;
}

/** Whether a message is that; a job's library may send what is its own. */
export const isKept = (message: unknown): message is Kept =>
  typeof (message as Kept | null)?.dashboard?.port === 'number';

/** The watcher may have been killed: then there is nobody to tell. */
export function tell(message: string | Kept): void {
  if (process.connected) process.send?.(message, () => undefined);
}

export function joinWatcher(): Watcher {
  const controller = new AbortController();
  process.on('message', message => {
    if (message === STOP) controller.abort();
  });
  process.once('disconnect', () => controller.abort());
  // Listening alone must not keep this process alive.
  process.channel?.unref();
  const kept = process.env[KEPT];
  // It signs people in: no child process of a job needs to have it.
  delete process.env[KEPT];
  return {
    stop: controller.signal,
    sayRunning: () => tell(RUNNING),
    dashboard: kept === undefined ? undefined : (JSON.parse(kept) as KeptDashboard | null),
    keep: dashboard => tell({ dashboard }),
  };
}
