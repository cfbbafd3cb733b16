// The daemon: the same rooms as a tick, for as long as the process lives.
// In: an engine. Out: a running daemon that can be stopped. node-cron gives the minute's beat, LISTEN the
// immediate wake-up, and a timer the exact second of what is due next.
import { performance } from 'node:perf_hooks';
import cron from 'node-cron';
import type { Engine } from './engine/engine.js';
import { startListener } from './engine/listen.js';
import { materialize } from './engine/materialize.js';
import { reap } from './engine/reap.js';
import { register } from './engine/register.js';
import type { Tally } from './engine/tally.js';
import { openWorker } from './engine/worker.js';
import { isConnectionFailure } from './store/database-errors.js';
import { readNextDue } from './store/next-due.js';

export interface StartOptions {
  /** Most runs at once. Default 10. */
  readonly concurrency?: number | undefined;
  /** Only runs of these queues. Default: all. */
  readonly queues?: readonly string[] | undefined;
  /** Whether to be woken by NOTIFY. Default true. Without it, new runs are found by polling every second. */
  readonly listen?: boolean;
}

export interface Daemon {
  readonly id: string;
  readonly tally: Readonly<Tally>;
  /** Drains and stops; see `Worker.stop`. */
  stop(): Promise<void>;
}

const REAP_EVERY_MS = 5000;
const FIRST_HURRY_MS = 5;
const POLL_LISTENING_MS = 5000;
const POLL_MS = 1000;
const LONGEST_PAUSE_MS = 15_000;

/** Starts the daemon. It goes on through a lost database: it says so once, and again when it is back. */
export async function startDaemon(engine: Engine, options: StartOptions = {}): Promise<Daemon> {
  const worker = openWorker(engine, { kind: 'daemon', ...options });
  await register(engine);
  await worker.announce();
  const pollMs = options.listen === false ? POLL_MS : POLL_LISTENING_MS;
  let isStopping = false;
  let isAway = false;
  let registerDue = false;
  let reapDueAt = 0;
  let materializeDueAt = 0;
  let hurryMs = FIRST_HURRY_MS;

  const beat = cron.schedule(
    '* * * * *',
    () => {
      registerDue = true;
      materializeDueAt = 0;
      worker.wake();
    },
    { noOverlap: true },
  );
  const listener =
    options.listen === false
      ? null
      : startListener(engine, payload => {
          const cancelled = /^cancel:(\d+)$/.exec(payload)?.[1];
          if (cancelled === undefined) worker.wake();
          else worker.cancel(cancelled);
        });

  /** One pass through the rooms that are due. Returns how long nothing will be due. */
  const pass = async (): Promise<number> => {
    if (registerDue) await register(engine);
    registerDue = false;
    if (performance.now() >= reapDueAt) {
      await reap(engine);
      reapDueAt = performance.now() + REAP_EVERY_MS;
    }
    if (performance.now() >= materializeDueAt) await materialize(engine);
    const claimed = await worker.claim();
    // It goes on by itself, and makes itself known when there is no more.
    if (worker.isFlowing) return pollMs;
    const due = await readNextDue(engine.database, options.queues ?? null);
    const occurrenceMs = Math.min(due.occurrenceMs ?? pollMs, pollMs);
    materializeDueAt = performance.now() + occurrenceMs;
    // Due, and not claimed though there was room: another claim had it in hand. Looked at again, less and less often.
    hurryMs = claimed > 0 || !due.isOverdue ? FIRST_HURRY_MS : Math.min(hurryMs * 2, pollMs);
    const againMs = due.isOverdue && worker.room > 0 ? hurryMs : pollMs;
    return Math.min(occurrenceMs, due.runMs ?? pollMs, againMs, pollMs);
  };

  const live = async () => {
    let pause = 250;
    while (!isStopping) {
      try {
        const wait = await pass();
        if (isAway) engine.logger.info({ event: 'database.back' }, 'the database is back');
        isAway = false;
        pause = 250;
        if (!isStopping) await worker.change(Math.max(1, Math.ceil(wait)));
      } catch (error) {
        const log = isConnectionFailure(error) ? 'warn' : 'error';
        if (!isAway)
          engine.logger[log](
            { event: 'database.away', error: String(error) },
            `cannot work with the database, trying again: ${String(error)}`,
          );
        isAway = true;
        await worker.change(pause);
        pause = Math.min(pause * 2, LONGEST_PAUSE_MS);
      }
    }
  };
  const living = live();

  return {
    id: worker.id,
    tally: worker.tally,
    async stop() {
      if (isStopping) return await living;
      isStopping = true;
      await beat.destroy();
      listener?.stop();
      worker.wake();
      await living;
      await worker.stop(engine.settings.drainMs);
    },
  };
}
