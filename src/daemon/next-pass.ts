// Decides, as pure functions, what a daemon's next pass does, and when. A poll is the question what is due.
import type { WakeCause } from '../engine/worker/wakeup.js';
import type { NextDue } from '../store/reads/next-due.js';

/** When each step is due, in milliseconds of a steady clock; infinite: it is not. */
export interface Plan {
  readonly registerAt: number;
  readonly reapAt: number;
  /** What waits for events is to go on. */
  readonly resumeAt: number;
  /** Runs of fair keys are to join their scopes. */
  readonly arriveAt: number;
  readonly materializeAt: number;
  readonly claimAt: number;
  /** Once the minute has turned, the first pass that claims after materializing is noted as a tick. */
  readonly noteAt: number;
  /** From then on, a poll also asks whether there is anything to reap. */
  readonly checkReapAt: number;
  /** How long the last reaping took, or the poll that checked for it, in milliseconds. */
  readonly reapTookMs: number;
  /** How soon to claim again when overdue runs could not be claimed. */
  readonly retryMs: number;
  /** When the next poll is due, even if nothing else is. */
  readonly pollBy: number;
  /**
   * From then on, a poll asks from the first run of each lane, whatever claims have passed; also while the
   * worker goes on claiming.
   */
  readonly completeAt: number;
  /**
   * The last poll has answered what is due, there was room for it, and a notification names whatever else
   * becomes due. So neither a claim after a notification nor the end of a run needs another poll.
   */
  readonly needsNoPoll: boolean;
}

/** The shortest time between two reapings by the clock, and the shortest turn to reap. */
export const REAP_EVERY_MS = 5000;
const REAP_NOTIFIED_MS = 500;
/** The complete polls of all daemons take 1/20 of the time of one at most. */
const COMPLETE_SHARE = 20;
/** Checks for reaping read all due runs, so they may take at most 1/20 of the time. */
const REAP_SHARE = 20;
const FIRST_RETRY_MS = 5;

const NEVER = Number.POSITIVE_INFINITY;

/**
 * A daemon that starts has registered and noted that. It claims at once; the first poll checks whether there
 * is anything to reap, which must not delay the claims.
 */
export const FIRST_PLAN: Plan = {
  registerAt: NEVER,
  reapAt: NEVER,
  resumeAt: NEVER,
  arriveAt: NEVER,
  noteAt: NEVER,
  materializeAt: 0,
  claimAt: 0,
  checkReapAt: 0,
  reapTookMs: 0,
  retryMs: FIRST_RETRY_MS,
  pollBy: 0,
  completeAt: 0,
  needsNoPoll: false,
};

/** The steps of a pass, in their order. A pass that materializes claims, too. */
export type Step = 'register' | 'reap' | 'resume' | 'arrive' | 'materialize' | 'claim' | 'note';

const timeOf = (step: Step) => `${step}At` as const;

export const isDue = (plan: Plan, step: Step, now: number): boolean => now >= plan[timeOf(step)];

/** The step begins: it is due again only if something says so, perhaps while it is under way. */
export const begun = (plan: Plan, step: Step): Plan => ({ ...plan, [timeOf(step)]: NEVER });

/** The step is due at once: something has come for it, or the last pass has left something of it. */
export const madeDue = (plan: Plan, step: Step): Plan => ({ ...plan, [timeOf(step)]: 0 });

export interface PassResult {
  readonly startedAt: number;
  readonly materialized: boolean;
  /** The server refused to materialize. */
  readonly isRefused: boolean;
  /** The pass claimed in all lanes, not only in the one that notifications named. */
  readonly claimedEverywhere: boolean;
  readonly claimed: number;
  readonly hasRoom: boolean;
  /** The worker goes on claiming by itself. */
  readonly isClaiming: boolean;
}

export interface Poll {
  readonly askedAt: number;
  readonly answeredAt: number;
  readonly due: NextDue;
  /** It asked from the first run of each lane. */
  readonly isComplete: boolean;
  /** Whether the daemon is notified of each run that is enqueued. */
  readonly isNotified: boolean;
}

