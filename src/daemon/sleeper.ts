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

export interface Sleeper {
  /** While the daemon is awake, it claims by itself and needs no poll. */
  readonly isAwake: boolean;
  /** All who enqueue can see that the daemon may be asleep, so they notify it of each run. */
  readonly isKnown: boolean;
  /** Announces when the daemon wakes up. */
  afterClaim(found: Omit<Found, 'now'>): Promise<void>;
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
    state = { ...state, isAwake: true };
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
    async afterClaim(found) {
      const now = { ...found, now: clock.now() };
      state = afterClaim(state, now);
      const step = nextStep(state, now);
      if (step !== null) state = afterStep(state, step, now);
      if (step === 'wakeUp') await guarded(wakeUp);
      if (step === 'checkNotifyLock')
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
      // A worker that goes on claiming needs no claim from the daemon.
      if (state.isAwake) return state.backlogSince === null ? PAUSE_MS : Number.POSITIVE_INFINITY;
      const pollMs = isAnnounced && horizon === null ? Number.POSITIVE_INFINITY : POLL_MS;
      const pollAgainAt = POLL_AGAIN_MS.map(ms => announcedAt + ms).find(at => at > now);
      return horizon === null || pollAgainAt === undefined ? pollMs : Math.ceil(pollAgainAt - now);
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

// Whether a daemon announces that it may be asleep, so that enqueuers send a NOTIFY. Each second it looks at
// the last one. It needs no NOTIFY while it has a backlog, since its worker claims by itself. Without a
// backlog, runs start soonest with a NOTIFY for each. A busy daemon does without it where enqueuers wait for
// one another because of NOTIFY, as long as it is busy: it claims every few milliseconds.

export interface Wakefulness {
  /** The daemon has announced that it is awake, or is about to. */
  readonly isAwake: boolean;
  /** Since when each claim has left more that is due; null: the last one has not. */
  readonly backlogSince: number | null;
  /** When it last looked, and how many runs it had claimed until then. */
  readonly lookedAt: number;
  readonly claimed: number;
}

const LOOK_MS = 1000;
/** A daemon that claims fewer runs is not busy. */
const BUSY_PER_MS = 50 / 1000;
/** While it is awake without a backlog: until the next claim. */
const PAUSE_MS = 5;

/** Asleep, so that the first run wakes it. */
export const ASLEEP: Wakefulness = {
  isAwake: false,
  backlogSince: null,
  lookedAt: Number.NEGATIVE_INFINITY,
  claimed: 0,
};

/** What its claims have found. */
export interface Found {
  readonly now: number;
  /** How many runs it has claimed since it started. */
  readonly claimed: number;
  /** More is due, so the worker goes on claiming by itself. */
  readonly hasMore: boolean;
}

export const afterClaim = (state: Wakefulness, { now, hasMore }: Found): Wakefulness => ({
  ...state,
  backlogSince: hasMore ? (state.backlogSince ?? now) : null,
});

export type Step = 'wakeUp' | 'checkNotifyLock' | 'stay' | 'fallAsleep';

/** What to do now; null: it has looked less than a second ago. */
export function nextStep(state: Wakefulness, { now, claimed }: Found): Step | null {
  const { isAwake, backlogSince, lookedAt } = state;
  if (now - lookedAt < LOOK_MS) return null;
  const isBusy = claimed - state.claimed >= (now - lookedAt) * BUSY_PER_MS;
  if (isAwake) return backlogSince !== null || isBusy ? 'stay' : 'fallAsleep';
  if (backlogSince !== null && now - backlogSince >= LOOK_MS) return 'wakeUp';
  return isBusy ? 'checkNotifyLock' : 'stay';
}

export function afterStep(state: Wakefulness, step: Step, { now, claimed }: Found): Wakefulness {
  const isAwake = step === 'wakeUp' || (state.isAwake && step !== 'fallAsleep');
  return { ...state, isAwake, lookedAt: now, claimed };
}
