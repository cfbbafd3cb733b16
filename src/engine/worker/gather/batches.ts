// The batches of a worker: those that gather, and those whose handler is executing. The handler of a batch
// takes one place of the worker's concurrency, however many runs it has.
import type { Ending } from '../../../model/run/decide.js';
import type { Engine } from '../../engine.js';
import type { ActiveRun } from '../../execute/active-run.js';
import { executeBatch } from '../../execute/batch/execute-batch.js';
import { Gathering, type GatheringOptions } from './gathering.js';

export interface BatchesOptions extends GatheringOptions {
  readonly workerId: string;
  /** A handler has ended: its place is free, and its outcomes follow. */
  readonly onReturned: () => void;
  /** The attempt of a run begins. */
  readonly onStart: (active: ActiveRun) => void;
  /** The attempt of a run has ended. */
  readonly onEnd: (active: ActiveRun, ending: Ending | null) => void;
  /** All attempts of a batch have ended. */
  readonly onOver: () => void;
}

/** Null where no job has `batch`, or a relay calls no handlers. */
export function openBatches(engine: Engine, options: BatchesOptions): Batches | null {
  const isUsed = [...engine.registry.jobs.values()].some(({ batch }) => batch !== undefined);
  return isUsed && engine.relay === undefined ? new Batches(engine, options) : null;
}

export class Batches {
  private readonly engine: Engine;
  private readonly options: BatchesOptions;
  private readonly gathering: Gathering;
  /** How many runs execute beside the first of their batch. */
  private joined = 0;

  constructor(engine: Engine, options: BatchesOptions) {
    this.engine = engine;
    this.options = options;
    this.gathering = new Gathering(engine, options);
  }

  /** How many runs gather, or are ready. */
  get held(): number {
    return this.gathering.held;
  }

  /** How many runs take no place of their own: they gather, are ready, or execute beside the first. */
  get besides(): number {
    return this.held + this.joined;
  }

  /** See {@link Gathering.wanted}. */
  wanted(places: number): number {
    return this.gathering.wanted(places);
  }

  /** See {@link Gathering.take}. */
  take(active: ActiveRun): boolean {
    return this.gathering.take(active);
  }

  /** See {@link Gathering.settle}. */
  settle(): void {
    this.gathering.settle();
  }

  /** Calls the handler of the next ready batch, if there is one. */
  startNext(): boolean {
    const batch = this.gathering.shift();
    if (batch === undefined) return false;
    const { job, members } = batch;
    const unload = new Map(members.map(member => [member.active, member.unload]));
    const actives = [...unload.keys()];
    this.joined += actives.length - 1;
    for (const active of actives) this.options.onStart(active);
    executeBatch(this.engine, this.options.workerId, job, members, {
      onReturned: () => {
        this.joined -= actives.length - 1;
        this.options.onReturned();
      },
      onEnd: (active, ending) => {
        unload.get(active)?.();
        // A crash of the process may have ended the attempt before.
        if (!active.isFinalizing) this.options.onEnd(active, ending);
      },
      onOver: this.options.onOver,
    });
    return true;
  }

  /** See {@link Gathering.stop}. */
  stop(): void {
    this.gathering.stop();
  }
}
