// Room: daemon. What a daemon's next pass does, and when. Pure: plan in, plan out.
// In: a plan, what a pass did, what a look found. Out: the steps that are due, the next plan, how long to
// sleep.
import type { NextDue } from '../store/reads/next-due.js';

/** When each step is due, by the milliseconds of a steady clock. */
export interface Plan {
  readonly reapAt: number;
  readonly materializeAt: number;
  readonly claimAt: number;
  /** From when on a look asks whether there is anything to reap. */
  readonly checkReapAt: number;
  /** How soon to claim again when overdue runs could not be claimed. */
  readonly retryMs: number;
}

const REAP_EVERY_MS = 5000;
/** Reaping checks take at most 1/20 of the time: they read over all due runs, however many there are. */
const REAP_SHARE = 20;
const FIRST_RETRY_MS = 5;

/**
 * At the start all steps are due but reaping, which must not delay the claims. The first look says whether it
 * is due.
 */
export const FIRST_PLAN: Plan = {
  reapAt: Number.POSITIVE_INFINITY,
  materializeAt: 0,
  claimAt: 0,
  checkReapAt: 0,
  retryMs: FIRST_RETRY_MS,
};

export interface DueSteps {
  readonly reaps: boolean;
  readonly materializes: boolean;
  readonly claims: boolean;
}

/** What a pass does that starts now. */
export function dueSteps(plan: Plan, now: number): DueSteps {
  const materializes = now >= plan.materializeAt;
  return { reaps: now >= plan.reapAt, materializes, claims: materializes || now >= plan.claimAt };
}

/** What a pass did before it looked. */
export interface PassResult {
  readonly startedAt: number;
  readonly materialized: boolean;
  /** The server refused to materialize. */
  readonly isRefused: boolean;
  /** It claimed, not only where a notice hinted. */
  readonly claimedEverywhere: boolean;
  /** How many runs it claimed. */
  readonly claimed: number;
  /** Whether the worker could claim more. */
  readonly hasRoom: boolean;
}

/** A look, and when it was sent and answered. */
export interface Look {
  readonly askedAt: number;
  readonly answeredAt: number;
  readonly due: NextDue;
}

/** The next check waits until it would take its share of the time only. */
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
 * A reaping that the server refused waits as long as it took, so that claims have at least half of the time.
 */
export function afterFailedReap(plan: Plan, startedAt: number, endedAt: number): Plan {
  return {
    ...plan,
    reapAt: Number.POSITIVE_INFINITY,
    checkReapAt: endedAt + Math.max(REAP_EVERY_MS, endedAt - startedAt),
  };
}

/**
 * While the worker goes on claiming by itself, no look is made: reaping and materializing come by the clock.
 * The first reaping too: several workers that start with a backlog would all read over it at once.
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
    materializeAt: pass.materialized ? pass.startedAt + pollMs : plan.materializeAt,
  };
}

/**
 * What a look says about the next pass. What only a poll would find has no time of its own: the poll looks
 * first.
 */
export function afterLook(
  plan: Plan,
  { askedAt, answeredAt, due }: Look,
  pass: PassResult,
  pollMs: number,
): Plan {
  // Still due after a claim everywhere: others hold it. It is claimed again less and less often.
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
    reapAt: due.hasRemains ? askedAt : plan.reapAt,
    materializeAt: answeredAt + materializeInMs,
    claimAt: hasRuns ? answeredAt + claimInMs : Number.POSITIVE_INFINITY,
    checkReapAt: asksForRemains(plan, askedAt) ? nextCheckAt(askedAt, answeredAt) : plan.checkReapAt,
    retryMs,
  };
}

/** Whether a look asks if there is anything to reap. */
export const asksForRemains = (plan: Plan, now: number): boolean => now >= plan.checkReapAt;

/**
 * For how long nothing is due: at least 1 ms, at most a poll. A worker that goes on claiming needs no claim.
 */
export function sleepMs(plan: Plan, now: number, pollMs: number, isClaiming: boolean): number {
  const claimAt = isClaiming ? Number.POSITIVE_INFINITY : plan.claimAt;
  const inMs = Math.ceil(Math.min(plan.reapAt, plan.materializeAt, claimAt) - now);
  return Math.min(Math.max(1, inMs), pollMs);
}

/** Woken before the time: somebody has enqueued, or a run has ended. Claims first and looks then. */
export const afterWake = (plan: Plan): Plan => ({ ...plan, claimAt: 0 });

/** The minute has turned. */
export const afterMinute = (plan: Plan): Plan => ({ ...plan, materializeAt: 0 });

/** Whatever was due may still be due. */
export const afterError = (plan: Plan): Plan => ({ ...plan, reapAt: 0, materializeAt: 0, claimAt: 0 });
