// A small world of workers that claim: runs that are committed late, given back or left by a killed worker, and
// notifications that are lost. Each step is one that the engine or the server does as a whole; between any two,
// another worker may do one of its own. The watermarks are the engine's; the rest is as claimer.ts, sweep.ts
// and the statements have it, without SQL and time.
import { type Sent, Watermarks } from '../../../../src/engine/claim/watermarks.js';
import type { Claim, ClaimedLane } from '../../../../src/store/runs/claim/claim.js';
import type { Watermark } from '../../../../src/store/runs/claim/queue-lanes.js';
import type { Model } from './explore.js';

/** Each of them is a fault that the exploration must find. */
export type Mutant =
  | 'no sweep'
  | 'a sweep counts claims when it is answered'
  | 'what a sweep finds starts no claim'
  | 'a lost notification is never made up for'
  | 'a watermark that fell starts no claim'
  | 'a notification during a claim is dropped';

const RUNS = [
  { id: 1, queue: 'a', second: 10 },
  { id: 2, queue: 'a', second: 20 },
  { id: 3, queue: 'b', second: 30 },
] as const;
const at = (second: number) => new Date(Date.parse('2026-03-02T12:00:00Z') + second * 1000).toISOString();

/** What was done to a worker's watermarks, in this order: they are made anew from it. */
type Event =
  | readonly ['everywhere']
  | readonly ['claimed', Claim, Sent]
  | readonly ['lower', readonly Watermark[]];

interface Worker {
  readonly isAlive: boolean;
  readonly events: readonly Event[];
  /** A notification has come, or a claim found more: it claims as soon as none is under way. */
  readonly mustClaim: boolean;
  readonly claim: { readonly sent: Sent; readonly isEverywhere: boolean; readonly answer: Claim } | null;
  /** A claim was answered since the last sweep was sent. */
  readonly hasClaimed: boolean;
  readonly sweep: { readonly found: readonly Watermark[] } | null;
}

/** A number: of the worker that holds it, or has ended it. */
type RunState = 'uncommitted' | 'free' | number;

export interface World {
  readonly runs: readonly RunState[];
  readonly workers: readonly Worker[];
  /** How often each of these may still happen. */
  readonly left: { readonly kills: number; readonly returns: number; readonly losses: number };
  readonly hasLost: boolean;
}

const IDLE: Worker = {
  isAlive: true,
  events: [],
  mustClaim: true,
  claim: null,
  hasClaimed: false,
  sweep: null,
};

/** @param runs how many there are: with three, two lanes have some */
export const first = (left: Partial<World['left']>, runs: 2 | 3, workers: 1 | 2): World => ({
  runs: (['uncommitted', 'free', 'uncommitted'] as const).slice(0, runs),
  workers: [IDLE, IDLE].slice(0, workers),
  left: { kills: 0, returns: 0, losses: 0, ...left },
  hasLost: false,
});

/** What the watermarks of a worker say. */
interface State {
  /** Of all histories with the same future, the one that was met first. */
  readonly events: readonly Event[];
  readonly known: readonly Watermark[];
  readonly hasMore: boolean;
  readonly haveFallen: boolean;
  readonly whereMore: Sent | null;
  readonly everywhere: Sent;
  /** In which epoch the watermark of a queue fell last. */
  readonly fellIn: Readonly<Record<string, number>>;
}
const states = new WeakMap<readonly Event[], State>();
const canonical = new Map<string, State>();

function stateOf({ events }: Pick<Worker, 'events'>): State {
  const found = states.get(events);
  if (found) return found;
  const watermarks = new Watermarks();
  const fellIn: Record<string, number> = { a: 0, b: 0 };
  let epoch = 0;
  for (const event of events) {
    if (event[0] === 'everywhere') watermarks.everywhere();
    else if (event[0] === 'claimed') watermarks.claimed(event[1], event[2]);
    else
      for (const lane of event[1]) {
        watermarks.lower([lane]);
        const after = watermarks.in(lane).epoch;
        if (after > epoch) fellIn[lane.queue] = epoch = after;
      }
  }
  const { known, hasMore, haveFallen } = watermarks;
  const whereMore = watermarks.whereMore();
  const everywhere = watermarks.everywhere();
  const made = { events, known, hasMore, haveFallen, whereMore, everywhere, fellIn };
  const key = JSON.stringify([haveFallen, whereMore, everywhere, fellIn]);
  const state = canonical.get(key) ?? made;
  canonical.set(key, state);
  states.set(events, state);
  return state;
}

