// Room: engine. A worker: claims by free capacity, executes, finalizes, and keeps its leases until the last
// outcome is written.
// In: how many runs at once, which queues. Out: runs that have ended; a tally of them.
import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import { performance } from 'node:perf_hooks';
import { decideOutcome, type Ending, type Outcome } from '../model/decide.js';
import { claimLimitedRuns } from '../store/admit-runs.js';
import { type Claim, type ClaimedRun, claimFreeRun, claimFreeRuns } from '../store/claim-runs.js';
import { type ActiveRun, activeRun } from './active-run.js';
import { type Engine, retryPolicyOf } from './engine.js';
import { drainReason, executeRun } from './execute.js';
import { createFinalizer } from './finalize.js';
import { noteProgress, requestCancel, startHeartbeat } from './heartbeat.js';
import { tellOutcome, tellStart } from './hooks.js';
import { emptyTally, fieldsOf, reportEnd, type Tally } from './tally.js';

export interface WorkerOptions {
  readonly kind: 'tick' | 'daemon' | 'library' | 'manual';
  /** Most runs at once. Default 10. */
  readonly concurrency?: number | undefined;
  /** Only runs of these queues. Default: all. */
  readonly queues?: readonly string[] | undefined;
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
  /** Claims as many due runs as there is room for and begins to execute them. Returns how many. */
  claim(): Promise<number>;
  /** Claims one named run, if it is due and free. */
  claimOne(runId: string): Promise<boolean>;
  /** Resolves when a run has ended or `wake` is called, also if that was since the last call; or after `ms`. */
  change(ms: number): Promise<void>;
  readonly wake: () => void;
  /** Tells the handler of a run, if this worker holds it, that an operator asked to cancel it. */
  readonly cancel: (runId: string) => void;
  /** Resolves when no run is left. */
  idle(): Promise<void>;
  /**
   * Drains: claims no more, lets runs end for `graceMs`, then aborts their signals, waits the engine's grace,
   * and releases what remains without counting the attempt. Beats until the last outcome is written.
   */
  stop(graceMs?: number): Promise<void>;
}

const DEFAULT_CONCURRENCY = 10;
/** How often one claim looks again, when what it found had no place under a limit. */
const MOST_PASSES = 20;
const BE_SEEN = 'update tock.workers set seen_at = tock.now() where id = $1 returning id';
const ANNOUNCE = 'insert into tock.workers (id, kind, host, pid, capacity) values ($1, $2, $3, $4, $5)';

/**
 * Opens a worker under a fresh id, so that it is never mistaken for an older process's. Its row in `workers` is
 * written by `announce`, or with its first claim: an idle tick leaves no trace.
 */
