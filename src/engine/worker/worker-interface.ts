// A worker as ticks, the daemon and the command line see it; worker.ts opens one.

import type { OutcomeCounts } from '../../model/run/outcome-counts.js';
import type { QueueLane } from '../../store/runs/claim/claim.js';
import type { Watermark } from '../../store/runs/claim/queue-lanes.js';
import type { Lowered } from '../claim/watermarks.js';
import type { WakeCause } from './wakeup.js';

export interface WorkerOptions {
  readonly kind: 'tick' | 'daemon' | 'library' | 'manual' | 'relay';
  /** Most runs at once. Default 10. */
  readonly concurrency?: number | undefined;
  /** Only runs of these queues. Default: all that are not relayed. */
  readonly queues?: readonly string[] | undefined;
  /** So often it asks whether runs are to be cancelled. Default: with heartbeats, and after a notification. */
  readonly pollMs?: number;
  /** Whether it is notified of each run that is enqueued. Default false: it polls. */
  readonly isNotified?: boolean;
  /** Called when its row in `workers` was gone, and with it all that refers to it, and is there again. */
  readonly onRowRestored?: () => void;
}

/** As a report names it. */
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
   * Claims due runs as long as there is room and starts them. While there are more, it then goes on claiming.
   * Returns how many runs this call accepted.
   * @param hint a queue and priority in which a run was just enqueued: claims only there
   */
  claim(hint?: QueueLane): Promise<number>;
  /** A claim is under way: `claim` would return that one. */
  readonly isClaiming: boolean;
  /** Whether there was more at the last claim, so that it goes on claiming. */
  readonly hasMore: boolean;
  /** Runs may wait for this code, which other workers do not have: claims them as soon as there is room. */
  expectWaiting(): void;
  /** From where its claims start; elsewhere: at the beginning. */
  readonly watermarks: readonly Watermark[];
  /** Runs have become claimable there: its next claim starts no later. */
  lowerWatermarks(places: readonly Lowered[]): void;
  /** Claims no more. The runs it holds are executed. */
  close(): void;
  /** Claims no more, and releases runs that have not started, including those of a claim under way. */
  beginStop(): void;
  /** Claims one run by its id, if it is due and free. */
  claimOne(runId: string): Promise<boolean>;
  /** Resolves after `ms`, or when a run ends or `wake` is called, even if that was since the last call. */
  change(ms: number): Promise<WakeCause>;
  readonly wake: () => void;
  /** As `wake`, where all that has changed is that runs were enqueued. */
  readonly wakeNotified: () => void;
  /** Soon checks whether an operator asked to cancel a run, if this worker holds it. */
  readonly checkCancel: (runId: string) => void;
  /** The runs whose handlers are executing. */
  readonly atWork: () => readonly RunAtWork[];
  /**
   * For a process that an uncaught error ends: claims no more, does not wait for handlers, and writes how all
   * its runs end (see model/run/crash.ts). Null: they are released, and none is to blame.
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
