// A small world of workers that claim: runs that are committed late, given back or left by a killed worker, and
// notifications that are lost. Each step is one that the engine or the server does as a whole; between any two,
// another worker may do one of its own. Claims and polls are as claims.ts and passes.ts have them, without time:
// whatever has a pause may come at once. Only where a
// notification is lost do workers poll: in all other worlds, what is due starts before a poll comes.
import type { Sent } from '../../../../src/engine/claim/watermarks.js';
import type { Claim } from '../../../../src/store/runs/claim/claim.js';
import type { Model } from './explore.js';
import { type Event, executeClaim, isAbove, passed, type Run, stateOf } from './lanes.js';

/** Each of them is a fault that the exploration must find. */
export const MUTANTS = [
  'no claim is complete',
  'what a poll says during a complete claim is dropped',
  'a lost notification is never made up for',
  'a poll leaves out what lies below a watermark',
  'what a poll finds makes no claim complete',
  'a notification during a claim is dropped',
] as const;
export type Mutant = (typeof MUTANTS)[number];

const RUNS: readonly Run[] = [
  { id: 1, queue: 'a', second: 10 },
  { id: 2, queue: 'a', second: 20 },
  { id: 3, queue: 'b', second: 30 },
];
/** Watermarks that are later than the runs in their lane. */
const PASSED = passed(40);

interface Worker {
  readonly isAlive: boolean;
  readonly events: readonly Event[];
  /** A notification has come, or a claim found more: it claims as soon as none is under way. */
  readonly mustClaim: boolean;
  readonly claim: {
    readonly sent: Sent;
    readonly isEverywhere: boolean;
    readonly isComplete: boolean;
    readonly answer: Claim;
  } | null;
  /** A claim was answered since the last complete one was sent, so that another is due after a pause. */
  readonly owesComplete: boolean;
  /** A poll has found something: the next claim is complete. */
  readonly mustBeComplete: boolean;
  /** Since a run became free for the last time. */
  readonly hasPolled: boolean;
}

/** A number: of the worker that holds it, and does not end it. */
type RunState = 'uncommitted' | 'free' | number;

export interface World {
  readonly runs: readonly RunState[];
  readonly workers: readonly Worker[];
  /** How often each of these may still happen. */
  readonly left: { readonly kills: number; readonly returns: number; readonly losses: number };
  readonly hasLost: boolean;
  /** How many runs each worker has room for. */
  readonly concurrency: number;
}

const IDLE: Worker = {
  isAlive: true,
  events: [],
  mustClaim: true,
  claim: null,
  owesComplete: false,
  mustBeComplete: false,
  hasPolled: false,
};

export interface Beginning extends Partial<World['left']> {
  /** With three, two lanes have some. */
  readonly runs: 2 | 3;
  readonly workers: 1 | 2;
  /** All runs are committed late, below the watermarks of all workers. */
  readonly havePassed?: boolean;
  readonly concurrency?: number;
}

export function first({ runs, workers, havePassed = false, ...more }: Beginning): World {
  const { kills = 0, returns = 0, losses = 0, concurrency = RUNS.length } = more;
  const worker = havePassed ? { ...IDLE, events: PASSED, mustClaim: false, owesComplete: true } : IDLE;
  return {
    runs: (['uncommitted', havePassed ? 'uncommitted' : 'free', 'uncommitted'] as const).slice(0, runs),
    workers: [worker, worker].slice(0, workers),
    left: { kills, returns, losses },
    hasLost: false,
    concurrency,
  };
}

const freeRuns = ({ runs }: World) => RUNS.filter((_, index) => runs[index] === 'free');
const hasRoom = (world: World, index: number) =>
  world.runs.filter(state => state === index).length < world.concurrency;
