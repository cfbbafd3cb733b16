// A small world of one daemon, in time: a run is committed below its watermarks, and no notification tells of it,
// nor does a complete claim come by itself. For a while, other runs keep the daemon busy, or full. It plans its passes as passes.ts does, by the
// engine's own decisions. While it has room, the run waits no longer than for one poll and one claim: LONGEST_MS.
import {
  afterPoll,
  afterReap,
  begun,
  FIRST_PLAN,
  isDue,
  madeDue,
  needsPoll,
  type Plan,
  sleepMs,
  whileClaiming,
} from '../../../../src/daemon/next-pass.js';
import { ASLEEP, afterClaim, afterStep, nextStep, type Wakefulness } from '../../../../src/daemon/sleeper.js';
import type { ClaimedLane } from '../../../../src/store/runs/claim/claim.js';
import type { Model } from './explore.js';
import { type Event, executeClaim, isAbove, passed, type Run, stateOf } from './lanes.js';

/** Each of them is a fault that the exploration must find. */
export const POLL_MUTANTS = [
  'a busy daemon never polls',
  'a daemon that knows all never polls',
  'a poll leaves out what lies below a watermark',
  'what a poll finds makes no claim complete',
] as const;
export type PollMutant = (typeof POLL_MUTANTS)[number];

const RUN: Run = { id: 1, queue: 'a', second: 10 };
const PASSED = passed(40);
/** The daemon is busy with runs of this lane. */
const OTHERS: ClaimedLane = {
  queue: 'b',
  priority: 0,
  at: null,
  id: null,
  hasMore: true,
  isLimited: false,
  needsAdmission: false,
};
/** So often, a worker that goes on claiming has room for enough runs. */
const CLAIMS_EVERY_MS = 500;
/** Something else may happen so often. */
const STEP_MS = 1000;
/** While a daemon is awake, it claims so often; five milliseconds would only make more states. */
const AWAKE_PAUSE_MS = 100;
/** With the short pauses of a daemon that has just been awake. */
const LONGEST_MS = 5000 + CLAIMS_EVERY_MS + 100;

export interface PollWorld {
  readonly now: number;
  /** Since when it is free and there is room. */
  readonly run: number | 'uncommitted' | 'claimed';
  readonly listens: boolean;
  readonly isBusy: boolean;
  /** Others wait for the lock of NOTIFY. */
  readonly isContended: boolean;
  readonly claimedSoFar: number;
  readonly isFull: boolean;
  /** How often these may still change. */
  readonly changes: number;
  readonly plan: Plan;
  readonly wakefulness: Wakefulness;
  /** Its row in `sleepers` has been written since it was awake. */
  readonly isKnown: boolean;
  /** What happened to its watermarks. */
  readonly events: readonly Event[];
  /** A poll has found something: the next claim is complete. */
  readonly mustBeComplete: boolean;
  /** The last claim left more: the worker goes on claiming, and does so next at `claimAt`. */
  readonly hasMore: boolean;
  readonly claimAt: number;
  readonly passAt: number;
}

const START_MS = 1_000_000;

export const firstPoll = (listens: boolean, isContended = false): PollWorld => ({
  now: START_MS,
  run: 'uncommitted',
  listens,
  isBusy: false,
  isContended,
  claimedSoFar: 0,
  isFull: false,
  changes: 3,
  plan: FIRST_PLAN,
  wakefulness: ASLEEP,
  isKnown: listens,
  events: PASSED,
  mustBeComplete: false,
  hasMore: false,
  claimAt: START_MS,
  passAt: START_MS,
});

const freeRuns = ({ run }: PollWorld) => (typeof run === 'number' ? [RUN] : []);

/** Claims until nothing more is due, or there are others. Of those, each claim gets one. */
function claims(world: PollWorld): readonly [after: PollWorld, claimed: number] {
  if (world.isFull) return [world, 0];
  const { mustBeComplete: isComplete } = world;
  const before = stateOf(world.events);
  const sent = isComplete ? before.complete : before.everywhere;
  const [answer, run] = executeClaim(freeRuns(world), sent, true);
  const lanes = world.isBusy ? [...answer.lanes.filter(({ queue }) => queue !== 'b'), OTHERS] : answer.lanes;
  const events: Event[] = [
    ...world.events,
    ['everywhere', isComplete],
    ['claimed', { ...answer, lanes }, sent],
  ];
  const state = stateOf(events);
  const hasMore = state.hasMore || state.haveFallen;
  const after = {
    ...world,
    events: state.events,
    mustBeComplete: false,
    run: run === null ? world.run : ('claimed' as const),
    hasMore,
    claimAt: world.now + CLAIMS_EVERY_MS,
  };
  const claimed = Number(world.isBusy || run !== null);
  if (!hasMore || world.isBusy) return [after, claimed];
  const [last, more] = claims(after);
  return [last, claimed + more];
}

