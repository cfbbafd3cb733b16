// A small world of two fair keys with one slot each: runs are committed, come, get their turn, fail and end; a handler
// closes a key; a worker may be killed. A claim is two steps: its snapshot, and the locks of its keys. What an
// admission does is decided by the engine; the rest is as the statements have it, without SQL and time.
import { admit } from '../../../../src/model/run/limits.js';
import type { Model } from './explore.js';

/** Each of them is a fault that the exploration must find. */
export const FAIR_MUTANTS = [
  'an arrival is not counted',
  'a key is left not ready although its run came',
  'a notification is lost, and nobody reaps',
  'what comes during a claim is not expected',
  'an end makes no key ready',
  'a full key is never looked at again',
  'slots are counted as an old snapshot has them',
  'an arrival opens a closed key',
  'what is opened is not ready',
  'an admission that sends a run back expects nothing',
  'an admission gives runs their turn',
] as const;
export type FairMutant = (typeof FAIR_MUTANTS)[number];

const KEYS = [0, 1] as const;
/** The key of each run. */
const KEY_OF = [0, 0, 1] as const;

/** `waiting`: for the turn of its key; `free`: tried again, so it needs an admission; or the worker that holds it. */
type RunState = 'uncommitted' | 'waiting' | 'free' | 'ended' | number;

/** `rests`: it is looked at again in time. */
type KeyState = 'ready' | 'empty' | 'rests';

/** What a claim has seen of a key that was ready. */
interface Seen {
  readonly waiting: readonly number[];
  readonly held: number;
  /** Nothing has arrived since; and nothing has been taken either. */
  readonly hasSeenAll: boolean;
  readonly isAsSeen: boolean;
}

/** By key; null: it was not ready. */
type Snapshot = readonly (Seen | null)[];

interface Worker {
  readonly isAlive: boolean;
  /** Notified: it takes the outbox. */
  readonly mustArrive: boolean;
  readonly expects: boolean;
  readonly claim: Snapshot | null;
  /** After the commit of ends: the slots of these keys are free. */
  readonly freed: readonly number[];
}

export interface FairWorld {
  readonly runs: readonly RunState[];
  readonly keys: readonly KeyState[];
  readonly isClosed: boolean;
  /** Keys whose runs are committed and have not arrived. */
  readonly outbox: readonly number[];
  readonly workers: readonly Worker[];
  /** How often each of these may still happen. */
  readonly left: {
    readonly losses: number;
    readonly closings: number;
    readonly failures: number;
    readonly kills: number;
  };
  readonly hasLost: boolean;
  readonly wrong: string | null;
}

const IDLE: Worker = { isAlive: true, mustArrive: false, expects: false, claim: null, freed: [] };

/** @param runs how many there are: with three, one is committed late */
export const firstFair = (left: Partial<FairWorld['left']>, runs: 2 | 3 = 3): FairWorld => ({
  runs: ['waiting', runs === 3 ? 'uncommitted' : 'ended', 'waiting'],
  keys: ['ready', 'ready'],
  isClosed: false,
  outbox: [],
  workers: [
    { ...IDLE, expects: true },
    { ...IDLE, expects: true },
  ],
  left: { losses: 0, closings: 0, failures: 0, kills: 0, ...left },
  hasLost: false,
  wrong: null,
});

type Step = [name: string, after: FairWorld];

/** Only the key 0 is ever closed. */
const isOpen = (world: FairWorld, key: number) => !(world.isClosed && key === 0);
const runsOf = (runs: readonly RunState[], key: number, isState: (state: RunState) => boolean) =>
  runs.flatMap((state, run) => (KEY_OF[run] === key && isState(state) ? [run] : []));
const isRunning = (state: RunState) => typeof state === 'number';
const withWorker = (world: FairWorld, index: number, change: Partial<Worker>): FairWorld => ({
  ...world,
  workers: world.workers.map((worker, each) => (each === index ? { ...worker, ...change } : worker)),
});
const eachWorker = (world: FairWorld, change: (worker: Worker) => Partial<Worker>): FairWorld => ({
  ...world,
  workers: world.workers.map(worker => (worker.isAlive ? { ...worker, ...change(worker) } : worker)),
});
const notified = (world: FairWorld) => eachWorker(world, () => ({ mustArrive: true, expects: true }));
const withRun = (world: FairWorld, run: number, state: RunState): FairWorld => ({
  ...world,
  runs: world.runs.with(run, state),
});
/** What claims that are under way have seen of a key is out of date. */
const changed = (world: FairWorld, key: number, how: 'arrival' | 'taken'): FairWorld =>
  eachWorker(world, ({ claim }) => ({
    claim:
      claim &&
      claim.map((seen, each) =>
        seen === null || each !== key
          ? seen
          : { ...seen, isAsSeen: false, hasSeenAll: seen.hasSeenAll && how === 'taken' },
      ),
  }));