const withRun = (world: World, index: number, state: RunState): World => ({
  ...world,
  runs: world.runs.with(index, state),
});
const withWorker = (world: World, index: number, change: Partial<Worker>): World => ({
  ...world,
  workers: world.workers.map((worker, each) => {
    if (each !== index) return worker;
    const changed = { ...worker, ...change };
    return { ...changed, events: stateOf(changed).events };
  }),
});
const notified = (world: World, mutant: Mutant | null): World => ({
  ...world,
  workers: world.workers.map(worker => {
    const isDropped = mutant === 'a notification during a claim is dropped' && worker.claim !== null;
    return isDropped ? worker : { ...worker, mustClaim: true };
  }),
});

const isAbove = (run: (typeof RUNS)[number], mark: Watermark | undefined) => {
  if (mark === undefined || mark.at === '-infinity') return true;
  const ms = Date.parse(at(run.second)) - Date.parse(mark.at);
  return ms > 0 || (ms === 0 && run.id > Number(mark.id));
};

/** One run at most, as the statements have it: so there is often more. */
function executeClaim(world: World, sent: Sent, isEverywhere: boolean): [Claim, number | null] {
  const lanes = isEverywhere ? ['a', 'b'] : sent.watermarks.map(mark => mark.queue);
  const open = lanes.flatMap(queue => {
    const mark = sent.watermarks.find(each => each.queue === queue);
    const first = RUNS.findIndex(
      (run, index) => run.queue === queue && world.runs[index] === 'free' && isAbove(run, mark),
    );
    // A claim in lanes visits all of them.
    return first === -1 && isEverywhere ? [] : [{ queue, first }];
  });
  const taken = open.findIndex(({ first }) => first !== -1);
  const claimed: ClaimedLane[] = open.map(({ queue, first }, index) => {
    const run = index === taken ? RUNS[first] : undefined;
    const isUnread = taken !== -1 && index > taken;
    return {
      queue,
      priority: 0,
      at: run === undefined ? null : at(run.second),
      id: run === undefined ? null : `${run.id}`,
      hasMore: run !== undefined || isUnread,
      isLimited: false,
      needsAdmission: false,
    };
  });
  const claim = { runs: [], needsAdmission: [], lanes: claimed, hasMore: claimed.some(lane => lane.hasMore) };
  return [claim, open[taken]?.first ?? null];
}

const executeSweep = (world: World, watermarks: readonly Watermark[]): Watermark[] =>
  watermarks.flatMap(mark => {
    const run = RUNS.find(
      (each, index) => each.queue === mark.queue && world.runs[index] === 'free' && !isAbove(each, mark),
    );
    return run === undefined ? [] : [{ ...mark, at: at(run.second), id: `${run.id}` }];
  });

