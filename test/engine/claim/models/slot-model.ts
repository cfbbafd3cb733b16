// A small world of runs that need a slot of one key: two workers name, admit and end them, one may be killed,
// and a queue is closed and opened. Each step is one statement; between any two, others may do theirs. What is
// admitted is decided by the engine; the rest is as the statements have it, without SQL and time.
import { admit } from '../../../../src/model/run/limits.js';
import type { Model } from './explore.js';

/** Each of them is a fault that the exploration must find. */
export const SLOT_MUTANTS = [
  'a slot has no primary key',
  'an end unblocks nobody',
  'an admission does not look again for what became free meanwhile',
  'a run that was unblocked in one queue stands for all queues',
  'the slots of a killed worker are not given back',
  'the reaper unblocks nobody',
  'what was unblocked is not notified',
] as const;
export type SlotMutant = (typeof SLOT_MUTANTS)[number];

const KEY = 'job:k';
const QUEUES = ['a', 'a', 'b'] as const;

/** `ended`, or the worker that holds it. */
type RunState = 'free' | 'blocked' | 'ended' | number;

interface Worker {
  readonly isAlive: boolean;
  /** It has been notified, or its last claim found something. */
  readonly mustClaim: boolean;
  /** What a claim has named, by index, and the runs that held slots when the admission looked; null: not looked yet. */
  readonly named: { readonly runs: readonly number[]; readonly holders: readonly number[] | null } | null;
  /** After a commit: slots became free, or may have. */
  readonly mustUnblock: boolean;
}

export interface SlotWorld {
  readonly limit: number;
  readonly runs: readonly RunState[];
  /** Since it was blocked, it was unblocked, and is free now. */
  readonly wasUnblocked: readonly boolean[];
  /** Runs that hold a slot, by slot. */
  readonly slots: readonly (number | null)[];
  readonly isClosed: boolean;
  readonly workers: readonly Worker[];
  /** How often each of these may still happen. */
  readonly left: { readonly kills: number; readonly closings: number };
}

const READY: Worker = { isAlive: true, mustClaim: true, named: null, mustUnblock: false };

export const firstSlots = (limit: number, left: Partial<SlotWorld['left']>): SlotWorld => ({
  limit,
  runs: ['free', 'free', 'free'],
  wasUnblocked: [false, false, false],
  slots: Array.from({ length: limit }, () => null),
  isClosed: false,
  workers: [READY, READY],
  left: { kills: 0, closings: 0, ...left },
});

const isOpen = (world: SlotWorld, run: number) => !(world.isClosed && QUEUES[run] === 'b');
const holdersOf = ({ slots }: SlotWorld) => slots.map(run => run ?? -1);
const withRuns = (world: SlotWorld, runs: readonly number[], state: RunState): SlotWorld => ({
  ...world,
  runs: world.runs.map((each, run) => (runs.includes(run) ? state : each)),
  wasUnblocked: world.wasUnblocked.map((each, run) => each && !(runs.includes(run) && state !== 'free')),
});
const withWorker = (world: SlotWorld, index: number, change: Partial<Worker>): SlotWorld => ({
  ...world,
  workers: world.workers.map((worker, each) => (each === index ? { ...worker, ...change } : worker)),
});
const notified = (world: SlotWorld): SlotWorld => ({
  ...world,
  workers: world.workers.map(worker => ({ ...worker, mustClaim: worker.isAlive })),
});

/** In each queue, as many as slots are free, less those that stand for them. */
function unblocked(world: SlotWorld, mutant: SlotMutant | null): SlotWorld {
  let next = world;
  for (const queue of ['a', 'b']) {
    const isHere = (run: number) =>
      mutant === 'a run that was unblocked in one queue stands for all queues' || QUEUES[run] === queue;
    const standing = next.runs.filter(
      (state, run) => state === 'free' && next.wasUnblocked[run] === true && isHere(run),
    ).length;
    const count = next.slots.filter(run => run === null).length - standing;
    const some = next.runs
      .flatMap((state, run) => (state === 'blocked' && QUEUES[run] === queue ? [run] : []))
      .slice(0, Math.max(count, 0));
    if (some.length === 0) continue;
    next = withRuns(next, some, 'free');
    next = { ...next, wasUnblocked: next.wasUnblocked.map((each, run) => each || some.includes(run)) };
    if (mutant !== 'what was unblocked is not notified') next = notified(next);
  }
  return next;
}

/** Runs of workers that are dead are free again, and so are their slots; and whoever can start is unblocked. */
function reaped(world: SlotWorld, mutant: SlotMutant | null): SlotWorld {
  const lost = world.runs.flatMap((state, run) =>
    typeof state === 'number' && world.workers[state]?.isAlive === false ? [run] : [],
  );
  let next = withRuns(world, lost, 'free');
  if (lost.length > 0) next = notified(next);
  const isHeld = (run: number | null) => run !== null && typeof next.runs[run] === 'number';
  if (mutant !== 'the slots of a killed worker are not given back')
    next = { ...next, slots: next.slots.map(run => (isHeld(run) ? run : null)) };
  return mutant === 'the reaper unblocks nobody' ? next : unblocked(next, mutant);
}