export function openWorker(engine: Engine, options: WorkerOptions): Worker {
  const { database, settings } = engine;
  const capacity = options.concurrency ?? DEFAULT_CONCURRENCY;
  const id = randomUUID();
  /** By attempt, not by run: a failed run may be claimed again before its last attempt has left. */
  const active = new Set<ActiveRun>();
  const tally = emptyTally();
  /** Runs whose handler has not ended: these fill the capacity. Those that only wait to be written do not. */
  let executing = 0;
  let isStopping = false;
  let wakers: (() => void)[] = [];
  /** Something changed while nobody waited for it; the next who would wait looks again at once. */
  let hasChanged = false;
  const wake = () => {
    const woken = wakers;
    wakers = [];
    hasChanged = woken.length === 0;
    for (const each of woken) each();
  };

  let announced: Promise<unknown> | null = null;
  const announce = async () => {
    announced ??= database.run(ANNOUNCE, [id, options.kind, hostname(), process.pid, capacity]);
    // What was claimed is executed, known or not; the next heartbeat makes the worker known.
    await announced.catch(error =>
      engine.logger.warn(
        { event: 'worker.unknown', error: String(error) },
        'the worker could not make itself known',
      ),
    );
  };
  const beSeen = async () => {
    if (!announced) return;
    const rows = await database.run(BE_SEEN, [id]);
    // Cut off for so long that a reaper has forgotten us.
    if (rows.length === 0)
      await database.run(ANNOUNCE, [id, options.kind, hostname(), process.pid, capacity]);
  };
  const heartbeat = startHeartbeat(engine, id, active, beSeen);
  const finalizer = createFinalizer(engine, id, () =>
    [...active].some(each => performance.now() - each.renewedAt < settings.leaseMs),
  );

  const begin = (run: ClaimedRun, claimedAt: number) => {
    const each = activeRun(run, claimedAt);
    active.add(each);
    tally.claimed++;
    executing++;
    engine.logger.debug({ event: 'run.claimed', ...fieldsOf(run) }, `claimed run ${run.id} of ${run.job}`);
    void live(each);
  };

  /** Begins what was claimed, and what is admitted of the rest. Returns how many. */
  const beginClaim = async ({ runs, limited }: Claim, claimedAt: number): Promise<number> => {
    // Before the handlers begin: should one kill the process, the reaper can name the host.
    if (runs.length + limited.length > 0) await announce();
    for (const run of runs) begin(run, claimedAt);
    const admittedAt = performance.now();
    const admitted = await claimLimitedRuns(database, limited, { workerId: id, leaseMs: settings.leaseMs });
    for (const run of admitted) begin(run, admittedAt);
    if (isStopping) abortAll(active);
    return runs.length + admitted.length;
  };

  const live = async (each: ActiveRun) => {
    const startedAt = performance.now();
    tellStart(engine, each.run);
    const ending = await executeRun(engine, each, id);
    executing--;
    each.isFinalizing = true;
    // The slot is free: somebody may claim while the outcome is being written.
    wake();
    const outcome = ending && outcomeOf(engine, each, ending);
    const isWritten = each.isSettled || (outcome !== null && (await write(each, outcome)));
    active.delete(each);
    const durationMs = performance.now() - startedAt;
    reportEnd(engine, tally, each, outcome, isWritten, durationMs);
    if (isWritten && outcome) tellOutcome(engine, each.run, outcome, durationMs);
    wake();
  };

  const write = async (each: ActiveRun, outcome: Outcome) => {
    if (each.progress !== null) await noteProgress(engine, id, new Set([each]));
    const written = finalizer.add({ id: each.run.id, fence: each.run.fence, outcome });
    // Nothing else is coming soon: no reason to wait for company.
    if (executing === 0) finalizer.flush();
    return await written;
  };

  const worker: Worker = {
    id,
    tally,
    announce,
    get running() {
      return active.size;
    },
    get room() {
      // What waits to be written counts against memory, though not against the capacity.
      return isStopping ? 0 : Math.max(0, Math.min(capacity - executing, capacity + 1000 - active.size));
    },
    async claim() {
      let total = 0;
      for (let pass = 0; pass < MOST_PASSES && worker.room > 0; pass++) {
        const claimedAt = performance.now();
        const claim = await claimFreeRuns(database, {
          limit: worker.room,
          workerId: id,
          leaseMs: settings.leaseMs,
          queues: options.queues ?? null,
        });
        total += await beginClaim(claim, claimedAt);
        // What had no place was put aside, or its queue is closed now: there may be others behind it.
        if (claim.limited.length === 0) break;
      }
      return total;
    },
    async claimOne(runId) {
      if (isStopping) return false;
      const claimedAt = performance.now();
      const claim = await claimFreeRun(database, runId, { workerId: id, leaseMs: settings.leaseMs });
      return (await beginClaim(claim, claimedAt)) > 0;
    },
    async change(ms) {
      if (hasChanged) {
        hasChanged = false;
        return;
      }
      await new Promise<void>(resolve => {
        const timer = setTimeout(resolve, ms);
        wakers.push(() => {
          clearTimeout(timer);
          resolve();
        });
      });
    },
    wake,
    cancel: runId => {
      for (const each of active) if (each.run.id === runId && !each.isFinalizing) requestCancel(each);
    },
    async idle() {
      while (active.size > 0) await worker.change(1000);
    },
    async stop(graceMs = 0) {
      isStopping = true;
      const until = performance.now() + graceMs;
      if (active.size > 0) {
        await database
          .run('update tock.workers set draining = true where id = $1', [id])
          .catch(() => undefined);
      }
      while (active.size > 0 && performance.now() < until)
        await worker.change(Math.max(1, until - performance.now()));
      abortAll(active);
      await worker.idle();
      heartbeat.stop();
      if (announced)
        await database.run('delete from tock.workers where id = $1', [id]).catch(() => undefined);
      wake();
    },
  };
  return worker;
}

function abortAll(active: ReadonlySet<ActiveRun>): void {
  for (const each of active) if (!each.isFinalizing) each.controller.abort(drainReason());
}

function outcomeOf(engine: Engine, { run }: ActiveRun, ending: Ending): Outcome {
  return decideOutcome(
    ending,
    { attempt: run.attempts, maxAttempts: run.max_attempts },
    retryPolicyOf(engine, run.job),
    Math.random(),
  );
}
