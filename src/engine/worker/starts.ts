// What a worker starts next: prefetched runs, and batches whose runs it has gathered, by turns.
import type { Ending } from '../../model/run/decide.js';
import { createPrefetchBuffer, type PrefetchBuffer } from '../claim/prefetch-buffer.js';
import type { Engine } from '../engine.js';
import type { ActiveRun } from '../execute/active-run.js';
import { NOT_STARTED } from '../execute/endings.js';
import { createExecutor, type Executor } from '../execute/executor.js';
import { notifyStart } from '../finalize/hooks.js';
import { type Batches, openBatches } from './gather/batches.js';

/** Prefetched runs that wait for longer, because handlers have become slow, are released to other workers. */
const MAX_PREFETCHED_MS = 300;

export interface StartsOptions {
  readonly workerId: string;
  /** The most handlers at once. */
  readonly capacity: number;
  /** Whether claims may bring more runs. */
  readonly mayMore: () => boolean;
  /** The attempt of a run has ended. */
  readonly onEnd: (active: ActiveRun, ending: Ending | null) => void;
  /** A run cannot start. */
  readonly onLeft: (active: ActiveRun, ending: Ending | null) => void;
  /** A handler has ended; its place is free, and its outcome is on its way. */
  readonly onFree: () => void;
  /** What was prefetched waits for too long. */
  readonly onStalled: () => void;
}

export class Starts {
  /** How many handlers have not ended. */
  executing = 0;
  /** Null: no job has `batch`. */
  readonly batches: Batches | null;
  private readonly engine: Engine;
  private readonly options: StartsOptions;
  private readonly executor: Executor;
  private readonly prefetchBuffer: PrefetchBuffer<ActiveRun>;
  private isBatchsTurn = false;

  constructor(engine: Engine, options: StartsOptions) {
    const { workerId, mayMore, onEnd, onLeft, onStalled } = options;
    this.engine = engine;
    this.options = options;
    this.executor = createExecutor(engine, workerId);
    this.prefetchBuffer = createPrefetchBuffer<ActiveRun>(engine.clock, MAX_PREFETCHED_MS, () => {
      onStalled();
      this.release();
    });
    this.batches = openBatches(engine, {
      workerId,
      load: this.executor.load,
      mayMore,
      onReady: () => this.next(),
      onStart: active => this.begin(active),
      onEnd,
      onLeft,
      onReturned: () => {
        this.executing--;
      },
      onOver: () => this.options.onFree(),
      onStalled,
    });
  }

  get prefetched(): number {
    return this.prefetchBuffer.length;
  }

  /** How many runs have a place: they execute, with the others of their batch, or wait for it. */
  get unfinished(): number {
    return this.executing + this.prefetched + (this.batches?.besides ?? 0);
  }

  add(active: ActiveRun): void {
    if (this.batches?.take(active) !== true) this.prefetchBuffer.push(active);
  }

  /** Starts as much as there is room for. */
  next(): void {
    // By turns: neither batches nor runs that go by themselves keep the others waiting.
    while (this.executing < this.options.capacity) {
      this.isBatchsTurn = !this.isBatchsTurn;
      const hasStarted = this.isBatchsTurn
        ? this.startBatch() || this.startRun()
        : this.startRun() || this.startBatch();
      if (!hasStarted) break;
    }
  }

  /** Releases prefetched runs. @param which default: all */
  release(which: (active: ActiveRun) => boolean = () => true): void {
    for (const active of this.prefetchBuffer.drain())
      if (which(active)) this.options.onLeft(active, NOT_STARTED);
      else this.prefetchBuffer.push(active);
  }

  /** Releases all that has not started, and what will still be added to batches. */
  stop(): void {
    this.release();
    this.batches?.stop();
  }

  private startBatch(): boolean {
    if (this.batches?.startNext() !== true) return false;
    this.executing++;
    return true;
  }

  private startRun(): boolean {
    const active = this.prefetchBuffer.shift();
    if (active === undefined) return false;
    this.executing++;
    this.begin(active);
    this.executor.execute(active, ending => {
      // A crash of the process has ended the attempt before.
      if (active.isFinalizing) return;
      // First, because the outcome may pass its slot on to a run that takes the place.
      this.executing--;
      this.options.onEnd(active, ending);
      this.options.onFree();
    });
    return true;
  }

  private begin(active: ActiveRun): void {
    active.startedAt = this.engine.clock.now();
    notifyStart(this.engine, active.run);
  }
}