const withWorker = (world: World, index: number, change: Partial<Worker>): World => ({
  ...world,
  workers: world.workers.map((worker, each) => {
    if (each !== index) return worker;
    const changed = { ...worker, ...change };
    return { ...changed, events: stateOf(changed.events).events };
  }),
});
/** Polls from before know nothing of it. */
const freed = (world: World, runs: readonly RunState[]): World => ({
  ...world,
  runs,
  workers: world.workers.map(worker => (worker.hasPolled ? { ...worker, hasPolled: false } : worker)),
});
const notified = (world: World, mutant: Mutant | null): World => ({
  ...world,
  workers: world.workers.map(worker => {
    const isDropped = mutant === 'a notification during a claim is dropped' && worker.claim !== null;
    return isDropped ? worker : { ...worker, mustClaim: true };
  }),
});

/** What may happen next, by name. */
function steps(world: World, mutant: Mutant | null): [string, World][] {
  const next: [string, World][] = [];
  const { left } = world;
  world.runs.forEach((state, index) => {
    const free = freed(world, world.runs.with(index, 'free'));
    if (state === 'uncommitted') {
      next.push([`commit ${index}`, notified(free, mutant)]);
      if (left.losses > 0)
        next.push([
          `commit ${index}, not told`,
          { ...free, hasLost: true, left: { ...left, losses: left.losses - 1 } },
        ]);
    }
    if (typeof state !== 'number') return;
    if (left.returns > 0)
      next.push([
        `give back ${index}`,
        notified({ ...free, left: { ...left, returns: left.returns - 1 } }, mutant),
      ]);
  });
  world.workers.forEach((worker, index) => {
    if (!worker.isAlive) return;
    next.push(...workerSteps(world, index, worker, mutant));
    if (left.kills > 0) next.push([`kill ${index}`, killed(world, index, mutant)]);
  });
  return next;
}

/** What it holds is free again once its lease is over, and the reaper notifies. */
function killed(world: World, index: number, mutant: Mutant | null): World {
  const dead = withWorker(world, index, { ...IDLE, isAlive: false, mustClaim: false });
  const runs = dead.runs.map(state => (state === index ? 'free' : state));
  return notified({ ...freed(dead, runs), left: { ...world.left, kills: world.left.kills - 1 } }, mutant);
}

function workerSteps(world: World, index: number, worker: Worker, mutant: Mutant | null): [string, World][] {
  const next: [string, World][] = [];
  const { claim, events, mustBeComplete, owesComplete } = worker;
  const { known, whereMore, everywhere, complete } = stateOf(events);
  const canClaim = hasRoom(world, index);
  const change = (name: string, more: Partial<Worker>, of = world) =>
    next.push([`${name} by ${index}`, withWorker(of, index, more)]);
  /** It is carried out by the server when it is sent: what happens before that is as if it were sent later. */
  const send = (name: string, sent: Sent, kind: 'where more' | 'everywhere' | 'complete') => {
    const isEverywhere = kind !== 'where more';
    const isComplete = kind === 'complete';
    const [answer, run] = executeClaim(freeRuns(world), sent, isEverywhere);
    const runs = run === null ? world.runs : world.runs.with(RUNS.indexOf(run), index);
    change(
      name,
      {
        mustClaim: false,
        events: isEverywhere ? [...events, ['everywhere', isComplete]] : events,
        claim: { sent, isEverywhere, isComplete, answer },
        ...(isComplete && { owesComplete: false, mustBeComplete: false }),
      },
      { ...world, runs },
    );
  };
  if (claim === null && worker.mustClaim && canClaim && !mustBeComplete) {
    if (whereMore !== null) send('claim where more', whereMore, 'where more');
    send('claim', everywhere, 'everywhere');
  }
  if (claim === null && (owesComplete || mustBeComplete) && canClaim && mutant !== 'no claim is complete')
    send('complete claim', complete, 'complete');
  if (claim !== null) {
    const after: Event[] = [...events, ['claimed', claim.answer, claim.sent]];
    const watermarks = stateOf(after);
    const goesOn = claim.answer.hasMore || watermarks.hasMore || watermarks.haveFallen || !claim.isEverywhere;
    const isVain = !claim.answer.lanes.some(({ at }) => at !== null);
    const owesMore = watermarks.known.length > 0 && !(claim.isComplete && isVain);
    const isDropped = claim.isComplete && mutant === 'what a poll says during a complete claim is dropped';
    change('claim answered', {
      events: after,
      claim: null,
      mustClaim: worker.mustClaim || goesOn,
      owesComplete: owesComplete || owesMore,
      mustBeComplete: mustBeComplete && !isDropped,
    });
  }
  if (world.hasLost && !worker.hasPolled && mutant !== 'a lost notification is never made up for') {
    const isBelow = (run: Run) =>
      !isAbove(
        run,
        known.find(mark => mark.queue === run.queue),
      );
    const leavesOut = mutant === 'a poll leaves out what lies below a watermark';
    const isOverdue = freeRuns(world).some(run => !(leavesOut && isBelow(run)));
    const saysSo = isOverdue && mutant !== 'what a poll finds makes no claim complete';
    change('poll', {
      mustClaim: worker.mustClaim || isOverdue,
      mustBeComplete: mustBeComplete || saysSo,
      hasPolled: true,
    });
  }
  return next;
}

