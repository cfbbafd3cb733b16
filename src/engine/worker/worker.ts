// Room: engine. A worker: claims by free capacity, executes, finalizes, and keeps its leases until the last
// outcome is written.
// In: how many runs at once, which queues. Out: runs that have ended; a tally of them.
import { randomUUID } from 'node:crypto';
import { performance } from 'node:perf_hooks';
import { isEnabled } from '../../model/logger.js';
import { decideOutcome, type Ending, type Outcome } from '../../model/run/decide.js';
import { claimLimitedRuns } from '../../store/runs/claim/admit.js';
import { type Claim, claimFreeRun } from '../../store/runs/claim/claim.js';
import type { ClaimedRun } from '../../store/runs/claim/claimed-run.js';
import type { Finalization } from '../../store/runs/finalize.js';
import { createClaimer } from '../claim/claimer.js';
import { createLine } from '../claim/prefetch-buffer.js';
import { createPace } from '../claim/throughput.js';
import { type Engine, retryPolicyOf } from '../engine.js';
import { abort } from '../execute/abort.js';
import { type ActiveRun, activeRun, isHeld } from '../execute/active-run.js';
import { endingsAtCrash, runsAtWork } from '../execute/crash.js';
import { drainReason, executeRun } from '../execute/execute.js';
import { tellOutcome, tellStart } from '../finalize/hooks.js';
import { createFinalizer } from '../finalize/outcome-batcher.js';
import { admitDespite, eachByItself, setAside } from '../set-aside.js';
import { noteProgress, startHeartbeat } from './heartbeat.js';
import { emptyTally, fieldsOf, reportEnd } from './outcome-counts.js';
import { createWakeup } from './wakeup.js';
import type { Worker, WorkerOptions } from './worker-interface.js';
import { workerRow } from './worker-row.js';

const DEFAULT_CONCURRENCY = 10;
/** While so many outcomes wait to be written, nothing more is claimed. */
const MOST_UNWRITTEN = 4000;
/** What was claimed ahead and could not begin for so long is given back. */
const LONGEST_AHEAD_MS = 300;
/**
 * Opens a worker under a fresh id, so that it is never mistaken for an older process's. Its row in `workers` is
 * written by `announce`, or with its first claim: an idle tick leaves no trace.
 */
