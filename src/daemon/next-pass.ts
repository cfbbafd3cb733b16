// Decides, as pure functions, what a daemon's next pass does, and when.
import type { NextDue } from '../store/reads/next-due.js';

/** When each step is due, in milliseconds of a steady clock. */
export interface Plan {
  readonly reapAt: number;
  readonly materializeAt: number;
  readonly claimAt: number;
  /** From then on a look asks whether there is anything to reap. */
  readonly checkReapAt: number;
  /** How soon to claim again when overdue runs could not be claimed. */
  readonly retryMs: number;
  /** When the next look is due, whatever comes before. */
  readonly lookBy: number;
  /**
   * The last look has said what is due, there was room for it, and a notification names whatever else becomes
   * due. So neither a claim that one has caused nor the end of a run needs another look.
   */
  readonly knowsAll: boolean;
}

/** At most so often, and as long as a turn to reap lasts at least. */
export const REAP_EVERY_MS = 5000;
const REAP_NOTIFIED_MS = 500;
/** Reaping checks read over all due runs, so they may take at most 1/20 of the time. */
const REAP_SHARE = 20;
const FIRST_RETRY_MS = 5;

/** All steps are due at once except reaping, which must not delay the claims; the first look checks it. */
export const FIRST_PLAN: Plan = {
  reapAt: Number.POSITIVE_INFINITY,
  materializeAt: 0,
  claimAt: 0,
  checkReapAt: 0,
  retryMs: FIRST_RETRY_MS,
  lookBy: 0,
  knowsAll: false,
};

export interface DueSteps {
  readonly reaps: boolean;
  readonly materializes: boolean;
  readonly claims: boolean;
}

export function dueSteps(plan: Plan, now: number): DueSteps {
  const materializes = now >= plan.materializeAt;
  return { reaps: now >= plan.reapAt, materializes, claims: materializes || now >= plan.claimAt };
}

export interface PassResult {
  readonly startedAt: number;
  readonly materialized: boolean;
  /** The server refused to materialize. */
  readonly isRefused: boolean;
  /** It claimed without restriction, not only where a notification hinted. */
  readonly claimedEverywhere: boolean;
  readonly claimed: number;
  readonly hasRoom: boolean;
}

export interface Look {
  readonly askedAt: number;
  readonly answeredAt: number;
  readonly due: NextDue;
  /** Whether the daemon is notified of each run that is enqueued. */
  readonly isNotified: boolean;
}

/** Late enough for the check to take no more than its share of the time. */
const nextCheckAt = (startedAt: number, endedAt: number) =>
  startedAt + Math.max(REAP_EVERY_MS, REAP_SHARE * (endedAt - startedAt));

export function afterReap(plan: Plan, startedAt: number, endedAt: number): Plan {
  return {
    ...plan,
    reapAt: Number.POSITIVE_INFINITY,
    checkReapAt: nextCheckAt(startedAt, endedAt),
  };
}

/**
 * Whether it reaps only because it goes on claiming, so that no look says whether there is anything to reap.
 * Then all daemons that go on claiming reap in turn. What a look, a notification or an error asks for, it does.
 */
export const reapsInTurn = (plan: Plan): boolean => plan.reapAt > 0 && plan.reapAt === plan.checkReapAt;

/** The reaping was left to another daemon, whose turn is over then. */
export const afterOthersTurn = (plan: Plan, endsAt: number): Plan => ({
  ...plan,
  reapAt: Number.POSITIVE_INFINITY,
  checkReapAt: endsAt,
});

/** A refused reaping pauses for as long as it took, so that claims get at least half of the time. */
export function afterFailedReap(plan: Plan, startedAt: number, endedAt: number): Plan {
  return {
    ...plan,
    reapAt: Number.POSITIVE_INFINITY,
    checkReapAt: endedAt + Math.max(REAP_EVERY_MS, endedAt - startedAt),
  };
}

/**
 * While the worker goes on claiming, there is no look: reaping and materializing go by the clock. The first
 * reaping too: several workers that start with a backlog would all read over it at once.
 */