function arrived(world: FairWorld, keys: readonly number[], mutant: FairMutant | null): FairWorld {
  return keys.reduce((before, key) => {
    const opens = isOpen(before, key) || mutant === 'an arrival opens a closed key';
    const staysAsItIs =
      mutant === 'a key is left not ready although its run came' && before.keys[key] === 'rests';
    const state: KeyState = opens ? 'ready' : 'rests';
    const after = staysAsItIs ? before : { ...before, keys: before.keys.with(key, state) };
    return mutant === 'an arrival is not counted' ? after : changed(after, key, 'arrival');
  }, world);
}

/** One run of each key that is ready and open, as the snapshot has them, and as they still are. */
function claimed(world: FairWorld, index: number, claim: Snapshot, mutant: FairMutant | null): FairWorld {
  let next = world;
  let hasMore = false;
  for (const key of KEYS) {
    const seen = claim[key] ?? null;
    if (seen === null || next.keys[key] !== 'ready') continue;
    const { held } = seen;
    const isAsSeen = seen.isAsSeen || mutant === 'slots are counted as an old snapshot has them';
    const quota = isAsSeen ? Math.max(0, 1 - held) : 0;
    const found = seen.waiting.slice(0, quota);
    const taken = found.filter(run => next.runs[run] === 'waiting');
    for (const run of taken) {
      next = withRun(next, run, index);
      if (!isOpen(next, key)) next = { ...next, wrong: `run ${run} starts although its key is closed` };
    }
    if (taken.length > 0) next = changed(next, key, 'taken');
    const isExhausted = found.length < quota && taken.length === found.length;
    const isFull = held + taken.length >= 1 && isAsSeen;
    let state: KeyState = 'ready';
    if (isExhausted && seen.hasSeenAll) state = 'empty';
    else if (isFull) state = mutant === 'a full key is never looked at again' ? 'empty' : 'rests';
    next = { ...next, keys: next.keys.with(key, state) };
    hasMore ||= state === 'ready';
  }
  const { expects = false } = next.workers[index] ?? {};
  const keepsExpecting = expects && mutant !== 'what comes during a claim is not expected';
  return withWorker(next, index, { claim: null, expects: keepsExpecting || hasMore });
}

/** A run that is tried again: whether its key gives it its turn is decided by the engine. */
function admitted(world: FairWorld, index: number, run: number, mutant: FairMutant | null): FairWorld {
  const key = KEY_OF[run] ?? 0;
  const waitsFor = mutant === 'an admission gives runs their turn' ? null : `~${key}`;
  const limits = mutant === 'an admission gives runs their turn' ? [] : [{ key: `~${key}`, limit: 1 }];
  const { admitted: started } = admit([{ id: `${run}`, queue: 'q', limits, waitsFor, pacedBy: null }], {
    slots: new Map(),
    tokens: new Map(),
  });
  if (started.length > 0) {
    const wrong = isOpen(world, key) ? world.wrong : `run ${run} starts although its key is closed`;
    return { ...withRun(world, run, index), wrong };
  }
  const back = arrived(withRun(world, run, 'waiting'), [key], mutant);
  return mutant === 'an admission that sends a run back expects nothing'
    ? back
    : withWorker(back, index, { expects: true });
}

function workerSteps(world: FairWorld, index: number, mutant: FairMutant | null): Step[] {
  const next: Step[] = [];
  const worker = world.workers[index];
  if (worker?.isAlive !== true) return next;
  const { claim, freed } = worker;
  if (worker.mustArrive)
    next.push([
      `arrival by ${index}`,
      arrived(
        { ...withWorker(world, index, { mustArrive: false, expects: true }), outbox: [] },
        world.outbox,
        mutant,
      ),
    ]);
  if (worker.expects && claim === null) {
    const snapshot: Snapshot = KEYS.map(key =>
      world.keys[key] !== 'ready'
        ? null
        : {
            waiting: runsOf(world.runs, key, state => state === 'waiting'),
            held: runsOf(world.runs, key, isRunning).length,
            hasSeenAll: true,
            isAsSeen: true,
          },
    );
    next.push([`claim by ${index}`, withWorker(world, index, { expects: false, claim: snapshot })]);
  }
  if (claim !== null) next.push([`claim by ${index} locks`, claimed(world, index, claim, mutant)]);
  if (freed.length > 0) {
    const after = withWorker(world, index, { freed: [], expects: true });
    next.push([
      `after the end by ${index}`,
      mutant === 'an end makes no key ready' ? after : arrived(after, freed, mutant),
    ]);
  }
  world.runs.forEach((state, run) => {
    if (state === 'free') next.push([`admission of ${run} by ${index}`, admitted(world, index, run, mutant)]);
    if (state !== index) return;
    const key = KEY_OF[run] ?? 0;
    const ended = withWorker(world, index, { freed: [...new Set([...freed, key])] });
    next.push([`end of ${run}`, withRun(ended, run, 'ended')]);
    const { failures } = world.left;
    if (failures > 0)
      next.push([
        `failure of ${run}`,
        { ...withRun(ended, run, 'free'), left: { ...world.left, failures: failures - 1 } },
      ]);
  });
  return next;
}