export function openWorker(engine: Engine, options: WorkerOptions): Worker {
  const { database, settings } = engine;
  const capacity = options.concurrency ?? DEFAULT_CONCURRENCY;
  const queues = options.queues ?? null;
  const id = randomUUID();
  /** By attempt, not by run: a failed run may be claimed again before its last attempt has left. */
  const active = new Set<ActiveRun>();
  const tally = emptyTally();
  /** Runs whose handler has not ended: these fill the capacity. Those that only wait to be written do not. */
  let executing = 0;
  let isStopping = false;
  let isClosed = false;
  const { change, wake } = createWakeup();
  const row = workerRow(engine, id, options.kind, capacity);
  const heartbeat = startHeartbeat(engine, id, active, row.beSeen);
  /** A drain does not wait for ever for a server that renews leases and takes no outcomes. */
  let writesUntil = Number.POSITIVE_INFINITY;
  const finalizer = createFinalizer<Finalization & { readonly each: ActiveRun; readonly startedAt: number }>(
    engine,
    {
      workerId: id,
      mayWrite: ({ each }) => isHeld(each, settings.leaseMs) && performance.now() < writesUntil,
      beforeResend: entries =>
        noteProgress(
          engine,
          id,
          entries.map(({ each }) => each),
        ),
      done: ({ each, outcome, startedAt }, isWritten) => letGo(each, outcome, startedAt, isWritten),
      onResumed: wake,
    },
  );

  /** Claimed ahead, in their order; they begin when there is capacity. Their leases are renewed like the others'. */
  const ahead = createLine<ActiveRun>(LONGEST_AHEAD_MS, () => {
    // The handlers before them have become slow.
    pace.halt(performance.now());
    giveBack();
  });
  const pace = createPace();

  const want = () => {
    if (isStopping || isClosed) return 0;
    // What cannot be written now could be lost with this process. One more than the capacity: it shows what can be.
    if (finalizer.isHeldUp) return Math.max(0, capacity + 1 - active.size);
    const inHand = capacity + pace.ahead(performance.now());
    // What waits to be written counts against memory, though not against the capacity.
    return Math.max(0, Math.min(inHand - executing - ahead.length, inHand + MOST_UNWRITTEN - active.size));
  };

  const receive = (run: ClaimedRun, claimedAt: number) => {
    const each = activeRun(run, claimedAt);
    active.add(each);
    tally.claimed++;
    if (isEnabled(engine.logger, 'debug'))
      engine.logger.debug({ event: 'run.claimed', ...fieldsOf(run) }, `claimed run ${run.id} of ${run.job}`);
    ahead.push(each);
  };

  const beginNext = () => {
    if (isStopping) giveBack();
    while (executing < capacity) {
      const each = ahead.take();
      if (each === undefined) break;
      executing++;
      live(each);
    }
  };

  /** Runs that could not begin soon go back to the queue, where others may take them. */
  const giveBack = () => {
    for (const each of ahead.takeAll()) hand(each, { kind: 'unplaced', limits: [] }, performance.now());
  };

  const setDefectiveAside = async (runs: readonly ClaimedRun[]) => {
    for (const { id: runId, fence, defect } of runs)
      if (defect !== null)
        await setAside(engine, runId, { reason: defect, isToBlame: true, holder: { workerId: id, fence } });
  };

  /** Takes in what was claimed, and what is admitted of the rest. Returns how many. */
  const takeIn = async ({ runs, limited }: Claim, claimedAt: number): Promise<number> => {
    // Before the handlers begin: should one kill the process, the reaper can name the host.
    if (runs.length + limited.length > 0 && !row.isAnnounced) await row.announce();
    for (const run of runs) if (run.defect === null) receive(run, claimedAt);
    beginNext();
    await setDefectiveAside(runs);
    if (limited.length === 0) return runs.length;
    const admittedAt = performance.now();
    const { admitted, failure } = await admitDespite(engine, limited, ids =>
      claimLimitedRuns(database, ids, { workerId: id, leaseMs: settings.leaseMs }),
    );
    for (const run of admitted) if (run.defect === null) receive(run, admittedAt);
    beginNext();
    await setDefectiveAside(admitted);
    if (failure !== null) throw failure.error;
    return runs.length + admitted.length;
  };

  const claimer = createClaimer(engine, {
    workerId: id,
    queues,
    jobs: () => (options.isSuperseded?.() ? [...engine.registry.jobs.keys()] : null),
    room: want,
    takeIn,
    onEnd: wake,
    onRest: () => refill(),
  });

  /** Goes on claiming while runs are executed, as long as there is more. */
  const refill = () => {
    if (!claimer.isFlowing || isClosed || claimer.isClaiming || isStopping) return;
    if (ahead.length > pace.ahead(performance.now()) / 2 || want() === 0) return;
    claimer.claim().catch(() => {
      claimer.halt();
      wake();
    });
  };

  const live = (each: ActiveRun) => {
    const startedAt = performance.now();
    each.begunAt = startedAt;
    tellStart(engine, each.run);
    executeRun(engine, each, id, ending => {
      // A crash of the process has ended it before.
      if (each.isFinalizing) return;
      executing--;
      pace.note(performance.now(), each.run.payload_length);
      hand(each, ending, startedAt);
      // The slot is free while the outcome is being written.
      beginNext();
      refill();
      // Nothing else is coming soon: no reason to wait for company.
      if (executing === 0) finalizer.hurry();
    });
  };

  /** Hands an attempt's outcome on; without one, nothing may be written. */
  const hand = (each: ActiveRun, ending: Ending | null, startedAt: number) => {
    each.isFinalizing = true;
    const outcome = ending && outcomeOf(engine, each, ending);
    if (each.isSettled || outcome === null) return letGo(each, outcome, startedAt, each.isSettled);
    const entry = { id: each.run.id, fence: each.run.fence, outcome, each, startedAt };
    if (each.progress === null) finalizer.add(entry);
    else void noteProgress(engine, id, [each]).then(() => finalizer.add(entry));
  };

  const letGo = (each: ActiveRun, outcome: Outcome | null, startedAt: number, isWritten: boolean) => {
    active.delete(each);
    const durationMs = performance.now() - startedAt;
    reportEnd(engine, tally, each, outcome, isWritten, durationMs);
    if (isWritten && outcome) tellOutcome(engine, each.run, outcome, durationMs);
    // Somebody may wait for the last one; or the run, or one that waited for its place, may be due again.
    if (active.size === 0 || outcome?.transition !== 'succeed' || each.run.slot_keys !== null) wake();
  };

  const worker: Worker = {
    id,
    tally,
    announce: row.announce,
    get running() {
      return active.size;
    },
    get room() {
      return want();
    },
    claim: told => claimer.claim(told),
    get isFlowing() {
      return claimer.isFlowing;
    },
    close() {
      isClosed = true;
    },
    async claimOne(runId) {
      if (isStopping) return false;
      const claimedAt = performance.now();
      const wanted = { workerId: id, leaseMs: settings.leaseMs };
      const { done, failure } = await eachByItself(
        engine,
        [runId],
        each => claimFreeRun(database, each, wanted),
        ({ runs }) => runs.length > 0,
      );
      if (failure !== null) throw failure.error;
      const [claimed] = done;
      return claimed !== undefined && (await takeIn(claimed, claimedAt)) > 0;
    },
    change,
    wake,
    lookAt: heartbeat.lookAt,
    atWork: () => runsAtWork(active),
    async crash(thrown) {
      isStopping = true;
      giveBack();
      for (const [each, ending] of endingsAtCrash(active, thrown)) hand(each, ending, each.begunAt ?? 0);
      finalizer.hurry();
      // What a claim under way still brings is given back as it comes.
      await claimer.rest();
      await worker.idle();
      heartbeat.stop();
      await row.remove();
    },
    async idle() {
      while (active.size > 0) await worker.change(1000);
    },
    async stop(graceMs = 0) {
      isStopping = true;
      giveBack();
      const until = performance.now() + graceMs;
      if (active.size > 0) await row.drain();
      while (active.size > 0 && performance.now() < until)
        await worker.change(Math.max(1, until - performance.now()));
      abortAll(active);
      writesUntil = performance.now() + settings.graceMs + settings.leaseMs;
      // A claim that is under way may have its leases already: what it takes is given back.
      await claimer.rest();
      await worker.idle();
      heartbeat.stop();
      await row.remove();
      engine.workers.delete(worker);
      wake();
    },
  };
  engine.workers.add(worker);
  return worker;
}

function abortAll(active: ReadonlySet<ActiveRun>): void {
  for (const each of active) if (!each.isFinalizing) abort(each.interrupt, drainReason());
}

function outcomeOf(engine: Engine, { run }: ActiveRun, ending: Ending): Outcome {
  return decideOutcome(
    ending,
    { attempt: run.attempts, maxAttempts: run.max_attempts },
    retryPolicyOf(engine, run.job),
    Math.random(),
  );
}