/**
 * Late enough that checks take no more than their share of the time. Counts the shorter of the last two,
 * since a single one may have waited for a connection or a lock.
 */
function nextCheck({ reapTookMs }: Plan, startedAt: number, endedAt: number) {
  const tookMs = endedAt - startedAt;
  const checkReapAt = startedAt + Math.max(REAP_EVERY_MS, REAP_SHARE * Math.min(tookMs, reapTookMs));
  return { checkReapAt: Math.max(checkReapAt, endedAt), reapTookMs: tookMs };
}

/**
 * From when on a notification that there is something to reap counts, since anybody can send it: half a
 * second after the last reaping began, or later if reaping takes long.
 */
const notifiedFrom = (checkReapAt: number) => checkReapAt - REAP_EVERY_MS + REAP_NOTIFIED_MS;

/** @param isMore the rest is due in the next pass */
export function afterReap(plan: Plan, startedAt: number, endedAt: number, isMore = false): Plan {
  const check = nextCheck(plan, startedAt, endedAt);
  // Infinite, unless a notification came meanwhile.
  const reapAt = Math.max(plan.reapAt, notifiedFrom(check.checkReapAt));
  return { ...plan, reapAt: isMore ? endedAt : reapAt, ...check };
}

/**
 * Whether the daemon reaps only because it goes on claiming, so that no poll asks whether there is anything
 * to reap. All daemons that go on claiming reap in turn. A daemon that reaps after a poll, a notification or
 * an error waits for no turn.
 */
export const reapsInTurn = (plan: Plan): boolean => plan.reapAt > 0 && plan.reapAt === plan.checkReapAt;

/** It is another daemon's turn to reap. @param endsAt when that turn is over */
export const afterOthersTurn = (plan: Plan, endsAt: number): Plan => ({ ...plan, checkReapAt: endsAt });

/**
 * After a refused reaping, none comes for as long as it took, so that claims get half of the time at least.
 */
export function afterFailedReap(plan: Plan, startedAt: number, endedAt: number): Plan {
  const checkReapAt = endedAt + Math.max(REAP_EVERY_MS, endedAt - startedAt);
  return { ...plan, reapAt: NEVER, checkReapAt };
}

/**
 * While the worker goes on claiming, the daemon makes complete polls only, and reaps and materializes by the
 * clock. The first poll and the first reaping wait too. Otherwise several workers that start with a backlog
 * would all read it at once.
 */
export function whileClaiming(
  plan: Plan,
  { startedAt }: Pick<PassResult, 'startedAt'>,
  pollMs: number,
): Plan {
  const isFirst = plan.checkReapAt === FIRST_PLAN.checkReapAt;
  const checkReapAt = isFirst ? startedAt + REAP_EVERY_MS : plan.checkReapAt;
  return {
    ...plan,
    reapAt: Math.min(plan.reapAt, checkReapAt),
    checkReapAt,
    // The answer of the last poll may be out of date.
    materializeAt: Math.min(plan.materializeAt, startedAt + pollMs),
    pollBy: startedAt + pollMs,
    completeAt: isFirst ? startedAt + pollMs : plan.completeAt,
    needsNoPoll: false,
  };
}