function steps(world: FairWorld, mutant: FairMutant | null): Step[] {
  const next = world.workers.flatMap((_, index) => workerSteps(world, index, mutant));
  const { left } = world;
  world.runs.forEach((state, run) => {
    if (state !== 'uncommitted') return;
    const outbox = [...new Set([...world.outbox, KEY_OF[run] ?? 0])].sort((a, b) => a - b);
    const committed = { ...withRun(world, run, 'waiting'), outbox };
    next.push([`commit ${run}`, notified(committed)]);
    if (left.losses > 0)
      next.push([
        `commit ${run}, not told`,
        { ...committed, hasLost: true, left: { ...left, losses: left.losses - 1 } },
      ]);
  });
  if (left.closings > 0 && world.runs.some((state, run) => isRunning(state) && KEY_OF[run] === 0))
    next.push([
      'close 0',
      changed(
        {
          ...world,
          isClosed: true,
          keys: world.keys.with(0, 'rests'),
          left: { ...left, closings: left.closings - 1 },
        },
        0,
        'taken',
      ),
    ]);
  if (world.isClosed) {
    const opened = { ...world, isClosed: false };
    next.push([
      'open 0',
      notified(mutant === 'what is opened is not ready' ? opened : arrived(opened, [0], mutant)),
    ]);
  }
  world.workers.forEach((worker, index) => {
    if (left.kills === 0 || !worker.isAlive || world.workers.some(each => !each.isAlive)) return;
    const dead = withWorker(world, index, { ...IDLE, isAlive: false });
    next.push([`kill ${index}`, { ...dead, left: { ...left, kills: left.kills - 1 } }]);
  });
  return next.concat(inTime(world, mutant));
}

/** Where something was lost: leases end, keys that rest are looked at again, the outbox is taken, daemons poll. */
function inTime(world: FairWorld, mutant: FairMutant | null): Step[] {
  const isDead = world.workers.some(worker => !worker.isAlive);
  if (!isDead && !world.hasLost) return [];
  if (world.hasLost && mutant === 'a notification is lost, and nobody reaps') return [];
  const runs = world.runs.map(state =>
    typeof state === 'number' && world.workers[state]?.isAlive === false ? ('free' as const) : state,
  );
  const resting = isDead ? KEYS.filter(key => world.keys[key] === 'rests' && isOpen(world, key)) : [];
  const after = arrived({ ...world, runs, outbox: [], hasLost: false }, [...world.outbox, ...resting], null);
  const isIdle = world.workers.every(
    ({ expects, mustArrive, claim }) => !expects && !mustArrive && claim === null,
  );
  const isReady = KEYS.some(
    key => world.keys[key] === 'ready' && runsOf(world.runs, key, state => state === 'waiting').length > 0,
  );
  const isOver = keyOf(after) === keyOf(world) && !(isIdle && isReady);
  return isOver ? [] : [['reaping', notified(after)]];
}

/** Workers that change places make no difference. */
function keyOf(world: FairWorld): string {
  const swapped = {
    ...world,
    workers: world.workers.toReversed(),
    runs: world.runs.map(state => (typeof state === 'number' ? 1 - state : state)),
  };
  const [first, second] = [JSON.stringify(world), JSON.stringify(swapped)];
  return first < second ? first : second;
}

/** Two runs of a key at once; one that starts while it is closed; or one that waits, and nobody does anything. */
function faultOf(world: FairWorld, mutant: FairMutant | null): string | null {
  if (world.wrong !== null) return world.wrong;
  for (const key of KEYS)
    if (runsOf(world.runs, key, isRunning).length > 1) return `two runs of key ${key} run at once`;
  const isAtRest = steps(world, mutant).every(([name]) => /^(?:kill|close|open|commit)/.test(name));
  if (!isAtRest) return null;
  const left = world.runs.findIndex(
    (state, run) => (state === 'waiting' || state === 'free') && isOpen(world, KEY_OF[run] ?? 0),
  );
  return left === -1 ? null : `run ${left} never starts`;
}

/** The worlds in which all workers are dead are left out. */
export const fairModel = (mutant: FairMutant | null): Model<FairWorld> => ({
  steps: world => steps(world, mutant).filter(([, after]) => after.workers.some(worker => worker.isAlive)),
  keyOf,
  faultOf: world => faultOf(world, mutant),
});
