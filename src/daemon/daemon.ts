// The steps of a tick, for as long as the process lives: woken by node-cron each minute, by LISTEN when
// something is enqueued, and by a timer when something is due.
import { performance } from 'node:perf_hooks';
import { createEnqueueHint } from '../engine/claim/enqueue-hint.js';
import { startListener } from '../engine/claim/listen.js';
import { register } from '../engine/definitions/register.js';
import type { Engine } from '../engine/engine.js';
import { materialize } from '../engine/materialize/materialize.js';
import { createRollUp } from '../engine/metrics/roll-up.js';
import { noteOwnStop, noteOwnTick } from '../engine/note-tick.js';
import type { WakeCause } from '../engine/worker/wakeup.js';
import { openWorker } from '../engine/worker/worker.js';
import type { Notified } from '../engine/worker/worker-interface.js';
import { checkGivenPayloads } from '../model/job/given-payloads.js';
import type { OutcomeCounts } from '../model/run/outcome-counts.js';
import { readNextDue } from '../store/reads/next-due.js';
import { hourlyUpkeep, inBackground } from './background.js';
import { type BeatOptions, startBeat } from './beat.js';
import { createBeatAlerts } from './beat-alerts.js';
import { createDatabaseLog } from './database-log.js';
import { beginListening } from './listening.js';
import { createMemoryHint } from './memory-hint.js';
import {
  afterError,
  afterLook,
  afterMinute,
  afterReapNotice,
  afterWake,
  checksReaping,
  dueSteps,
  FIRST_PLAN,
  sleepMs,
  whileClaiming,
} from './next-pass.js';
import { createNoticeClaim } from './notice-claim.js';
import { createNoticeReceiver } from './notice-receiver.js';
import { createReapStep } from './reap-step.js';
import { refusableStep } from './refusable-step.js';
import { createSleeper, NO_SLEEPER } from './sleeper.js';

/** Options of `start`. */
export interface StartOptions {
  /** Most runs at once. Default 10. */
  readonly concurrency?: number | undefined;
  /** Only runs of these queues. Default: all that are not relayed. */
  readonly queues?: readonly string[] | undefined;
  /** Whether to be woken by NOTIFY. Default true. Without it, new runs are found by polling every second. */
  readonly listen?: boolean;
}

/** What the process that starts it says of a daemon. */
export interface DaemonOptions extends StartOptions {
  /** Default `daemon`. */
  readonly kind?: 'daemon' | 'relay';
}

/** A daemon that was started in this process. */
export interface Daemon {
  readonly id: string;
  readonly outcomeCounts: Readonly<OutcomeCounts>;
  /** See `Worker.stop`. */
  stop(): Promise<void>;
}

const FIRST_PAUSE_MS = 250;
// As often as a daemon that polls: producers enqueue again as soon as the database is back.
const MAX_PAUSE_MS = 1000;

/**
 * Starts the daemon. A lost database is logged once, waited for, and logged when it is back.
 *
 * @param longestSleepMs for tests
 * @param beatOptions how often it beats, for tests
 */
