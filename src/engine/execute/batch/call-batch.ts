// One call of a handler with the runs of a batch, and what it says becomes of each.
import { TockError } from '../../../model/errors.js';
import type { BatchRun, BatchRuns } from '../../../model/job/batch/batch-job.js';
import type { AnyJob } from '../../../model/job/job.js';
import type { Json } from '../../../model/job/payload/json.js';
import type { Ending } from '../../../model/run/decide.js';
import { isWait } from '../../../model/run/snooze.js';
import type { Engine } from '../../engine.js';
import type { Interrupt } from '../abort.js';
import type { ActiveRun } from '../active-run.js';
import { awaitHandler, Calls } from '../calls/calls.js';
import { endingOf } from '../endings.js';
import { createBatchContext } from './batch-context.js';
import { createBatchRun } from './batch-run.js';
import { batchTransaction } from './batch-transaction.js';

/** A run of a batch, its payload as the job's schema gives it. */
export interface Member {
  readonly active: ActiveRun;
  readonly payload: unknown;
}

export class BatchCall {
  /** What the handler has said of runs. */
  private said = new Map<ActiveRun, Ending | null>();
  /** The error of a transaction that was rolled back because leases were lost; null: there was none. */
  private leaseLoss: TockError | null = null;
  private isOver = false;
  private readonly engine: Engine;
  private readonly workerId: string;
  private readonly members: readonly Member[];

  constructor(engine: Engine, workerId: string, members: readonly Member[]) {
    this.engine = engine;
    this.workerId = workerId;
    this.members = members;
    for (const { active } of members) active.batchSize = members.length;
  }

  /**
   * Calls the handler. A handler that throws before its first await gives a rejected promise too.
   * @param interrupt of all of its runs together
   */
  async call(job: AnyJob, interrupt: Interrupt): Promise<void> {
    const { engine } = this;
    const actives = this.members.map(({ active }) => active);
    const ofRuns = new Map<BatchRun, ActiveRun>();
    for (const { active, payload } of this.members)
      ofRuns.set(createBatchRun(engine, active, payload), active);
    const say = (run: BatchRun, endingFor: (active: ActiveRun) => Ending | null) => {
      const active = this.requireOpen(ofRuns.get(run));
      this.said.set(active, endingFor(active));
    };
    const runs: BatchRuns = Object.defineProperties([...ofRuns.keys()], {
      fail: {
        value: (run: BatchRun, error: unknown) => say(run, active => endingOf(active, withoutWait(error))),
      },
      succeed: {
        value: (run: BatchRun, output: Json = null) => say(run, () => ({ kind: 'returned', value: output })),
      },
    }) as never;
    const transaction = batchTransaction(engine, this.workerId, {
      actives,
      isInterrupted: () => interrupt.isAborted,
      outputs: () => this.successes(),
      keep: () => {
        const before = new Map(this.said);
        return () => {
          this.said = before;
        };
      },
      onLeaseLost: error => {
        this.leaseLoss = error;
      },
    });
    const calls = new Calls();
    const ctx = createBatchContext(engine, job.name, actives, interrupt, transaction, calls);
    await awaitHandler(engine, calls, () =>
      (job.run as (ctx: unknown, runs: BatchRuns) => unknown)(ctx, runs),
    );
  }

  /** The handler has ended, or was given up: nothing that it says counts any more. */
  close(): void {
    this.isOver = true;
  }

  /** How the attempt of a run ends. @param thrown null: the handler has returned */
  endingFor(active: ActiveRun, thrown: { readonly error: unknown } | null): Ending | null {
    if (active.isLost) return null;
    const said = this.said.get(active);
    if (active.isCommitted || (said === undefined && thrown === null))
      return { kind: 'returned', value: undefined };
    if (said !== undefined) return said;
    // The lease of another run was lost, for which this one is not to blame.
    const isByLoss = this.leaseLoss !== null && thrown?.error === this.leaseLoss;
    if (isByLoss && !active.cancelRequested) return { kind: 'drained' };
    return endingOf(active, withoutWait(thrown?.error));
  }

  /** The runs that a transaction makes succeed, with their outputs. */
  private successes(): ReadonlyMap<ActiveRun, unknown> {
    const all = this.members.map(({ active }) => [active, this.said.get(active)] as const);
    return new Map(
      all
        .filter(([, said]) => said === undefined || said?.kind === 'returned')
        .map(([active, said]) => [active, said?.kind === 'returned' ? said.value : null]),
    );
  }

  private requireOpen(active: ActiveRun | undefined): ActiveRun {
    if (active === undefined)
      throw new TockError(
        'TOCK_BAD_OPTION',
        'this is none of the runs of the batch: pass one of `runs` itself',
      );
    const { id } = active.run;
    if (active.isCommitted)
      throw new TockError(
        'TOCK_BAD_STATE',
        `run ${id} has succeeded in ctx.transaction: say what fails before it, or within`,
      );
    if (this.isOver)
      throw new TockError(
        'TOCK_BAD_STATE',
        `the attempt of run ${id} has ended: await everything before the handler returns`,
      );
    return active;
  }
}

/**
 * Calls the handler of a batch with a single run: in a process of its own, or because it may end its process.
 * Resolves to its output. @throws what a handler of this run alone would throw
 */
export async function callWithOne(
  engine: Engine,
  active: ActiveRun,
  workerId: string,
  job: AnyJob,
  payload: unknown,
): Promise<unknown> {
  const batch = new BatchCall(engine, workerId, [{ active, payload }]);
  let thrown: { readonly error: unknown } | null = null;
  try {
    await batch.call(job, active.interrupt);
  } catch (error) {
    thrown = { error };
  }
  batch.close();
  const ending = batch.endingFor(active, thrown);
  if (ending?.kind === 'returned') return ending.value;
  if (ending?.kind === 'threw') throw ending.error;
  throw active.interrupt.reason ?? thrown?.error;
}

/** The handler cannot end to wait for some of its runs. */
function withoutWait(error: unknown): unknown {
  if (!isWait(error)) return error;
  return new TockError(
    'TOCK_BAD_STATE',
    "a batch cannot wait, so Snooze is refused there: runs.fail(run, new RetryLater('5m')) calls the handler again later, and counts as an attempt; or leave `batch` out of the job",
    { cause: error },
  );
}