export function whileClaiming(
  plan: Plan,
  pass: Pick<PassResult, 'startedAt' | 'materialized'>,
  pollMs: number,
): Plan {
  const isFirst = plan.checkReapAt === FIRST_PLAN.checkReapAt;
  const checkReapAt = isFirst ? pass.startedAt + REAP_EVERY_MS : plan.checkReapAt;
  return {
    ...plan,
    reapAt: Math.min(plan.reapAt, checkReapAt),
    checkReapAt,
    // What the last look knew may be out of date.
    materializeAt: Math.min(
      pass.materialized ? Number.POSITIVE_INFINITY : plan.materializeAt,
      pass.startedAt + pollMs,
    ),
    lookBy: pass.startedAt + pollMs,
    knowsAll: false,
  };
}

/** Plans the next pass from a look. Whatever only a poll would find is left to the poll's own look. */
export function afterLook(
  plan: Plan,
  { askedAt, answeredAt, due, isNotified }: Look,
  pass: PassResult,
  pollMs: number,
): Plan {
  // Still due after an unrestricted claim, so others hold it: retried less and less often.
  const isHeldByOthers = due.isOverdue && pass.claimedEverywhere && pass.claimed === 0;
  const retryMs = isHeldByOthers ? Math.min(plan.retryMs * 2, pollMs) : FIRST_RETRY_MS;
  const retryInMs = pass.hasRoom ? retryMs : pollMs;
  const overdueInMs = pass.claimedEverywhere ? retryInMs : 0;
  const claimInMs = Math.min(due.runMs ?? pollMs, due.isOverdue ? overdueInMs : pollMs);
  const hasRuns = due.runMs !== null || due.isOverdue;
  // An occurrence that is overdue right after materializing may be locked by another host.
  const afterPassMs = pass.materialized ? FIRST_RETRY_MS : 0;
  const materializeInMs = Math.max(
    due.occurrenceMs ?? Number.POSITIVE_INFINITY,
    pass.isRefused ? pollMs : afterPassMs,
  );
  return {
    reapAt: due.needsReaping ? askedAt : plan.reapAt,
    materializeAt: answeredAt + materializeInMs,
    claimAt: hasRuns ? answeredAt + claimInMs : Number.POSITIVE_INFINITY,
    checkReapAt: checksReaping(plan, askedAt) ? nextCheckAt(askedAt, answeredAt) : plan.checkReapAt,
    retryMs,
    lookBy: answeredAt + pollMs,
    knowsAll: isNotified && pass.hasRoom,
  };
}

/**
 * Whether a pass for which nothing was due ends with a look. After a claim that found runs it does not: the
 * last look has said what comes next. A run that another session had locked is found by the next look.
 */
export const needsLook = (plan: Plan, { startedAt, claimed }: Pick<PassResult, 'startedAt' | 'claimed'>) =>
  claimed === 0 || !plan.knowsAll || startedAt >= plan.lookBy;

export const checksReaping = (plan: Plan, now: number): boolean => now >= plan.checkReapAt;

/**
 * Milliseconds until something or the next look is due, at least 1. No claim, if the worker claims by
 * itself.
 */
export function sleepMs(plan: Plan, now: number, isClaiming: boolean): number {
  const claimAt = isClaiming ? Number.POSITIVE_INFINITY : plan.claimAt;
  const at = Math.min(plan.reapAt, plan.materializeAt, claimAt, plan.lookBy);
  return Math.max(1, Math.ceil(at - now));
}

/** Woken early, because something was enqueued or a run has ended: claims first, then looks. */
export const afterWake = (plan: Plan): Plan => ({ ...plan, claimAt: 0 });

/** Notified that there is something to reap. Anybody can say so: half a second passes between reapings. */
export const afterReapNotification = (plan: Plan, now: number): Plan => ({
  ...plan,
  reapAt: Math.min(plan.reapAt, Math.max(now, plan.checkReapAt - REAP_EVERY_MS + REAP_NOTIFIED_MS)),
});

export const afterMinute = (plan: Plan): Plan => ({ ...plan, materializeAt: 0 });

/** After an error anything may still be due. */
export const afterError = (plan: Plan): Plan => ({ ...plan, reapAt: 0, materializeAt: 0, claimAt: 0 });