function woken(world: PollWorld): PollWorld {
  return { ...world, plan: madeDue(world.plan, 'claim'), passAt: world.now };
}

/** What the worker does by itself. It tells the daemon when nothing is left. */
function ownClaim(world: PollWorld): PollWorld {
  const [after] = claims(world);
  return after.hasMore ? after : woken(after);
}

/** The worker claims much more than the model does, while others keep it busy. */
const BUSY_RUNS = 1000;

/** Whether others wait for the lock of NOTIFY, it finds out anew each time. */
function afterClaims(world: PollWorld, claimed: number): PollWorld {
  if (!world.listens) return world;
  const { now, hasMore } = world;
  const soFar = world.claimedSoFar + (world.isBusy ? BUSY_RUNS : claimed);
  const found = { now, claimed: soFar, hasMore };
  const state = afterClaim(world.wakefulness, found);
  const step = nextStep(state, found);
  const after = { ...world, claimedSoFar: soFar };
  if (step === null) return { ...after, wakefulness: state };
  const wakesUp = step === 'wakeUp' || (step === 'checkNotifyLock' && world.isContended);
  const wakefulness = afterStep(state, wakesUp ? 'wakeUp' : step, found);
  return { ...after, wakefulness, isKnown: world.isKnown && !wakesUp };
}

/** As `Passes.pass`. */
function pass(from: PollWorld, mutant: PollMutant | null): PollWorld {
  const { now: startedAt, listens } = from;
  let { plan: planned } = from.wakefulness.isAwake ? woken(from) : from;
  const reaps = isDue(planned, 'reap', startedAt);
  const materializes = isDue(planned, 'materialize', startedAt);
  const doesClaim = materializes || isDue(planned, 'claim', startedAt);
  if (reaps) planned = afterReap(begun(planned, 'reap'), startedAt, startedAt);
  if (materializes) planned = begun(planned, 'materialize');
  if (doesClaim) planned = begun(planned, 'claim');
  const prepared = { ...from, plan: planned };
  const [claimant, claimed] = doesClaim ? claims(prepared) : [prepared, 0];
  const pollMs = listens ? 5000 : 1000;
  let world = afterClaims(claimant, claimed);
  const isClaiming = world.hasMore || world.wakefulness.isAwake;
  const done = {
    startedAt,
    materialized: materializes,
    isRefused: false,
    claimedEverywhere: doesClaim,
    claimed,
    isClaiming,
  };
  if (isClaiming) world = { ...world, plan: whileClaiming(world.plan, done, pollMs) };
  const polls = isClaiming
    ? startedAt >= world.plan.completeAt && mutant !== 'a busy daemon never polls'
    : reaps || doesClaim || needsPoll(world.plan, done) || !world.isKnown;
  if (polls) world = poll(world, { ...done, hasRoom: !world.isFull }, pollMs, mutant);
  const neverPolls =
    (isClaiming && mutant === 'a busy daemon never polls') ||
    (world.plan.needsNoPoll && mutant === 'a daemon that knows all never polls');
  const never = Number.POSITIVE_INFINITY;
  const plan = neverPolls ? { ...world.plan, pollBy: never, completeAt: never } : world.plan;
  const awakeMs =
    world.wakefulness.isAwake && world.wakefulness.backlogSince === null ? AWAKE_PAUSE_MS : never;
  const ms = Math.min(sleepMs(plan, world.now, isClaiming), awakeMs);
  return { ...world, plan, passAt: world.now + ms };
}