/** What may happen next, by name. */
function steps(world: World, mutant: Mutant | null): [string, World][] {
  const next: [string, World][] = [];
  const { left } = world;
  if (world.hasLost) next.push(['a minute', { ...notified(world, null), hasLost: false }]);
  world.runs.forEach((state, index) => {
    if (state === 'uncommitted') {
      const committed = withRun(world, index, 'free');
      next.push([`commit ${index}`, notified(committed, mutant)]);
      if (left.losses > 0)
        next.push([
          `commit ${index}, not told`,
          { ...committed, hasLost: true, left: { ...left, losses: left.losses - 1 } },
        ]);
    }
    if (typeof state !== 'number') return;
    if (left.returns > 0)
      next.push([
        `give back ${index}`,
        notified({ ...withRun(world, index, 'free'), left: { ...left, returns: left.returns - 1 } }, mutant),
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
  return notified({ ...dead, runs, left: { ...world.left, kills: world.left.kills - 1 } }, mutant);
}

function workerSteps(world: World, index: number, worker: Worker, mutant: Mutant | null): [string, World][] {
  const next: [string, World][] = [];
  const { claim, sweep } = worker;
  const change = (name: string, more: Partial<Worker>, of = world) =>
    next.push([`${name} by ${index}`, withWorker(of, index, more)]);
  /** It is carried out by the server when it is sent: what happens before that is as if it were sent later. */
  const send = (name: string, sent: Sent, isEverywhere: boolean, events: readonly Event[]) => {
    const [answer, run] = executeClaim(world, sent, isEverywhere);
    const after = run === null ? world : withRun(world, run, index);
    change(name, { mustClaim: false, events, claim: { sent, isEverywhere, answer } }, after);
  };
  if (claim === null && worker.mustClaim) {
    const some = stateOf(worker).whereMore;
    if (some !== null) send('claim where more', some, false, worker.events);
    send('claim', stateOf(worker).everywhere, true, [...worker.events, ['everywhere']]);
  }
  if (claim !== null) {
    const events: Event[] = [...worker.events, ['claimed', claim.answer, claim.sent]];
    const watermarks = stateOf({ events });
    const hasFallen = watermarks.haveFallen && mutant !== 'a watermark that fell starts no claim';
    const goesOn = claim.answer.hasMore || watermarks.hasMore || hasFallen || !claim.isEverywhere;
    change('claim answered', {
      events,
      claim: null,
      mustClaim: worker.mustClaim || goesOn,
      hasClaimed: mutant !== 'no sweep',
    });
  }
  if (sweep === null && worker.hasClaimed && stateOf(worker).known.length > 0) {
    const hasClaimed = mutant === 'a sweep counts claims when it is answered';
    change('sweep', { hasClaimed, sweep: { found: executeSweep(world, stateOf(worker).known) } });
  }
  if (sweep !== null) {
    const startsClaim = sweep.found.length > 0 && mutant !== 'what a sweep finds starts no claim';
    change('sweep answered', {
      events: [...worker.events, ['lower', sweep.found]],
      sweep: null,
      mustClaim: worker.mustClaim || startsClaim,
      ...(mutant === 'a sweep counts claims when it is answered' && { hasClaimed: false }),
    });
  }
  return next;
}

/** Runs that stay free: of a world in which no worker does anything by itself. */
function runsLeft(world: World, mutant: Mutant | null): readonly number[] {
  const isAtRest = world.workers.every(
    (worker, index) => !worker.isAlive || workerSteps(world, index, worker, mutant).length === 0,
  );
  // The claim that each worker sends once a minute is to come.
  if (!isAtRest || (world.hasLost && mutant !== 'a lost notification is never made up for')) return [];
  return world.runs.flatMap((state, index) => (state === 'free' ? [index] : []));
}

/** Of two worlds with the same key the same can follow: workers that change lanes make no difference. */
function keyOf({ runs, workers, left, hasLost }: World): string {
  const kinds = workers.map(keyOfWorker);
  const isSwapped = workers.length === 2 && (kinds[0] ?? 0) > (kinds[1] ?? 0);
  const states = runs.map(state => (isSwapped && typeof state === 'number' ? 1 - state : state));
  return [...states, '', ...(isSwapped ? kinds.toReversed() : kinds), ...Object.values(left), hasLost].join(
    ' ',
  );
}

const keys = new WeakMap<Worker, number>();
const kindsOfWorkers = new Map<string, number>();
/** Epochs count only beside the claim that is under way: which watermarks have fallen since it was sent. */
function keyOfWorker(worker: Worker): number {
  const found = keys.get(worker);
  if (found !== undefined) return found;
  const { claim } = worker;
  const { haveFallen, whereMore, everywhere, fellIn } = stateOf(worker);
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
  faultOf(world) {
    const left = runsLeft(world, mutant);
    return left.length === 0 ? null : `runs ${left.join(' and ')} are never claimed`;
  },
});
