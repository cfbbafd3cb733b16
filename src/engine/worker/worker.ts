// A worker: its run pipeline, its heartbeat, and its row in `workers`.
import { wakeSleepers } from '../../store/runs/workers/sleepers.js';
import type { Engine } from '../engine.js';
import { runsAtWork } from '../execute/endings.js';
import { startHeartbeat } from './heartbeat.js';
import { RunPipeline } from './run-pipeline.js';
import { createWakeup } from './wakeup.js';
import { newWorkerId } from './worker-id.js';
import type { Worker, WorkerOptions } from './worker-interface.js';
import { workerRow } from './worker-row.js';

const DEFAULT_CONCURRENCY = 10;

/**
 * Opens a worker under a new id, so that it is never mistaken for an older process's. Its row in `workers` is
 * inserted by `announce`, or before its first run: an idle tick leaves no trace.
 */
export function openWorker(engine: Engine, options: WorkerOptions): Worker {
  const id = newWorkerId(engine);
  const { change, wake } = createWakeup(engine.clock);
  const capacity = options.concurrency ?? DEFAULT_CONCURRENCY;
  const row = workerRow(engine, id, { ...options, capacity });
  const { queues, pollMs } = options;
  /** The worker's heartbeats and outcomes have a connection that nobody else can use up. */
  const giveBack = engine.database.shares.kept.keep();
  const pipeline = new RunPipeline(engine, {
    workerId: id,
    capacity,
    row,
    queues,
    goesOn: options.kind === 'daemon' || options.kind === 'relay',
    onChange: wake,
  });
  const { activeRuns } = pipeline;
  const heartbeat = startHeartbeat(engine, id, activeRuns, row.refresh, {
    flushLogs: () => pipeline.reports.logs.flush(activeRuns),
    pollMs,
  });

  const wakeOthers = () => wakeSleepers.run(engine.database, {}).catch(() => undefined);

  /** The leases are renewed until the last outcome is written. */
  const leave = async () => {
    try {
      // A claim under way may have leases already. The runs that it brings are released.
      await pipeline.claimer.idle();
      await worker.idle();
      heartbeat.stop();
      // Others claim the runs that it gave back, that are to be tried again, or that waited for a slot. Both
      // statements are sent at once, so that a lost database is not waited for twice.
      const woken = pipeline.outcomeCounts.claimed > 0 ? wakeOthers() : null;
      await row.remove();
      await woken;
    } finally {
      giveBack();
    }
  };

  const worker: Worker = {
    id,
    outcomeCounts: pipeline.outcomeCounts,
    announce: row.announce,
    get running() {
      return activeRuns.size;
    },
    get claimable() {
      return pipeline.claimable;
    },
    claim: hint => pipeline.claimer.claim(hint),
    get isClaiming() {
      return pipeline.claimer.isClaiming;
    },
    get hasMore() {
      return pipeline.claimer.hasMore;
    },
    watermarks: pipeline.claimer.watermarks,
    expectWaiting: () => pipeline.claimer.expectWaiting(),
    expectFair: () => pipeline.claimer.expectFair(),
    get usesFair() {
      return pipeline.claimer.usesFair;
    },
    async leaveRest() {
      if (pipeline.claimable <= 0 || pipeline.claimer.hasMore) await wakeOthers();
    },
    releasePrefetched: shares => pipeline.releasePrefetched(shares),
    close: () => pipeline.close(),
    beginStop: () => pipeline.stop(),
    claimOne: runId => pipeline.claimOne(runId),
    change,
    wake: () => wake(),
    wakeNotified: () => wake('notified'),
    checkCancel: heartbeat.checkCancel,
    atWork: () => runsAtWork(activeRuns),
    async crash(thrown) {
      pipeline.stop();
      pipeline.crash(thrown);
      await leave();
    },
    async idle() {
      while (activeRuns.size > 0) await change(1000);
    },
    async stop(graceMs = 0) {
      pipeline.stop();
      const until = engine.clock.now() + graceMs;
      if (activeRuns.size > 0) await row.drain();
      let left = 0;
      while (activeRuns.size > 0 && engine.clock.now() < until) {
        const { released, failed } = pipeline.outcomeCounts;
        if (released + failed > left) await wakeOthers();
        left = released + failed;
        await change(Math.max(1, until - engine.clock.now()));
      }
      pipeline.abortAll();
      await leave();
      engine.workers.delete(worker);
      wake();
    },
  };
  engine.workers.add(worker);
  return worker;
}
