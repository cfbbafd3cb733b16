// Announces whether this daemon may be asleep, and finds the runs of enqueuers that could not know it.
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
  /** While the daemon is awake, it claims by itself and needs no poll. */
  readonly isAwake: boolean;
  /** All who enqueue can see that the daemon may be asleep, so they notify it of each run. */
  readonly isKnown: boolean;
  /** Counts what a claim found. Announces when the daemon wakes up. */
  afterClaim(claimed: number, hasMore: boolean): Promise<void>;
  /**
   * To be awaited before each poll while the daemon is asleep: announces that, if it has not yet. Then the
   * poll finds the runs of all enqueuers that could not know, or `maxSleepMs` makes the next poll come soon.
   */
  beforePoll(): Promise<void>;
  /** The daemon's row may be gone, so it is written again before the next poll. */
  announceAgain(): void;
  /** For how long the daemon may sleep, in milliseconds. */
  maxSleepMs(): number;
}

/** When a daemon polls again after writing its row, while some may not have seen it; then every second. */
const POLL_AGAIN_MS = [50, 200, 1000];
/** How often a daemon polls while some may not have seen its row. */
const POLL_MS = 1000;

/**
 * A daemon that is asleep. Announces nothing until `announceAgain`: no NOTIFY would wake it before it
 * listens.
 *
 * @param workerId of a worker with a row in `workers`
 */
export function createSleeper(
  { database, logger, clock }: Engine,
  workerId: string,
  queues: readonly string[] | null,
): Sleeper {
  let state = ASLEEP;
  let isAnnounced = true;
  let announcedAt = 0;
  let isFailing = false;
  /** Transactions with a lower id may not have seen the row; null: all have ended. */
  let horizon: string | null = null;

  const wakeUp = async () => {
    // Before the statement is sent: one that fails may have been executed.
    state = afterWakingUp(state, clock.now());
    isAnnounced = false;
    await deleteSleeper.run(database, { id: workerId });
  };

  const announce = async () => {
    // Before the statement is sent, so that an `announceAgain` meanwhile counts.
    isAnnounced = true;
    try {
      if ((await insertSleeper.run(database, { id: workerId, queues })).length === 0) isAnnounced = false;
      horizon = (await newTransactionId.first(database, {}))?.id ?? null;
      announcedAt = clock.now();
    } catch (error) {
      isAnnounced = false;
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
          `cannot announce whether this daemon is asleep, so it polls: ${String(error)}`,
        );
      isFailing = true;
    }
  };

  return {
    get isAwake() {
      return state.isAwake;
    },
    get isKnown() {
      return isAnnounced && horizon === null;
    },
    async afterClaim(claimed, hasMore) {
      const now = clock.now();
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
    beforePoll: () =>
      guarded(async () => {
        if (!isAnnounced) await announce();
        if (horizon !== null && (await haveAllEndedBefore.first(database, { id: horizon }))?.haveEnded)
          horizon = null;
      }),
    announceAgain() {
      isAnnounced = false;
    },
    maxSleepMs() {
      const now = clock.now();
      if (state.isAwake) return maxSleepMs(state, now);
      const pollMs = isAnnounced && horizon === null ? Number.POSITIVE_INFINITY : POLL_MS;
      const pollAgainAt = POLL_AGAIN_MS.map(ms => announcedAt + ms).find(at => at > now);
      const againMs = horizon === null || pollAgainAt === undefined ? pollMs : Math.ceil(pollAgainAt - now);
      return Math.min(maxSleepMs(state, now), againMs);
    },
  };
}

/** For a daemon that does not listen: NOTIFY would not wake it, so it polls. */
export const NO_SLEEPER: Sleeper = {
  isAwake: false,
  isKnown: false,
  afterClaim: () => Promise.resolve(),
  beforePoll: () => Promise.resolve(),
  announceAgain: () => undefined,
  maxSleepMs: () => Number.POSITIVE_INFINITY,
};
