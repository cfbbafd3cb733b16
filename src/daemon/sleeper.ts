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
  /** A notification has told of runs. */
  told(): void;
  /** What a claim found. Announces when the daemon wakes up. */
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
    state = afterStep(state, 'wakeUp', clock.now());
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
    told() {
      state = afterTold(state);
    },
    async afterClaim(claimed, hasMore) {
      const now = clock.now();
      state = afterClaim(state, { now, claimed, hasMore });
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
      if (state.isAwake) return pauseMs(state, now);
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
  told: () => undefined,
  afterClaim: () => Promise.resolve(),
  beforePoll: () => Promise.resolve(),
  announceAgain: () => undefined,
  maxSleepMs: () => Number.POSITIVE_INFINITY,
};

// Whether a daemon announces that it may be asleep, so that enqueuers send a NOTIFY.
//
// A daemon that is told of many runs a second looks whether it still needs that: it does not while it goes on
// claiming by itself, or where enqueuers wait for one another because of NOTIFY. Then it announces that it is
// awake, and claims every few milliseconds. Once it finds nothing, it falls asleep.

export interface Wakefulness {
  /** The daemon has announced that it is awake, or is about to. */
  readonly isAwake: boolean;
  /** The last claim has left more that is due: the worker goes on claiming by itself. */
  readonly hasMore: boolean;
  /** When it last found runs. */
  readonly foundAt: number;
  /** How many notifications have told it of runs, and since when they are counted. */
  readonly told: number;
  readonly countedFrom: number;
}

const COUNT_MS = 1000;
/** With fewer notifications, it is woken for each run. */
const MANY_PER_MS = 20 / 1000;
/**
 * After this time without a run, it falls asleep. Not sooner, because a slow commit may hold up all others.
 */
const IDLE_MS = 100;
const MIN_PAUSE_MS = 2;
const MAX_PAUSE_MS = 8;

/** Asleep, so that the first run wakes it. */
export const ASLEEP: Wakefulness = {
  isAwake: false,
  hasMore: false,
  foundAt: Number.NEGATIVE_INFINITY,
  told: 0,
  countedFrom: Number.NEGATIVE_INFINITY,
};

/** What a claim found. `hasMore`: more is due, so the worker goes on claiming by itself. */
export interface Found {
  readonly now: number;
  readonly claimed: number;
  readonly hasMore: boolean;
}

export const afterTold = (state: Wakefulness): Wakefulness => ({ ...state, told: state.told + 1 });

export function afterClaim(state: Wakefulness, { now, claimed, hasMore }: Found): Wakefulness {
  // Up to now the worker has found runs by itself.
  const hadMore = state.hasMore;
  return { ...state, hasMore, ...((claimed > 0 || hasMore || hadMore) && { foundAt: now }) };
}

export type Step = 'wakeUp' | 'checkNotifyLock' | 'count' | 'fallAsleep';

/** What to do now. `count`: begin to count again. */
export function nextStep(state: Wakefulness, now: number): Step | null {
  const { isAwake, hasMore, foundAt, told, countedFrom } = state;
  if (isAwake) return !hasMore && now - foundAt >= IDLE_MS ? 'fallAsleep' : null;
  const countedMs = now - countedFrom;
  if (countedMs < COUNT_MS) return null;
  if (told < countedMs * MANY_PER_MS) return 'count';
  return hasMore ? 'wakeUp' : 'checkNotifyLock';
}

/** Each step begins to count again. */
export function afterStep(state: Wakefulness, step: Step, now: number): Wakefulness {
  const begun = { ...state, told: 0, countedFrom: now };
  if (step === 'wakeUp') return { ...begun, isAwake: true, foundAt: now };
  return step === 'fallAsleep' ? { ...begun, isAwake: false } : begun;
}

/** While awake: until the next claim. A worker that goes on claiming needs none from the daemon. */
export function pauseMs({ hasMore, foundAt }: Wakefulness, now: number): number {
  if (hasMore) return Number.POSITIVE_INFINITY;
  return Math.min(Math.max(MIN_PAUSE_MS, Math.ceil(now - foundAt)), MAX_PAUSE_MS);
}
