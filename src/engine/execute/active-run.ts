// Room: engine. A run while this process holds its lease: what execute, heartbeat and finalize share about it.
import { performance } from 'node:perf_hooks';
import type { ClaimedRun } from '../../store/runs/claim/claimed-run.js';
import { createInterrupt, type Interrupt } from './abort.js';

/** How far a handler is, as it told last; `events`: how often it has told. */
export interface Progress {
  readonly fraction: number;
  readonly stage: string | null;
  readonly events: number;
}

export interface ActiveRun {
  readonly run: ClaimedRun;
  readonly interrupt: Interrupt;
  /** When the lease was last known to be renewed, by performance.now() taken before the statement was sent. */
  renewedAt: number;
  /** When its handler's turn came, by performance.now(); null while it waits for that. */
  begunAt: number | null;
  /** It is executed in a child process. */
  isIsolated: boolean;
  /** The lease is lost: nothing of this attempt may be written. */
  isLost: boolean;
  /** Past its timeout: its lease is renewed no more. */
  isTimedOut: boolean;
  cancelRequested: boolean;
  /** The attempt has ended and its outcome is on its way. */
  isFinalizing: boolean;
  /** The handler's own transaction has committed the success. */
  isSettled: boolean;
  /** Progress that is not yet written. */
  progress: Progress | null;
  /** How often the handler has told of progress. */
  progressEvents: number;
}

export function activeRun(run: ClaimedRun, claimedAt: number): ActiveRun {
  return {
    run,
    interrupt: createInterrupt(),
    renewedAt: claimedAt,
    begunAt: null,
    isIsolated: false,
    isLost: false,
    isTimedOut: false,
    cancelRequested: false,
    isFinalizing: false,
    isSettled: false,
    progress: null,
    progressEvents: 0,
  };
}

/** Whether its lease still lasts, by our own clock. */
export function isHeld({ isLost, renewedAt }: ActiveRun, leaseMs: number): boolean {
  return !isLost && performance.now() - renewedAt < leaseMs;
}