function poll(
  world: PollWorld,
  done: Parameters<typeof afterPoll>[2],
  pollMs: number,
  mutant: PollMutant | null,
): PollWorld {
  const { now, events, listens } = world;
  const isComplete = now >= world.plan.completeAt;
  const leavesOut = !isComplete || mutant === 'a poll leaves out what lies below a watermark';
  const mark = leavesOut ? stateOf(events).known.find(each => each.queue === 'a') : undefined;
  const isOverdue = world.isBusy || freeRuns(world).some(run => isAbove(run, mark));
  const due = {
    occurrenceMs: null,
    runMs: null,
    isOverdue,
    isFairDue: false,
    waitsForCode: false,
    isOfferDue: false,
    needsReaping: false,
    daemons: 1,
  };
  const saysSo = isComplete && isOverdue && mutant !== 'what a poll finds makes no claim complete';
  return {
    ...world,
    isKnown: listens && (world.isKnown || !done.isClaiming),
    mustBeComplete: world.mustBeComplete || saysSo,
    plan: afterPoll(
      world.plan,
      { askedAt: now, answeredAt: now, due, isComplete, isNotified: listens },
      done,
      pollMs,
    ),
  };
}

/** What may happen next, by name. */
function steps(world: PollWorld, mutant: PollMutant | null): [string, PollWorld][] {
  const { now, passAt, claimAt, isBusy, isFull } = world;
  const next: [string, PollWorld][] = [];
  const at = `at ${(now - START_MS) / 1000} s`;
  if (world.run === 'claimed') return next;
  if (world.run === 'uncommitted') next.push([`${at} commit`, { ...world, run: now }]);
  if (world.changes > 0) {
    const changed = { ...world, changes: world.changes - 1 };
    // Its first run wakes the daemon.
    next.push([
      `${at} ${isBusy ? 'no others' : 'others'}`,
      isBusy ? { ...changed, isBusy: false } : woken({ ...changed, isBusy: true }),
    ]);
    next.push([
      `${at} ${isFull ? 'room' : 'no room'}`,
      isFull ? withRoom(changed) : { ...changed, isFull: true },
    ]);
  }
  const claimsItself = world.hasMore && !isFull;
  if (passAt <= now) next.push([`${at} pass`, pass(world, mutant)]);
  else if (claimsItself && claimAt <= now) next.push([`${at} claim`, ownClaim(world)]);
  else {
    const until = Math.min(passAt, now + STEP_MS, claimsItself ? claimAt : Number.POSITIVE_INFINITY);
    next.push([`${at} wait`, { ...world, now: until }]);
  }
  return next;
}

/** A run has ended. As `Passes.sleep`: a daemon that knows all does nothing about that. */
function withRoom(world: PollWorld): PollWorld {
  const { now } = world;
  const run = typeof world.run === 'number' ? now : world.run;
  const after = { ...world, isFull: false, run, claimAt: now };
  return world.plan.needsNoPoll ? after : woken(after);
}

/** By how long ago all was, and how soon it is due. What has been so for long enough makes no difference. */
function keyOf({
  now,
  plan,
  wakefulness,
  run,
  claimAt,
  passAt,
  events,
  claimedSoFar,
  ...world
}: PollWorld): string {
  const until = (at: number) => Math.max(at - now, 0);
  const since = (at: number, mostMs: number) => Math.min(now - at, mostMs);
  const { known, hasMore, haveFallen } = stateOf(events);
  const { reapAt, materializeAt, checkReapAt, pollBy, completeAt, retryMs, needsNoPoll } = plan;
  const { isAwake, backlogSince, lookedAt, claimed } = wakefulness;
  return JSON.stringify([
    world,
    typeof run === 'number' && !world.isFull ? now - run : run === 'uncommitted',
    world.hasMore && until(claimAt),
    until(passAt),
    [
      checkReapAt === 0,
      retryMs,
      needsNoPoll,
      ...[reapAt, materializeAt, plan.claimAt, checkReapAt, pollBy, completeAt].map(until),
    ],
    [
      isAwake,
      backlogSince && since(backlogSince, 1000),
      since(lookedAt, 1000),
      claimedSoFar - claimed >= BUSY_RUNS,
    ],
    [known, hasMore, haveFallen],
  ]);
}

export const pollModel = (mutant: PollMutant | null): Model<PollWorld> => ({
  steps: world => steps(world, mutant),
  keyOf,
  faultOf: ({ now, run, isFull }) =>
    typeof run === 'number' && !isFull && now - run > LONGEST_MS
      ? `it has waited for more than ${LONGEST_MS} ms`
      : null,
});
