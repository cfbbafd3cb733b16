// The batches of a worker: those whose runs gather, and those whose handler is executing. Claims know nothing
// of it. The handler of a batch takes one place of the worker's concurrency, however many runs it has.
//
//   take → (read if large; ask about if tried before) → its batch, with others of the same job and key
//   → ready, once full, or `within` is over, or no more will come → startNext, once a handler may be called
import type { Timer } from '../../model/clock.js';
import { type Batch, batchKey, batchLimit, readBatch } from '../../model/job/batch/batch-option.js';
import type { AnyJob } from '../../model/job/job.js';
import { knownJob } from '../../model/job/registry.js';
import type { Ending } from '../../model/run/decide.js';
import { jobLimits } from '../../model/run/limits.js';
import { readLostBefore } from '../../store/runs/leases.js';
import type { Engine } from '../engine.js';
import { type ActiveRun, isSuspect } from '../execute/active-run.js';
import type { Member } from '../execute/batch/call-batch.js';
import { executeBatch } from '../execute/batch/execute-batch.js';
import { readPayload } from '../execute/call-handler.js';
import { NOT_STARTED } from '../execute/endings.js';
import type { Executor } from '../execute/execute.js';

export interface BatchesOptions {
  readonly workerId: string;
  readonly load: Executor['load'];
  /** Whether claims may bring more runs. Otherwise no batch waits for any. */
  readonly mayMore: () => boolean;
  /** A batch is ready, and wants to be called. */
  readonly onReady: () => void;
  /** A run cannot be called. */
  readonly onLeft: (active: ActiveRun, ending: Ending | null) => void;
  /** A batch was ready for {@link MAX_READY_MS}, and its runs are given back. */
  readonly onStalled: () => void;
  /** The attempt of a run begins. */
  readonly onStart: (active: ActiveRun) => void;
  /** A handler has ended: its place is free, and its outcomes follow. */
  readonly onReturned: () => void;
  /** The attempt of a run has ended. */
  readonly onEnd: (active: ActiveRun, ending: Ending | null) => void;
  /** All attempts of a batch have ended. */
  readonly onOver: () => void;
}

interface Gathered extends Member {
  /** Gives up the memory of its payload, if that is large. */
  readonly unload: () => void;
}

/** A batch that gathers, or is ready. */
interface OpenBatch {
  readonly job: AnyJob;
  readonly members: Gathered[];
  readonly limit: number;
  timer: Timer | undefined;
}

/** Ready batches that wait for longer, because handlers have become slow, are released to other workers. */
const MAX_READY_MS = 300;
const nothing = () => undefined;

/** Null where no job has `batch`, or a relay calls no handlers. */
export function openBatches(engine: Engine, options: BatchesOptions): Batches | null {
  const isUsed = [...engine.registry.jobs.values()].some(({ batch }) => batch !== undefined);
  return isUsed && engine.relay === undefined ? new Batches(engine, options) : null;
}

export class Batches {
  private readonly engine: Engine;
  private readonly options: BatchesOptions;
  private readonly batchOf = new Map<AnyJob, Batch | null>();
  /** Those that gather, by job, limit and key; the oldest first. */
  private readonly open = new Map<string, OpenBatch>();
  private ready: OpenBatch[] = [];
  /** Runs whose payload is being read, or that are being asked about. */
  private readonly preparing = new Set<ActiveRun>();
  private asking: { readonly ids: string[]; readonly lost: Promise<ReadonlySet<string>> } | null = null;
  private isStopped = false;
  /** How many runs gather, or are ready. */
  held = 0;
  /** How many runs execute beside the first of their batch. */
  private joined = 0;

  constructor(engine: Engine, options: BatchesOptions) {
    this.engine = engine;
    this.options = options;
  }

  /** How many runs take no place of their own: they gather, are ready, or execute beside the first. */
  get besides(): number {
    return this.held + this.joined;
  }

  /**
   * Takes a run whose job has `batch`; false: it is to be executed by itself. So is a suspect, which gets a
   * process of its own.
   */
  take(active: ActiveRun): boolean {
    const job = knownJob(this.engine.registry, active.run.job);
    const batch = job && this.read(job);
    if (!job || !batch || isSuspect(active)) return false;
    this.held++;
    if (active.run.is_large || (active.run.attempts > 1 && batch.size > 1))
      void this.prepare(active, job, batch);
    else this.parse(active, job, batch, nothing, false);
    return true;
  }

  /** How many more runs would fill batches, of as many as there are places: each at most doubles. */
  wanted(places: number): number {
    let sum = 0;
    let left = places;
    for (const { members, limit } of this.open.values()) {
      if (left-- <= 0) break;
      // Its own runs take no place before it is called, but for one.
      sum += Math.min(2 * members.length, limit) - 1;
    }
    return sum;
  }

  /** No batch waits any longer, if no more runs will come. */
  settle(): void {
    if (this.options.mayMore() || this.preparing.size > 0 || this.open.size === 0) return;
    for (const [key, batch] of this.open) this.finish(key, batch);
    this.options.onReady();
  }

