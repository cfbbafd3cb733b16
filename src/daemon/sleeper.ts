// Records whether this daemon may be asleep, and finds the runs of enqueuers that could not see it.
import { performance } from 'node:perf_hooks';
import type { Engine } from '../engine/engine.js';
import { isConnectionFailure } from '../store/connection/errors.js';
import {
  deleteSleeper,
  haveAllEndedBefore,
  insertSleeper,
  isNotifyLockAwaited,
  newTransactionId,
} from '../store/runs/workers/sleepers.js';
import {
  ASLEEP,
  afterClaim,
  afterFallingAsleep,
  afterVainQuestion,
  afterWakingUp,
  maxSleepMs,
  nextStep,
} from './wakefulness.js';

export interface Sleeper {
  /** While it is, claims come by themselves, and no look is needed. */
  readonly isAwake: boolean;
  /** All who enqueue can see that the daemon is asleep, and so notify it of each run. */
  readonly isKnown: boolean;
  /** Counts what a claim found, and says when the daemon wakes up or falls asleep. */
  afterClaim(claimed: number, hasMore: boolean): Promise<void>;
  /**
   * To be awaited before each look while it is asleep: says that it is, where that is not said yet. The look
   * then finds what was enqueued by all who could not know, or `maxSleepMs` makes the next one come soon.
   */
  beforeLook(): Promise<void>;
  /** Its row may be gone, so it is written again before the next look. */
  sayAgain(): void;
  /** For how long the daemon may sleep, in milliseconds. */
  maxSleepMs(): number;
}

/** When it looks again after its row is written, while some may not have seen it; then every second. */
const LOOK_AGAIN_MS = [50, 200, 1000];
/** How often it looks while it knows no better. */
const POLL_MS = 1000;

/**
 * A daemon that is asleep. Says nothing until `sayAgain`, because before it listens no NOTIFY would wake it.
 *
 * @param workerId it has a row in `workers`
 */
export function createSleeper(
  { database, logger }: Engine,
  workerId: string,
  queues: readonly string[] | null,
): Sleeper {
  let state = ASLEEP;
  let isSaid = true;
  let saidAt = 0;
  let isFailing = false;
  /** Transactions with a lower id may not have seen the row; null: all have ended. */
  let horizon: string | null = null;

  const wakeUp = async () => {
    // Before it is sent: a statement that fails may have been executed.
    state = afterWakingUp(state, performance.now());
    isSaid = false;
    await deleteSleeper.run(database, { id: workerId });
  };

  const say = async () => {
    // Before it is sent, so that `sayAgain` counts from now on.
    isSaid = true;
    try {
      if ((await insertSleeper.run(database, { id: workerId, queues })).length === 0) isSaid = false;
      horizon = (await newTransactionId.first(database, {}))?.id ?? null;
      saidAt = performance.now();
    } catch (error) {
      isSaid = false;
      throw error;
    }
  };

  /** A failure of these statements alone, as for a missing right, stops no claims. */
  const guarded = async (work: () => Promise<void>) => {
    try {
      await work();
      isFailing = false;
    } catch (error) {
      if (isConnectionFailure(error)) throw error;
      if (!isFailing)
        logger.error(
          { event: 'sleeper.failed', error: String(error) },
          `cannot say whether this daemon is asleep, so it polls: ${String(error)}`,
        );
      isFailing = true;
    }
  };

  return {
    get isAwake() {
      return state.isAwake;
    },
    get isKnown() {
      return isSaid && horizon === null;
    },
    async afterClaim(claimed, hasMore) {
      const now = performance.now();
      state = afterClaim(state, { now, claimed, hasMore });
      const step = nextStep(state, now);
      if (step === 'fallAsleep') state = afterFallingAsleep(state, now);
      if (step === 'wakeUp') await guarded(wakeUp);
      if (step !== 'askWhetherToWakeUp') return;
      state = afterVainQuestion(state, now);
      await guarded(async () => {
        if ((await isNotifyLockAwaited.first(database, {}))?.isAwaited) await wakeUp();
      });
    },
    beforeLook: () =>
      guarded(async () => {
        if (!isSaid) await say();
        if (horizon !== null && (await haveAllEndedBefore.first(database, { id: horizon }))?.haveEnded)
          horizon = null;
      }),
    sayAgain() {
      isSaid = false;
    },
    maxSleepMs() {
      const now = performance.now();
      if (state.isAwake) return maxSleepMs(state, now);
      const pollMs = isSaid && horizon === null ? Number.POSITIVE_INFINITY : POLL_MS;
      const lookAgainAt = LOOK_AGAIN_MS.map(ms => saidAt + ms).find(at => at > now);
      const againMs = horizon === null || lookAgainAt === undefined ? pollMs : Math.ceil(lookAgainAt - now);
      return Math.min(maxSleepMs(state, now), againMs);
    },
  };
}

/** For a daemon that does not listen, and polls: NOTIFY would not wake it. */
export const NO_SLEEPER: Sleeper = {
  isAwake: false,
  isKnown: false,
  afterClaim: () => Promise.resolve(),
  beforeLook: () => Promise.resolve(),
  sayAgain: () => undefined,
  maxSleepMs: () => Number.POSITIVE_INFINITY,
};
