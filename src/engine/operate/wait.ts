// Waits until a run has ended, and executes it if it is asked to.
import { TockError } from '../../model/errors.js';
import type { RunRecord } from '../../model/run/run-record.js';
import { isFinished } from '../../model/run/states.js';
import { isConnectionFailure } from '../../store/connection/errors.js';
import { type PendingRun, pendingText } from '../../store/reads/runs/successors.js';
import { awaitEnd } from '../../store/runs/await-end.js';
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

/** How often it looks without being woken: at first, and at least. In between after a tenth of the wait. */
const LOOK_EVERY_MS = 250;
const LOOK_AT_LEAST_EVERY_MS = 5000;

/** How long to wait for a notification after having waited for so long. */
export const lookAgainMs = (waitedMs: number): number =>
  Math.min(Math.max(waitedMs / 10, LOOK_EVERY_MS), LOOK_AT_LEAST_EVERY_MS);

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

/** Where it may not ask to be notified, as for a missing right, it looks. */
function unlessUnreachable(error: unknown): void {
  if (isConnectionFailure(error)) throw error;
}

/**
 * Waits until a run has ended, with its retries. A notification says so; it also looks by itself, since there may
 * be none. Ends at once when `signal` aborts, whatever it waits for.
 * @param lookAgain for tests
 * @throws TockError TOCK_NOT_FOUND; TOCK_BAD_STATE when `signal` aborts; TOCK_CLOSED
 */
export async function waitForEnd(
  engine: Engine,
  ends: RunEnds,
  id: string,
  { onChange, signal }: Omit<WaitOptions, 'execute'> = {},
  lookAgain: (waitedMs: number) => number = lookAgainMs,
): Promise<RunRecord> {
  const { change, wake } = createWakeup();
  const wait: Wait = { runId: null, wake: () => wake() };
  let last: RunRecord | PendingRun | null = null;
  /** Of what it is notified: a run, and which of its ends. */
  let awaited = '';

  const look = async (): Promise<RunRecord> => {
    const startedAt = performance.now();
    for (;;) {
      ends.requireOpen();
      if (signal?.aborted && last !== null) throw stoppedWaiting(id, last, signal);
      const run = await findRunOrPending(engine, id);
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
        await change(lookAgain(performance.now() - startedAt));
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
  signal?.addEventListener('abort', stop, { once: true });
  try {
    return await Promise.race([look(), stopped]);
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
  signal?.addEventListener('abort', worker.wake);
  try {
    for (;;) {
      const run = await findRunOrPending(engine, id);
      if (!isPending(run)) {
        onChange?.(run);
        if (isFinished(run.status)) return run;
      }
      if (signal?.aborted) throw stoppedWaiting(id, run, signal);
      if (worker.running === 0 && !isPending(run) && run.status !== 'running') await worker.claimOne(id);
      await worker.change(LOOK_EVERY_MS);
    }
  } finally {
    signal?.removeEventListener('abort', worker.wake);
    await worker.stop();
  }
}
