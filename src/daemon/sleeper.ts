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
      if (step !== 'checkNotifyLock') return;
      state = afterFreeNotifyLock(state, now);
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

// Whether a daemon announces that it may be asleep, so that enqueuers send a NOTIFY.
//
// A daemon that is awake claims every few milliseconds without being woken. It announces that only after it
// has been busy for a second, so that a daemon that is woken for each run writes nothing.

export interface Wakefulness {
  /** The daemon has announced that it is awake, or is about to. */
  readonly isAwake: boolean;
  /** Since when it has found runs without a pause; null: there was a pause. */
  readonly busySince: number | null;
  /** Since when each claim has left more that is due; null: the last one has not. */
  readonly backlogSince: number | null;
  /** When it last found runs. */
  readonly foundAt: number;
  readonly awakeSince: number;
  /** The earliest time to ask whether NOTIFY holds up any session. */
  readonly askAt: number;
  /** How long it must be busy before it announces that it is awake. */
  readonly busyMs: number;
  /** While awake: how soon to claim again. */
  readonly pauseMs: number;
}

const MIN_BUSY_MS = 1000;
const MAX_BUSY_MS = 60_000;
/** After a longer time without a run, the daemon is not busy any more. */
const MAX_GAP_MS = 50;
/**
 * After this time without a run, it falls asleep. Not sooner, because a slow commit may hold up all others.
 */
const IDLE_MS = 100;
/** A daemon that was awake for less than `busyMs` times this must be busy for longer the next time. */
const WORTHWHILE = 10;
const MIN_PAUSE_MS = 2;
const MAX_PAUSE_MS = 8;

/** Asleep, so that the first run wakes it. */
export const ASLEEP: Wakefulness = {
  isAwake: false,
  busySince: null,
  backlogSince: null,
  foundAt: Number.NEGATIVE_INFINITY,
  awakeSince: 0,
  askAt: 0,
  busyMs: MIN_BUSY_MS,
  pauseMs: MIN_PAUSE_MS,
};

/** What a claim found. `hasMore`: more is due, so the worker goes on claiming by itself. */
export interface Found {
  readonly now: number;
  readonly claimed: number;
  readonly hasMore: boolean;
}

export function afterClaim(state: Wakefulness, { now, claimed, hasMore }: Found): Wakefulness {
  const hadMore = state.backlogSince !== null;
  const backlogSince = hasMore ? (state.backlogSince ?? now) : null;
  const hasPaused = !hadMore && now - state.foundAt > MAX_GAP_MS;
  // `hadMore`: up to now the worker has found runs by itself.
  const found = claimed > 0 || hasMore || hadMore;
  return {
    ...state,
    backlogSince,
    busySince: hasPaused ? null : state.busySince,
    ...(found && { busySince: hasPaused ? now : (state.busySince ?? now), foundAt: now }),
    pauseMs: found ? MIN_PAUSE_MS : Math.min(state.pauseMs * 2, MAX_PAUSE_MS),
  };
}

export type Step = 'wakeUp' | 'checkNotifyLock' | 'fallAsleep' | null;

/**
 * What to do now. A backlog needs no NOTIFY. Without a backlog, runs start soonest with a NOTIFY for each.
 * The daemon does without it only where enqueuers wait for one another because of it.
 */
export function nextStep(state: Wakefulness, now: number): Step {
  const { isAwake, busySince, backlogSince, foundAt, busyMs } = state;
  if (isAwake) return backlogSince === null && now - foundAt >= IDLE_MS ? 'fallAsleep' : null;
  if (backlogSince !== null && now - backlogSince >= busyMs) return 'wakeUp';
  const isBusy = busySince !== null && now - busySince >= busyMs;
  return isBusy && now >= state.askAt ? 'checkNotifyLock' : null;
}

export const afterWakingUp = (state: Wakefulness, now: number): Wakefulness => ({
  ...state,
  isAwake: true,
  awakeSince: now,
});

/** No session waits because of NOTIFY, so the daemon asks again later. */
export const afterFreeNotifyLock = (state: Wakefulness, now: number): Wakefulness => ({
  ...state,
  askAt: now + MIN_BUSY_MS,
});

export function afterFallingAsleep(state: Wakefulness, now: number): Wakefulness {
  const wasWorthwhile = now - state.awakeSince >= WORTHWHILE * state.busyMs;
  const busyMs = wasWorthwhile ? MIN_BUSY_MS : Math.min(state.busyMs * 2, MAX_BUSY_MS);
  return { ...state, isAwake: false, busySince: null, busyMs };
}

/** Until the next claim or step is due. A worker that goes on claiming needs no claim from the daemon. */
export function maxSleepMs({ isAwake, backlogSince, busyMs, pauseMs }: Wakefulness, now: number): number {
  if (isAwake) return backlogSince === null ? pauseMs : Number.POSITIVE_INFINITY;
  return backlogSince === null
    ? Number.POSITIVE_INFINITY
    : Math.max(1, Math.ceil(backlogSince + busyMs - now));
}
