// Says when there are changes to read: one poll for all subscriptions of a process, while any of them waits.
//
//   subscription at 7        feed                                   writer
//   reads: nothing
//   waits for 8              numbers: the last is 7; waits
//                                                                   commits a change; notifies
//                            numbers: the last is 8; wakes those before 8
//   reads: 8
import { isTransient } from '../../../store/connection/errors.js';
import { numberAllChanges, numberChanges } from '../../../store/reads/changes/changes.js';
import { createNotificationLimiter } from '../../claim/notification-limiter.js';
import type { Engine } from '../../engine.js';
import { createWakeup } from '../../worker/wakeup.js';
import type { RunEnds } from '../run-ends.js';

export interface ChangeFeed {
  /**
   * Resolves once there are changes after a position, or `signal` has aborted. Rejects where it cannot know:
   * TOCK_CLOSED, or an error of the database other than that it is away.
   */
  after(position: number, signal: AbortSignal): Promise<void>;
  /** Numbers what has been committed: what a subscription that begins now is not to be given. */
  number(): Promise<void>;
  /** Waits while the database is away: until it can be listened to again, or some milliseconds. */
  pause(ms: number, signal: AbortSignal): Promise<void>;
  /** @throws TockError TOCK_CLOSED once it is closed */
  requireOpen(): void;
}

/** Without a notification: a pooler swallows them, or they are turned off. */
const POLL_MS = 2000;
const FIRST_PAUSE_MS = 100;
const MAX_PAUSE_MS = 30_000;

/** How long to wait after so many failures in a row. */
export const pauseAfter = (failures: number): number =>
  Math.min(FIRST_PAUSE_MS * 2 ** Math.min(failures - 1, 20), MAX_PAUSE_MS);

interface Waiting {
  readonly position: number;
  readonly resolve: () => void;
  readonly reject: (error: unknown) => void;
}

/** @param pollMs for tests */
export function createChangeFeed(engine: Engine, ends: RunEnds, pollMs = POLL_MS): ChangeFeed {
  const waiting = new Set<Waiting>();
  let last = -1;
  let isRunning = false;

  const settle = () => {
    for (const each of waiting)
      if (each.position < last) {
        waiting.delete(each);
        each.resolve();
      }
  };
  const run = async () => {
    const { change, wake } = createWakeup(engine.clock);
    const limiter = createNotificationLimiter(engine.clock, wake);
    const leave = ends.join({ runId: null, changes: true, wake: () => limiter.notified() });
    let failures = 0;
    try {
      while (waiting.size > 0) {
        ends.requireOpen();
        try {
          const before = last;
          last = await numberChanges(engine.database);
          if (last !== before) limiter.found();
          failures = 0;
        } catch (error) {
          if (!isTransient(error)) throw error;
          if (failures++ === 0)
            engine.logger.warn(
              { event: 'changes.delayed', error: String(error) },
              'changes cannot be read now; it is tried again',
            );
        }
        settle();
        if (waiting.size > 0) await change(failures === 0 ? pollMs : pauseAfter(failures));
      }
    } finally {
      limiter.close();
      leave();
    }
  };
  const start = () => {
    if (isRunning) return;
    isRunning = true;
    void run()
      .catch((error: unknown) => {
        const all = [...waiting];
        waiting.clear();
        for (const { reject } of all) reject(error);
      })
      .finally(() => {
        isRunning = false;
        if (waiting.size > 0) start();
      });
  };

  return {
    async after(position, signal) {
      ends.requireOpen();
      if (signal.aborted) return;
      if (position < last) {
        // Once: who reads and finds nothing waits for the next poll, whatever was read before.
        last = -1;
        return;
      }
      let stop: () => void = () => undefined;
      const waited = new Promise<void>((resolve, reject) => {
        const entry: Waiting = { position, resolve, reject };
        stop = () => {
          waiting.delete(entry);
          resolve();
        };
        waiting.add(entry);
      });
      signal.addEventListener('abort', stop, { once: true });
      start();
      await waited.finally(() => signal.removeEventListener('abort', stop));
    },
    async number() {
      last = await numberAllChanges(engine.database);
      settle();
    },
    async pause(ms, signal) {
      const { change, wake } = createWakeup(engine.clock);
      const leave = ends.join({ runId: null, wake });
      const stop = () => wake();
      signal.addEventListener('abort', stop, { once: true });
      await change(ms);
      signal.removeEventListener('abort', stop);
      leave();
    },
    requireOpen: () => ends.requireOpen(),
  };
}
