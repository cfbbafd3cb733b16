// Executes the attempts of a batch: one call of the handler, and an ending for each of its runs.

import { lossCount } from '../../../environment/output.js';
import type { Timer } from '../../../model/clock.js';
import { parseDuration } from '../../../model/duration.js';
import type { AnyJob } from '../../../model/job/job.js';
import type { Ending } from '../../../model/run/decide.js';
import type { Engine } from '../../engine.js';
import { abort, createInterrupt, onAbort } from '../abort.js';
import type { ActiveRun } from '../active-run.js';
import { endingBefore, endingOf, MAX_TIMEOUT_MS, timeoutReason } from '../endings.js';
import { keepLosses } from '../run-logger.js';
import { BatchCall, type Member } from './call-batch.js';

export interface BatchEnds {
  /** The handler has ended. Its outcomes follow. */
  readonly onReturned: () => void;
  /** How the attempt of one run ended; null if its lease was lost and nothing may be written. */
  readonly onEnd: (active: ActiveRun, ending: Ending | null) => void;
  /** All have ended. */
  readonly onOver: () => void;
}

/**
 * Executes the handler of a batch, and later calls `onReturned`, `onEnd` once for each run, and
 * `onOver`. Never throws. Runs that are late, outside their hours, cancelled meanwhile, or whose lease is too
 * old do not reach the handler.
 *
 * The handler's signal aborts on timeout, and once the signal of every run has aborted (cancel, drain, lost
 * lease). From then on it has `graceMs` to stop, as the handler of a single run has.
 */
export function executeBatch(
  engine: Engine,
  workerId: string,
  job: AnyJob,
  members: readonly Member[],
  ends: BatchEnds,
): void {
  const early: [ActiveRun, Ending | null][] = [];
  const called: Member[] = [];
  for (const member of members) {
    const ending = endingBeforeCall(engine, member.active);
    if (ending === undefined) called.push(member);
    else early.push([member.active, ending]);
  }
  // Deferred, because `onEnd` may start the next run.
  queueMicrotask(() => {
    if (called.length === 0) ends.onReturned();
    for (const [active, ending] of early) ends.onEnd(active, ending);
    if (called.length === 0) ends.onOver();
  });
  if (called.length > 0) callTogether(engine, workerId, job, called, ends);
}

function callTogether(
  engine: Engine,
  workerId: string,
  job: AnyJob,
  members: readonly Member[],
  { onReturned, onEnd, onOver }: BatchEnds,
): void {
  const { clock } = engine;
  const actives = members.map(({ active }) => active);
  const batch = new BatchCall(engine, workerId, members);
  const interrupt = createInterrupt();
  const losses = lossCount();
  let timeout: Timer | undefined;
  let grace: Timer | undefined;
  let isOver = false;

  const finish = (thrown: { readonly error: unknown } | null) => {
    if (isOver) return;
    isOver = true;
    clock.clear(timeout);
    clock.clear(grace);
    batch.close();
    onAbort(interrupt, null);
    onReturned();
    for (const active of actives) {
      onAbort(active.interrupt, null);
      keepLosses(engine, active, losses);
      onEnd(active, batch.endingFor(active, thrown));
    }
    onOver();
  };
  if (job.timeout !== undefined) {
    const timeoutMs = parseDuration(job.timeout);
    const end = () => {
      for (const active of actives) {
        active.isTimedOut = true;
        abort(active.interrupt, timeoutReason(timeoutMs));
      }
    };
    timeout = clock.setTimeout(end, Math.min(timeoutMs, MAX_TIMEOUT_MS));
  }
  const abortIfAll = ({ interrupt: { reason } }: ActiveRun) => {
    if (actives.every(active => active.interrupt.isAborted)) abort(interrupt, reason);
  };
  onAbort(interrupt, () => {
    grace = clock.setTimeout(() => finish({ error: interrupt.reason }), engine.settings.graceMs);
  });
  for (const active of actives) onAbort(active.interrupt, () => abortIfAll(active));
  const span = traceBatch(engine, workerId, job, actives);
  const call = async () => await batch.call(job, interrupt);
  (span === null ? call() : span.around(call)).then(
    () => finish(null),
    (error: unknown) => finish({ error }),
  );
}

function traceBatch({ tracing }: Engine, workerId: string, job: AnyJob, actives: readonly ActiveRun[]) {
  const [first, ...others] = actives;
  if (!tracing || first === undefined) return null;
  const spans =
    others.length === 0
      ? [tracing.attempt(first.run, job, workerId)]
      : tracing.batch(
          actives.map(({ run }) => run),
          job,
          workerId,
        );
  for (const [index, active] of actives.entries()) active.span = spans[index] ?? null;
  return first.span;
}

function endingBeforeCall(engine: Engine, active: ActiveRun): Ending | null | undefined {
  try {
    return endingBefore(engine, active);
  } catch (error) {
    return endingOf(active, error);
  }
}