/** Plans the next pass from the answer of a poll. */
export function afterPoll(
  plan: Plan,
  { askedAt, answeredAt, due, isComplete, isNotified }: Poll,
  pass: PassResult,
  pollMs: number,
): Plan {
  // A run that is still due after a claim in all lanes is held by others: claims for it become rarer.
  const isHeldByOthers = due.isOverdue && pass.claimedEverywhere && pass.claimed === 0;
  const retryMs = isHeldByOthers ? Math.min(plan.retryMs * 2, pollMs) : FIRST_RETRY_MS;
  const retryInMs = pass.hasRoom ? retryMs : pollMs;
  const overdueInMs = pass.claimedEverywhere ? retryInMs : 0;
  const claimInMs = Math.min(due.runMs ?? pollMs, due.isOverdue ? overdueInMs : pollMs);
  const hasRuns = due.runMs !== null || due.isOverdue;
  // An occurrence that is overdue right after materializing may be locked by another host.
  const afterPassMs = pass.materialized ? FIRST_RETRY_MS : 0;
  const materializeInMs = Math.max(due.occurrenceMs ?? NEVER, pass.isRefused ? pollMs : afterPassMs);
  const tookMs = COMPLETE_SHARE * due.daemons * (answeredAt - askedAt);
  const completeAt = isComplete ? answeredAt + Math.max(pollMs, tookMs) : plan.completeAt;
  return {
    ...plan,
    reapAt: due.needsReaping ? askedAt : plan.reapAt,
    // The minute has turned meanwhile, or the pass has left something.
    materializeAt: isDue(plan, 'materialize', askedAt) ? plan.materializeAt : answeredAt + materializeInMs,
    // What an earlier poll has planned stays: a complete one knows of runs that others do not see.
    claimAt: Math.min(plan.claimAt, hasRuns ? answeredAt + claimInMs : NEVER),
    ...(!pass.isClaiming && checksReaping(plan, askedAt) && nextCheck(plan, askedAt, answeredAt)),
    retryMs,
    pollBy: Math.min(answeredAt + pollMs, completeAt),
    completeAt,
    needsNoPoll: isNotified && pass.hasRoom && !pass.isClaiming,
  };
}

/**
 * Whether a pass for which nothing was due ends with a poll. It does not after a claim that found runs, since
 * the last poll has answered what comes next. The next poll finds a run that another session has locked.
 */
export const needsPoll = (plan: Plan, { startedAt, claimed }: Pick<PassResult, 'startedAt' | 'claimed'>) =>
  claimed === 0 || !plan.needsNoPoll || startedAt >= plan.pollBy;

export const checksReaping = (plan: Plan, now: number): boolean => now >= plan.checkReapAt;

/**
 * Milliseconds until a step or the next poll is due, at least 1. A worker that goes on claiming needs no
 * claim.
 */
export function sleepMs(plan: Plan, now: number, isClaiming: boolean): number {
  const { registerAt, reapAt, resumeAt, arriveAt, materializeAt } = plan;
  const others = isClaiming ? plan.completeAt : Math.min(plan.claimAt, plan.pollBy);
  const at = Math.min(registerAt, reapAt, resumeAt, arriveAt, materializeAt, others);
  return Math.max(1, Math.ceil(at - now));
}

/** Whether a daemon that is woken for this cause has nothing to do before the time until which it sleeps. */
export const sleepsOn = ({ needsNoPoll }: Plan, cause: WakeCause): boolean =>
  cause === 'time' || (cause === 'idle' && needsNoPoll);

/** Whether a daemon that has slept claims first, and then polls. @param cause why its sleep has ended */
export const claimsAfter = ({ needsNoPoll }: Plan, cause: WakeCause): boolean =>
  cause === 'change' || (cause === 'idle' && !needsNoPoll);

/** Notified that there is something to reap. */
export const afterReapNotification = (plan: Plan, now: number): Plan => ({
  ...plan,
  reapAt: Math.min(plan.reapAt, Math.max(now, notifiedFrom(plan.checkReapAt))),
});

/** A claim has left runs that a limit holds back: nothing names the time when it lets the next one start. */
export const afterLeft = (plan: Plan): Plan => ({ ...plan, needsNoPoll: false });

/** The minute has turned. */
export const afterMinute = (plan: Plan): Plan => ({ ...plan, registerAt: 0, materializeAt: 0 });

/** After an error anything may still be due; what comes from the outbox, reaping finds. */
export const afterError = (plan: Plan): Plan => ({
  ...plan,
  registerAt: 0,
  reapAt: 0,
  materializeAt: 0,
  claimAt: 0,
});
