// Waits until a run has ended, and executes it if it is asked to.
import { manyMayListen } from '../../environment/many-listeners.js';
import { TockError } from '../../model/errors.js';
import type { RunRecord } from '../../model/run/run-record.js';
import { isFinished } from '../../model/run/states.js';
import { isConnectionFailure } from '../../store/connection/errors.js';
import { type PendingRun, pendingText } from '../../store/reads/runs/successors.js';
import { awaitEnd } from '../../store/runs/waits/await-end.js';
import { requireOriginal } from '../../store/schema/database-identity.js';
import type { Engine } from '../engine.js';
import { createWakeup } from '../worker/wakeup.js';
import { openWorker } from '../worker/worker.js';
import type { RunEnds, Wait } from './run-ends.js';
import { findRunOrPending, isPending } from './runs.js';

/** Options of `runs.wait`. */
export interface WaitOptions {
  /**
   * Executes the run here, with its retries, unless another worker claims it first. Then the wait ends no
   * sooner than its handler. Default false.
   */
  readonly execute?: boolean;
  /** Called with the run each time it is read. */
  readonly onChange?: (run: RunRecord) => void;
  /** Ends the wait, and not the run; such as `AbortSignal.timeout(5000)`. */
  readonly signal?: AbortSignal;
}

/**
 * How often a wait polls: at first, and at least. In between, after a tenth of the time that it has waited.
 */
const POLL_EVERY_MS = 250;
const POLL_AT_LEAST_EVERY_MS = 5000;

/** How long to wait for a notification before the next poll, after having waited for so long. */
export const nextPollMs = (waitedMs: number): number =>
  Math.min(Math.max(waitedMs / 10, POLL_EVERY_MS), POLL_AT_LEAST_EVERY_MS);

function stoppedWaiting(id: string, run: RunRecord | PendingRun | null, signal: AbortSignal): TockError {
  const next =
    run !== null && !isPending(run) && run.status === 'failed'
      ? `, its next attempt is due ${run.runAt.toISOString()}`
      : '';
  const what =
    run === null
      ? `nothing is known of run ${id} yet`
      : isPending(run)
        ? pendingText(run)
        : `run ${run.id} is ${run.status}${next}`;
  return new TockError('TOCK_BAD_STATE', `stopped waiting; ${what}`, { cause: signal.reason });
}

/** A wait that may not ask to be notified, as for a missing right, only polls. */
function unlessUnreachable(error: unknown): void {
  if (isConnectionFailure(error)) throw error;
}

/**
 * Waits until a run has ended, with its retries. A notification wakes the wait. The wait also polls, since no
 * notification may come. It ends at once when `signal` aborts.
 * @param pollAfter for tests
 * @throws TockError TOCK_NOT_FOUND; TOCK_BAD_STATE when `signal` aborts; TOCK_CLOSED
 */
export async function waitForEnd(
  engine: Engine,
  ends: RunEnds,
  id: string,
  { onChange, signal }: Omit<WaitOptions, 'execute'> = {},
  pollAfter: (waitedMs: number) => number = nextPollMs,
): Promise<RunRecord> {
  const { change, wake } = createWakeup(engine.clock);
  const wait: Wait = { runId: null, wake: () => wake() };
  let last: RunRecord | PendingRun | null = null;
  /** Which end of which run sends a notification. */
  let awaited = '';

  const poll = async (): Promise<RunRecord> => {
    const startedAt = engine.clock.now();
    for (;;) {
      ends.requireOpen();
      if (signal?.aborted && last !== null) throw stoppedWaiting(id, last, signal);
      const run = await findRunOrPending(engine.database, id);
      last = run;
      if (!isPending(run)) {
        onChange?.(run);
        if (isFinished(run.status)) return run;
      }
      if (signal?.aborted) throw stoppedWaiting(id, run, signal);
      // A successor becomes a run when the one has ended that it follows.
      const runId = isPending(run) ? run.follows : run.id;
      const next = isPending(run) ? runId : `${runId}/${run.generation}`;
      if (awaited === next) {
        await change(pollAfter(engine.clock.now() - startedAt));
        continue;
      }
      awaited = next;
      wait.runId = runId;
      await awaitEnd(engine.database, runId).catch(unlessUnreachable);
    }
  };
  const leave = ends.join(wait);
  let stop: () => void = () => undefined;
  const stopped = new Promise<never>((_, reject) => {
    stop = () => {
      if (signal) reject(stoppedWaiting(id, last, signal));
      wake();
    };
  });
  if (signal) manyMayListen(signal).addEventListener('abort', stop, { once: true });
  try {
    return await Promise.race([poll(), stopped]);
  } finally {
    signal?.removeEventListener('abort', stop);
    leave();
  }
}

/**
 * Waits until a run has ended, with its retries; executes it here if no other process claims it.
 * @throws TockError TOCK_NOT_FOUND; TOCK_BAD_STATE when `signal` has aborted and its handler has ended
 */
export async function executeOrWait(
  engine: Engine,
  id: string,
  { onChange, signal }: Omit<WaitOptions, 'execute'> = {},
): Promise<RunRecord> {
  await requireOriginal(engine.database);
  const worker = openWorker(engine, { kind: 'manual', concurrency: 1 });
  if (signal) manyMayListen(signal).addEventListener('abort', worker.wake);
  try {
    for (;;) {
      const run = await findRunOrPending(engine.database, id);
      if (!isPending(run)) {
        onChange?.(run);
        if (isFinished(run.status)) return run;
      }
      if (signal?.aborted) throw stoppedWaiting(id, run, signal);
      if (worker.running === 0 && !isPending(run) && run.status !== 'running') await worker.claimOne(id);
      await worker.change(POLL_EVERY_MS);
    }
  } finally {
    signal?.removeEventListener('abort', worker.wake);
    await worker.stop();
  }
}