/** Writes what was decided by what the admission had seen: the primary key refuses what was taken since. */
function admitted(world: SlotWorld, index: number, mutant: SlotMutant | null): SlotWorld {
  const { runs = [], holders = [] } = world.workers[index]?.named ?? {};
  const candidates = runs.filter(run => world.runs[run] === 'free' && isOpen(world, run));
  const taken = (holders ?? []).flatMap((run, slot) => (run === -1 ? [] : [[slot + 1, `${run}`] as const]));
  const limits = [{ key: KEY, limit: world.limit }];
  const { slots } = admit(
    candidates.map(run => ({
      id: `${run}`,
      queue: QUEUES[run] ?? '',
      limits,
      waitsFor: null,
      pacedBy: null,
    })),
    { slots: new Map([[KEY, new Map(taken)]]), tokens: new Map() },
  );
  const hasKey = mutant !== 'a slot has no primary key';
  const granted = slots.filter(({ slot }) => !hasKey || world.slots[slot - 1] === null);
  const started = granted.map(({ id }) => Number(id));
  const rest = candidates.filter(run => !started.includes(run));
  let next = withRuns(withRuns(world, started, index), rest, 'blocked');
  next = {
    ...next,
    slots: next.slots.map((run, slot) => {
      const grant = granted.find(each => each.slot === slot + 1);
      return grant === undefined ? run : Number(grant.id);
    }),
  };
  const looksAgain = mutant !== 'an admission does not look again for what became free meanwhile';
  return withWorker(next, index, {
    named: null,
    // Others may follow those that were named.
    mustClaim: true,
    mustUnblock: next.workers[index]?.mustUnblock === true || (looksAgain && rest.length > 0),
  });
}

function workerSteps(world: SlotWorld, index: number, mutant: SlotMutant | null): [string, SlotWorld][] {
  const next: [string, SlotWorld][] = [];
  const worker = world.workers[index];
  if (worker?.isAlive !== true) return next;
  const { named, mustClaim, mustUnblock } = worker;
  if (named === null && mustClaim) {
    const runs = world.runs.flatMap((state, run) => (state === 'free' && isOpen(world, run) ? [run] : []));
    const found = runs.length === 0 ? null : { runs: runs.slice(0, 2), holders: null };
    next.push([`claim by ${index}`, withWorker(world, index, { mustClaim: false, named: found })]);
  }
  if (named?.holders === null)
    next.push([
      `admission of ${named.runs.join(' and ')} by ${index} looks`,
      withWorker(world, index, { named: { ...named, holders: holdersOf(world) } }),
    ]);
  if (named !== null && named.holders !== null)
    next.push([`admission of ${named.runs.join(' and ')} by ${index}`, admitted(world, index, mutant)]);
  if (mustUnblock)
    next.push([
      `unblocking by ${index}`,
      unblocked(withWorker(world, index, { mustUnblock: false }), mutant),
    ]);
  world.runs.forEach((state, run) => {
    if (state !== index) return;
    const ended = withWorker(withRuns(world, [run], 'ended'), index, {
      mustUnblock: mutant !== 'an end unblocks nobody',
    });
    next.push([
      `end of ${run}`,
      { ...ended, slots: ended.slots.map(holder => (holder === run ? null : holder)) },
    ]);
  });
  return next;
}

const keyOf = (world: SlotWorld) => JSON.stringify(world);

/** What the workers and an operator do; the reaper, where a worker was killed or is still to be. */
function steps(world: SlotWorld, mutant: SlotMutant | null): [string, SlotWorld][] {
  const next = world.workers.flatMap((_, index) => workerSteps(world, index, mutant));
  const { kills, closings } = world.left;
  world.workers.forEach((worker, index) => {
    if (kills === 0 || !worker.isAlive) return;
    const dead = { ...READY, isAlive: false, mustClaim: false };
    next.push([`kill ${index}`, { ...withWorker(world, index, dead), left: { ...world.left, kills: 0 } }]);
  });
  if (closings > 0)
    next.push(['close b', { ...world, isClosed: true, left: { ...world.left, closings: closings - 1 } }]);
  // Workers claim everywhere within a poll.
  if (world.isClosed) next.push(['open b', notified({ ...world, isClosed: false })]);
  if (world.workers.some(worker => !worker.isAlive)) {
    const after = reaped(world, mutant);
    if (keyOf(after) !== keyOf(world)) next.push(['reaping', after]);
  }
  return next;
}

/** A limit is exceeded; or a run that could start does not, in a world in which no worker does anything by itself. */
function faultOf(world: SlotWorld, mutant: SlotMutant | null): string | null {
  const running = world.runs.filter(state => typeof state === 'number').length;
  if (running > world.limit) return `${running} runs hold a limit of ${world.limit}`;
  const isAtRest = steps(world, mutant).every(([name]) => /^(?:kill|close|open)/.test(name));
  if (!isAtRest || running === world.limit) return null;
  const left = world.runs.findIndex(
    (state, run) => (state === 'free' || state === 'blocked') && isOpen(world, run),
  );
  return left === -1 ? null : `run ${left} is never claimed`;
}

export const slotModel = (mutant: SlotMutant | null): Model<SlotWorld> => ({
  steps: world => steps(world, mutant),
  keyOf,
  faultOf: world => faultOf(world, mutant),
});