  /** Calls the handler of the next batch that is ready, if there is one. */
  startNext(): boolean {
    const batch = this.ready.shift();
    if (batch === undefined) return false;
    const { job, members, timer } = batch;
    const { workerId, onStart, onReturned, onEnd, onOver } = this.options;
    this.engine.clock.clear(timer);
    this.held -= members.length;
    this.joined += members.length - 1;
    for (const { active } of members) onStart(active);
    const unload = new Map(members.map(member => [member.active, member.unload]));
    executeBatch(this.engine, workerId, job, members, {
      onReturned: () => {
        this.joined -= members.length - 1;
        onReturned();
      },
      onEnd: (active, ending) => {
        unload.get(active)?.();
        // A crash of the process may have ended the attempt before.
        if (!active.isFinalizing) onEnd(active, ending);
      },
      onOver,
    });
    return true;
  }

  /** Gives all runs back that are here, and those that come. */
  stop(): void {
    this.isStopped = true;
    for (const batch of [...this.open.values(), ...this.ready]) this.giveBack(batch);
    this.open.clear();
    this.ready = [];
  }

  private read(job: AnyJob): Batch | null {
    let batch = this.batchOf.get(job);
    if (batch === undefined) this.batchOf.set(job, (batch = readBatch(job.batch)));
    return batch;
  }

  private async prepare(active: ActiveRun, job: AnyJob, batch: Batch): Promise<void> {
    this.preparing.add(active);
    const { run } = active;
    // What may have killed a process takes no other run with it.
    const isAlone = run.attempts > 1 && (await this.wasLost(run.id));
    if (!run.is_large) return this.parse(active, job, batch, nothing, isAlone);
    const loaded = await this.options.load(active);
    if ('ending' in loaded) this.leave(active, loaded.ending);
    else this.parse(active, job, batch, loaded.unload, isAlone);
  }

  /** One statement for all runs that come together. */
  private async wasLost(id: string): Promise<boolean> {
    const ids = this.asking?.ids ?? [];
    this.asking ??= { ids, lost: this.askSoon(ids) };
    ids.push(id);
    return (await this.asking.lost).has(id);
  }

  private async askSoon(ids: readonly string[]): Promise<ReadonlySet<string>> {
    await Promise.resolve();
    this.asking = null;
    // Nothing is known of them if the database is away.
    return await readLostBefore(this.engine.database, ids).catch(() => new Set(ids));
  }

  private parse(active: ActiveRun, job: AnyJob, batch: Batch, unload: () => void, isAlone: boolean): void {
    const fail = (error: unknown) => {
      unload();
      this.leave(active, { kind: 'threw', error });
    };
    const join = (payload: unknown) => this.join({ active, payload, unload }, job, batch, isAlone);
    try {
      const payload = readPayload(this.engine, job, active);
      if (!(payload instanceof Promise)) return join(payload);
      this.preparing.add(active);
      payload.then(join).catch(fail);
    } catch (error) {
      fail(error);
    }
  }

  private join(member: Gathered, job: AnyJob, batch: Batch, isAlone: boolean): void {
    const { active, payload, unload } = member;
    const { run } = active;
    // Enqueued in SQL, or before the job had a limit: it is claimed again when it has a slot.
    const limits = jobLimits(job, payload).filter(({ key }) => !run.slot_keys?.includes(key));
    const limit = isAlone ? 1 : batchLimit(batch.size, run.attempts, run.max_attempts);
    const key = `${job.name}\n${limit}\n${batchKey(batch, job.name, payload)}`;
    if (this.isStopped || limits.length > 0) {
      unload();
      return this.leave(active, this.isStopped ? NOT_STARTED : { kind: 'noSlot', limits });
    }
    let gathering = this.open.get(key);
    if (gathering === undefined) {
      const opened: OpenBatch = { job, limit, members: [], timer: undefined };
      opened.timer = this.engine.clock.setTimeout(() => {
        this.finish(key, opened);
        this.options.onReady();
      }, batch.withinMs);
      this.open.set(key, (gathering = opened));
    }
    gathering.members.push(member);
    const wasPreparing = this.preparing.delete(active);
    const isFull = gathering.members.length >= limit;
    if (isFull) this.finish(key, gathering);
    if (!wasPreparing) return;
    if (isFull) this.options.onReady();
    this.settle();
  }

  /** A batch gathers no more. */
  private finish(key: string, batch: OpenBatch): void {
    this.engine.clock.clear(batch.timer);
    this.open.delete(key);
    this.ready.push(batch);
    batch.timer = this.engine.clock.setTimeout(() => {
      this.ready = this.ready.filter(each => each !== batch);
      this.options.onStalled();
      this.giveBack(batch);
    }, MAX_READY_MS);
  }

  private giveBack({ timer, members }: OpenBatch): void {
    this.engine.clock.clear(timer);
    for (const { active, unload } of members) {
      unload();
      this.leave(active, NOT_STARTED);
    }
  }

  private leave(active: ActiveRun, ending: Ending | null): void {
    this.held--;
    const wasPreparing = this.preparing.delete(active);
    this.options.onLeft(active, ending);
    if (wasPreparing) this.settle();
  }
}
