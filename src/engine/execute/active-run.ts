// A run while this process holds its lease: the state that execute, heartbeat and finalize share.
import { TockError } from '../../model/errors.js';
import type { HandOff } from '../../model/job/hand-off.js';
import { SUSPECTS } from '../../model/run/limits.js';
import type { RunLog } from '../../model/run/log/run-log.js';
import type { Suspension } from '../../model/run/snooze.js';
import type { ClaimedRun } from '../../store/runs/claim/claimed-run.js';
import type { AttemptSpan } from '../tracing/tracing.js';
import { createInterrupt, type Interrupt } from './abort.js';

/** What a handler reported last; `events`: how often it has reported in this attempt. */
export interface Progress {
  readonly fraction: number;
  readonly stage: string | null;
  readonly events: number;
}

export interface ActiveRun {
  /** Its payload, if it is large, is there only while it executes. */
  run: ClaimedRun;
  readonly interrupt: Interrupt;
  /** When the statement that last renewed the lease was sent, by the engine's clock. */
  renewedAt: number;
  /** When the attempt started, by the engine's clock; null while the run is prefetched. */
  startedAt: number | null;
  isIsolated: boolean;
  /** How many runs its handler was called with; 0: it is no handler of batches, or was not called. */
  batchSize: number;
  /** The lease is lost: nothing of this attempt may be written. */
  isLost: boolean;
  /** Past its timeout: its lease is no longer renewed. */
  isTimedOut: boolean;
  cancelRequested: boolean;
  /** The attempt has ended, and its outcome is not written yet. */
  isFinalizing: boolean;
  /** The handler's own transaction has committed the success. */
  isCommitted: boolean;
  /** What its handler got from ctx.handOff, and must return; null: nothing. */
  handOff: HandOff | null;
  /** The wait for which its handler is to end; null: none. */
  suspension: Suspension | null;
  /** Steps and effects of its handler that are at work. */
  openEffects: number;
  /** Progress that is not written yet. */
  progress: Progress | null;
  progressEvents: number;
  /** Cursors that are not written yet, by their keys; null: none. */
  cursors: Map<string, string> | null;
  /** The lines that its handler has logged; null: none. */
  log: RunLog | null;
  /** The span of the attempt, once its handler is called; null: not traced. */
  span: AttemptSpan | null;
}

export function activeRun(run: ClaimedRun, claimedAt: number): ActiveRun {
  return {
    run,
    interrupt: createInterrupt(),
    renewedAt: claimedAt,
    startedAt: null,
    isIsolated: false,
    batchSize: 0,
    isLost: false,
    isTimedOut: false,
    cancelRequested: false,
    isFinalizing: false,
    isCommitted: false,
    handOff: null,
    suspension: null,
    openEffects: 0,
    progress: null,
    progressEvents: 0,
    cursors: null,
    log: null,
    span: null,
  };
}

/** Whether the lease still lasts, by our own clock. */
export function isHeld({ isLost, renewedAt }: ActiveRun, leaseMs: number, now: number): boolean {
  return !isLost && now - renewedAt < leaseMs;
}

/** A handler begins only within so much of a lease, so that the first renewal comes in time. */
const BEGINS_WITHIN = 0.9;

/**
 * Whether a handler may begin, by our own clock. The answer to a claim may come after the lease is over, when
 * others execute the run, or hold its slot.
 */
export const mayBegin = (active: ActiveRun, leaseMs: number, now: number) =>
  isHeld(active, BEGINS_WITHIN * leaseMs, now);

/** Whether a run may have ended a process before. Then it gets its own process, if isolation is possible. */
export const isSuspect = ({ run }: ActiveRun) => run.slot_keys?.includes(SUSPECTS.key) === true;

export function leaseLost({ run }: Pick<ActiveRun, 'run'>): TockError {
  return new TockError(
    'TOCK_LEASE_LOST',
    `the lease of run ${run.id} is lost: another worker may have taken it; nothing of this attempt is kept`,
  );
}