/**
 * A run stays free although a worker has room: a poll of such a worker and its next claims have left it, or all
 * workers are at rest, so that nothing but time goes by.
 */
function faultOf(world: World, mutant: Mutant | null): string | null {
  const left = freeRuns(world).map(run => RUNS.indexOf(run));
  const able = world.workers.flatMap((worker, index) =>
    worker.isAlive && hasRoom(world, index) ? [worker] : [],
  );
  if (left.length === 0 || able.length === 0) return null;
  const isClaiming = (worker: Worker) => worker.claim !== null || worker.mustClaim || worker.mustBeComplete;
  if (able.some(worker => worker.hasPolled && !isClaiming(worker)))
    return `a poll and its claims have left runs ${left.join(' and ')}`;
  const isAtRest = world.workers.every(
    (worker, index) => !worker.isAlive || workerSteps(world, index, worker, mutant).length === 0,
  );
  return isAtRest ? `runs ${left.join(' and ')} are never claimed` : null;
}

/** Of two worlds with the same key the same can follow: workers that change lanes make no difference. */
function keyOf({ runs, workers, left, hasLost }: World): string {
  const kinds = workers.map(keyOfWorker);
  const isSwapped = workers.length === 2 && (kinds[0] ?? 0) > (kinds[1] ?? 0);
  const of = (state: RunState) => (isSwapped && typeof state === 'number' ? 1 - state : state);
  const ordered = isSwapped ? kinds.toReversed() : kinds;
  return [...runs.map(of), '', ...ordered, ...Object.values(left), hasLost].join(' ');
}

const keys = new WeakMap<Worker, number>();
const kindsOfWorkers = new Map<string, number>();
/** Epochs count only beside the claim that is under way: which watermarks have fallen since it was sent. */
function keyOfWorker(worker: Worker): number {
  const found = keys.get(worker);
  if (found !== undefined) return found;
  const { claim } = worker;
  const { haveFallen, whereMore, everywhere, fellIn } = stateOf(worker.events);
  const fallen = claim && Object.values(fellIn).map(epoch => epoch > claim.sent.epoch);
  const key = JSON.stringify([
    { ...worker, events: null, claim: claim && { ...claim, sent: claim.sent.watermarks } },
    [haveFallen, whereMore?.watermarks, everywhere.watermarks, fallen],
  ]);
  const kind = kindsOfWorkers.get(key) ?? kindsOfWorkers.size;
  kindsOfWorkers.set(key, kind);
  keys.set(worker, kind);
  return kind;
}

export const claimModel = (mutant: Mutant | null): Model<World> => ({
  // Without the worlds in which all workers are dead.
  steps: world => steps(world, mutant).filter(([, after]) => after.workers.some(worker => worker.isAlive)),
  keyOf,
  faultOf: world => faultOf(world, mutant),
});
