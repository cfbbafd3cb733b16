// Room: engine. What a worker is to those who use it: ticks, the daemon, the command line. worker.ts makes one.
// In: nothing. Out: types.
import type { QueuePriority } from '../../store/runs/claim/claim.js';
import type { RunAtWork } from '../execute/crash.js';
import type { Tally } from './outcome-counts.js';

export interface WorkerOptions {
  readonly kind: 'tick' | 'daemon' | 'library' | 'manual';
  /** Most runs at once. Default 10. */
  readonly concurrency?: number | undefined;
  /** Only runs of these queues. Default: all. */
  readonly queues?: readonly string[] | undefined;
  /** Whether a newer version of the jobs is in force: what is new in it is left to those who know it. */
  readonly isSuperseded?: () => boolean;
}

export interface Worker {
  readonly id: string;
  readonly tally: Readonly<Tally>;
  /** How many runs it holds. */
  readonly running: number;
  /** How many more it could take. */
  readonly room: number;
  /** Makes the worker known in `workers`. */
  announce(): Promise<void>;
  /**
   * Claims as many due runs as there is room for and begins to execute them; and goes on claiming by itself as long as
   * there are more. Returns how many at first.
   *
   * @param told a queue and priority in which somebody has just enqueued: it looks only there
   */
  claim(told?: QueuePriority): Promise<number>;
  /** Whether there was more at the last claim: it goes on claiming by itself. */
  readonly isFlowing: boolean;
  /** Claims nothing more; what is claimed already is executed. */
  close(): void;
  /** Claims one named run, if it is due and free. */
  claimOne(runId: string): Promise<boolean>;
  /** Resolves when a run has ended or `wake` is called, also if that was since the last call; or after `ms`. */
  change(ms: number): Promise<void>;
  readonly wake: () => void;
  /** Looks soon whether an operator asked to cancel a run, if this worker holds it. */
  readonly lookAt: (runId: string) => void;
  /** The runs whose handlers are at work. */
  readonly atWork: () => readonly RunAtWork[];
  /**
   * For a process that ends by an error that nothing caught: claims no more, does not wait for handlers, and writes what
   * becomes of all its runs (see model/run/crash.ts). Null: they are given back, and nobody is to blame.
   */
  crash(thrown: unknown): Promise<void>;
  /** Resolves when no run is left. */
  idle(): Promise<void>;
  /**
   * Drains: claims no more, lets runs end for `graceMs`, then aborts their signals, waits the engine's grace,
   * and releases what remains without counting the attempt. Beats until the last outcome is written; where the
   * server takes none, for one more lease.
   */
  stop(graceMs?: number): Promise<void>;
}