export async function startDaemon(
  engine: Engine,
  options: DaemonOptions = {},
  longestSleepMs?: number,
  beatOptions: BeatOptions = {},
): Promise<Daemon> {
  const { logger } = engine;
  const queues = options.queues ?? null;
  const listening = beginListening(engine, options.listen !== false);
  const pollMs = longestSleepMs ?? listening.pollMs;
  const worker = openWorker(engine, {
    kind: 'daemon',
    ...options,
    pollMs,
    isNotified: listening.isOn,
    onRowRestored: () => {
      sleeper.sayAgain();
      worker.wake();
    },
  });
  const sleeper = listening.isOn ? createSleeper(engine, worker.id, queues) : NO_SLEEPER;
  try {
    await checkGivenPayloads(engine.registry);
    await register(engine);
  } catch (error) {
    listening.end();
    await worker.stop();
    throw error;
  }
  await worker.announce();
  // If the database is away, a beat notes it.
  await noteOwnTick(engine, 'daemon').catch(() => undefined);

  let plan = FIRST_PLAN;
  let mustRegister = false;
  let mustCount = false;
  let isHealthy = true;
  const alerts = createBeatAlerts(engine);
  const stopping = new AbortController();
  const hint = createEnqueueHint(queues);
  let isSleeping = false;
  /** What a claim found that a notice caused, until a pass or `settle` counts it. */
  let notified: Notified | null = null;
  /** The last pass ended with a look, and nothing waited for room. */
  let hasLooked = false;
  /**
   * What a notice had named is claimed, and a look knows what else is due. Any other run would have sent a
   * notice too, so that the daemon sleeps for as long as the look said, also once these runs have ended.
   */
  let isSettled = false;
  const noticeClaim = createNoticeClaim({
    worker,
    hint,
    isSleeping: () => isSleeping && !sleeper.isAwake,
    session: () => listener?.session ?? null,
  });
  const notices = createNoticeReceiver({
    worker,
    hint,
    claim: () => noticeClaim.start(),
    onReap() {
      plan = afterReapNotice(plan, performance.now());
    },
  });
  const listener = listening.isOn ? startListener(engine, notices.receive, () => sleeper.sayAgain()) : null;
  const registerOrGoOn = refusableStep(
    engine,
    { name: 'register', consequence: 'the jobs cannot be registered now' },
    () => register(engine),
  );
  const reapIfDue = createReapStep(engine);
  const materializeOrGoOn = refusableStep(
    engine,
    { name: 'materialize', consequence: 'no occurrence of a schedule can become a run now' },
    () => materialize(engine),
  );
  const upkeep = hourlyUpkeep(engine, stopping.signal);
  const figures = inBackground(createRollUp(engine), stopping.signal);

  /** Does what is due, then looks what is due next; often it only looks. Returns the ms to sleep. */
  const pass = async (): Promise<number> => {
    engine.database.shares.requireOpen();
    const startedAt = performance.now();
    hasLooked = false;
    isSettled = false;
    const isBeat = mustRegister;
    if (isBeat) await registerOrGoOn();
    mustRegister = false;
    if (dueSteps(plan, startedAt).reaps) plan = await reapIfDue(plan);
    const steps = dueSteps(plan, startedAt);
    const { materializes } = steps;
    const isRefused = materializes && !(await materializeOrGoOn());
    isHealthy = !isRefused;
    if (isBeat && !isRefused) await noteOwnTick(engine, 'daemon');
    notified ??= await noticeClaim.take();
    // What else is due is found by the look.
    const claims = steps.claims && (materializes || notified === null || !hint.isEmpty || worker.hasMore);
    const hinted = claims ? hint.take() : null;
    // An idle worker claims a hinted run first and looks for others once that has started.
    const claimHint = materializes || worker.running > 0 || sleeper.isAwake ? null : hinted;
    const found = notified?.claimed ?? 0;
    notified = null;
    const claimed = found + (claims ? await worker.claim(claimHint ?? undefined) : 0);
    if (claimed > 0 || worker.hasMore) notices.found();
    const done = {
      startedAt,
      materialized: materializes,
      isRefused,
      claimed,
      claimedEverywhere: claims && !claimHint,
    };
    await sleeper.afterClaim(claimed, worker.hasMore);
    const isClaiming = worker.hasMore || sleeper.isAwake;
    if (isClaiming) plan = whileClaiming(plan, done, pollMs);
    else {
      await sleeper.beforeLook();
      const askedAt = performance.now();
      const due = await readNextDue(engine.database, queues, checksReaping(plan, askedAt), worker.watermarks);
      const look = { askedAt, answeredAt: performance.now(), due };
      hasLooked = worker.claimable > 0;
      isSettled = hasLooked && found > 0;
      plan = afterLook(plan, look, { ...done, hasRoom: hasLooked }, pollMs);
    }
    return Math.min(sleepMs(plan, performance.now(), pollMs, isClaiming), sleeper.maxSleepMs());
  };

  /** Counts what a notice has brought. Returns whether it sleeps on: no other run is known to be due. */
  const settle = async () => {
    notified = await noticeClaim.take();
    if (!hasLooked || worker.hasMore || notified?.isAll === false) return false;
    // The last pass has counted it.
    if (notified === null) return true;
    const { claimed } = notified;
    notified = null;
    notices.found();
    await sleeper.afterClaim(claimed, false);
    isSettled = true;
    return !sleeper.isAwake;
  };

  const sleep = async (ms: number) => {
    const until = performance.now() + ms;
    let cause: WakeCause;
    isSleeping = true;
    try {
      do cause = await worker.change(Math.ceil(until - performance.now()));
      while (
        (cause === 'claimed' ? await settle() : cause === 'idle' && isSettled) &&
        performance.now() < until
      );
    } finally {
      isSleeping = false;
    }
    const claims = cause === 'idle' ? !isSettled : performance.now() < until - 1;
    if (sleeper.isAwake || claims) plan = afterWake(plan);
  };

  const work = async () => {
    let pauseMs = FIRST_PAUSE_MS;
    const log = createDatabaseLog(engine);
    while (!stopping.signal.aborted) {
      try {
        const ms = await pass();
        await upkeep.startIfDue();
        // While it sleeps, and so over the connection of the passes.
        if (mustCount) figures.start();
        mustCount = false;
        // After the database was away it may be long before LISTEN is tried again.
        if (log.works() === 'back' && listener?.session === null) listener.renew();
        pauseMs = FIRST_PAUSE_MS;
        if (await alerts.afterPass(isHealthy)) plan = afterWake(plan);
        else if (!stopping.signal.aborted) await sleep(ms);
      } catch (error) {
        if (log.fails(error) === 'ended') return void stop();
        plan = afterError(plan);
        alerts.afterFailure();
        await worker.change(pauseMs);
        pauseMs = Math.min(pauseMs * 2, MAX_PAUSE_MS);
      }
    }
  };
  const hintAtMemory = createMemoryHint(logger);
  const onBeat = () => {
    mustRegister = true;
    alerts.beat();
    plan = afterMinute(plan);
    hintAtMemory(worker.outcomeCounts.claimed);
    mustCount = true;
    worker.wake();
  };
  // Computes its calendar while the first pass waits for the database.
  const beat = startBeat(onBeat, logger, beatOptions);

  const end = async () => {
    // Before the pass that is under way ends: it may wait for a claim, whose runs must not start now.
    worker.beginStop();
    stopping.abort();
    beat.stop();
    notices.close();
    worker.wake();
    await working;
    const noted = noteOwnStop(engine);
    try {
      await worker.stop(engine.settings.drainMs);
    } finally {
      // A claim may have been under way over its connection.
      listener?.stop();
      listening.end();
    }
    await noted;
    await upkeep.done();
    await figures.done();
    await alerts.done();
  };
  let ended: Promise<void> | null = null;
  const stop = () => (ended ??= end());
  const working = work();

  return { id: worker.id, outcomeCounts: worker.outcomeCounts, stop };
}
