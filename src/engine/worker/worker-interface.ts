// A worker, as ticks, the daemon and the command line see it. worker.ts opens one.

import type { OutcomeCounts } from '../../model/run/outcome-counts.js';
import type { QueueLane } from '../../store/runs/claim/claim.js';
import type { ClaimedRun } from '../../store/runs/claim/claimed-run.js';
import type { Asked, Expected, Watermarks } from '../claim/watermarks.js';
import type { WakeCause } from './wakeup.js';

export interface WorkerOptions {
  readonly kind: 'tick' | 'daemon' | 'library' | 'manual' | 'relay';
  /** Most runs at once. Default 10. */
  readonly concurrency?: number | undefined;
  /** Only runs of these queues. Default: all that are not relayed. */
  readonly queues?: readonly string[] | undefined;
  /**
   * How often it asks whether runs are to be cancelled. Default: with heartbeats, and after a notification.
   */
  readonly pollMs?: number;
  /**
   * Called when its row in `workers` was gone, with all rows that refer to it, and has been inserted again.
   */
  readonly onRowRestored?: () => void;
  /** Called when a claim has left due runs, because a limit lets no more of them start now. */
  readonly onLeft?: () => void;
}

/** A run whose handler is executing, for a report. */
export interface RunAtWork {
  readonly id: string;
  readonly job: string;
  readonly attempt: number;
  readonly maxAttempts: number;
  readonly isIsolated: boolean;
}

export interface Worker {
  readonly id: string;
  readonly outcomeCounts: Readonly<OutcomeCounts>;
  /** How many runs it holds: prefetched, executing, or with an outcome that is not written. */
  readonly running: number;
  /** How many more runs it may claim now. */
  readonly claimable: number;
  /** Writes the worker's row in `workers`. */
  announce(): Promise<void>;
  /**
   * Where runs are said to be due: in one lane, or anywhere; null: since the last claim nobody has said so.
   */
  readonly asked: Asked;
  /**
   * Runs are due: the next claim looks for them. @param lane where they were just enqueued. Default: anywhere
   */
  ask(lane?: QueueLane): void;
  /**
   * Asks as `ask` does, claims as long as there is room, and starts what it has claimed. While more are due,
   * the worker then goes on claiming by itself. Resolves to how many runs were accepted; a call meanwhile
   * gets the same answer.
   */
  claim(lane?: QueueLane): Promise<number>;
  /** A claim is under way; `claim` would return its promise. */
  readonly isClaiming: boolean;
  /** Whether more may be due, so that the worker goes on claiming as soon as it has room. */
  readonly hasMore: boolean;
  /** Such runs may be claimable: it claims them as soon as there is room. */
  expect(what: Expected): void;
  /** So many daemons claim from the server, itself among them: such claims of all of them share it. */
  sharesWith(daemons: number): void;
  /** Whether fair keys were ever expected. */
  readonly usesFair: boolean;
  /** Where its claims start. */
  readonly watermarks: Watermarks;
  /** Wakes daemons that may be asleep, if it has no room for all that is due. Only a hint: never rejects. */
  leaveRest(): Promise<void>;
  /** Releases those of its prefetched runs for which `shares` is true, without counting the attempt. */
  releasePrefetched(shares: (run: ClaimedRun) => boolean): void;
  /** Claims no more. The runs it holds are executed. */
  close(): void;
  /** Claims no more, and releases runs that have not started, including those of a claim under way. */
  beginStop(): void;
  /** Claims one run by its id, if it is due and free. */
  claimOne(runId: string): Promise<boolean>;
  /** Resolves after `ms`, or when a run ends or `wake` is called; at once if that was since the last call. */
  change(ms: number): Promise<WakeCause>;
  readonly wake: () => void;
  /** As `wake`, if nothing has changed but that runs were enqueued. */
  readonly wakeNotified: () => void;
  /** Checks soon whether an operator has asked to cancel a run, if this worker holds it. */
  readonly checkCancel: (runId: string) => void;
  /** The runs whose handlers are executing. */
  readonly atWork: () => readonly RunAtWork[];
  /**
   * For a process that an uncaught error ends: claims no more, does not wait for handlers, and writes how all
   * its runs end (see model/run/crash.ts). @param thrown null: no run is to blame, and all are released
   */
  crash(thrown: unknown): Promise<void>;
  /** Resolves when no run is left. */
  idle(): Promise<void>;
  /**
   * Drains: claims no more, lets runs end for `graceMs`, then aborts their signals, waits the engine's grace,
   * and releases the rest without counting the attempt. Renews leases until the last outcome is written, for
   * at most one more lease if the server accepts none.
   */
  stop(graceMs?: number): Promise<void>;
}
