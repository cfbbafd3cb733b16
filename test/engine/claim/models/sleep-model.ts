// A small world of one daemon that falls asleep and of two transactions that enqueue a run each: the one is below the
// daemon's watermark when it is committed, the other above. A transaction notifies at its commit if it saw, after its
// insert, that the daemon may be asleep. Each step is one statement, except that a claim goes on while there is more.
// No poll comes by the clock; each is complete, as one is within five seconds (see poll-model.ts).
import { FIRST_PLAN, needsPoll } from '../../../../src/daemon/next-pass.js';
import type { Model } from './explore.js';
import { type Event, executeClaim, isAbove, passed, type Run, stateOf } from './lanes.js';

/** Each of them is a fault that the exploration must find. */
export const SLEEP_MUTANTS = [
  'it polls, and then announces that it is asleep',
  'it does not wait for transactions that could not see that',
  'it polls, and then asks whether these have ended',
  'a transaction reads whether it is asleep before it inserts',
  'a poll leaves out what lies below a watermark',
  'no complete claim',
] as const;
export type SleepMutant = (typeof SLEEP_MUTANTS)[number];

const RUNS: readonly Run[] = [
  { id: 1, queue: 'a', second: 10 },
  { id: 2, queue: 'a', second: 50 },
];
/** Between the two. */
const PASSED = passed(40);

interface Transaction {
  readonly state: 'to come' | 'inserted' | 'read' | 'committed';
  /** It has an id: by its insert. */
  readonly hasId: boolean;
  readonly notifies: boolean;
}

interface Daemon {
  /** `announces`: it is about to; `asks`: whether all transactions that could not see its row have ended. */
  readonly does: 'works' | 'announces' | 'takes an id' | 'asks' | 'polls' | 'claims' | 'sleeps';
  readonly isAnnounced: boolean;
  /** Transactions under way when it took an id; null: all of them have ended. */
  readonly horizon: readonly number[] | null;
  readonly isNotified: boolean;
  /** What happened to its watermarks. */
  readonly events: readonly Event[];
  readonly owesComplete: boolean;
  /** A poll has found something: the next claim is complete. */
  readonly mustBeComplete: boolean;
}

export interface SleepWorld {
  readonly transactions: readonly Transaction[];
  readonly daemon: Daemon;
  readonly claimed: readonly boolean[];
  /** How often it may still wake up, because it is busy. */
  readonly wakings: number;
}

/** As after a poll that has answered all, and until the clock says that another is due. */
const KNOWS_ALL = { ...FIRST_PLAN, pollBy: Number.POSITIVE_INFINITY, needsNoPoll: true };

const TO_COME: Transaction = { state: 'to come', hasId: false, notifies: false };

export const firstSleep: SleepWorld = {
  transactions: [TO_COME, TO_COME],
  daemon: {
    does: 'announces',
    isAnnounced: false,
    horizon: null,
    isNotified: false,
    events: PASSED,
    owesComplete: false,
    mustBeComplete: false,
  },
  claimed: [false, false],
  wakings: 1,
};

const withDaemon = (world: SleepWorld, change: Partial<Daemon>): SleepWorld => ({
  ...world,
  daemon: { ...world.daemon, ...change },
});
const freeRuns = ({ transactions, claimed }: SleepWorld) =>
  RUNS.filter((_, index) => transactions[index]?.state === 'committed' && claimed[index] === false);

/** Claims until it sees nothing more. */
function claims(world: SleepWorld, isComplete = world.daemon.mustBeComplete): SleepWorld {
  const state = stateOf(world.daemon.events);
  const sent = isComplete ? state.complete : state.everywhere;
  const [answer, run] = executeClaim(freeRuns(world), sent, true);
  const events: Event[] = [...world.daemon.events, ['everywhere', isComplete], ['claimed', answer, sent]];
  const { haveFallen, hasMore } = stateOf(events);
  const after = {
    ...withDaemon(world, {
      events: stateOf(events).events,
      owesComplete: !isComplete || run !== null,
      mustBeComplete: false,
    }),
    claimed: run === null ? world.claimed : world.claimed.with(RUNS.indexOf(run), true),
  };
  return haveFallen || hasMore ? claims(after) : after;
}

/** What is due it then claims, from the first run on. */
function polls(world: SleepWorld, mutant: SleepMutant | null, next: Daemon['does']): SleepWorld {
  const { events } = world.daemon;
  const [mark] = stateOf(events).known;
  const leavesOut = mutant === 'a poll leaves out what lies below a watermark';
  const isOverdue = freeRuns(world).some(run => !leavesOut || isAbove(run, mark));
  if (!isOverdue) return withDaemon(world, { does: next });
  return withDaemon(world, { does: 'claims', mustBeComplete: true });
}

function transactionSteps(
  world: SleepWorld,
  index: number,
  mutant: SleepMutant | null,
): [string, SleepWorld][] {
  const transaction = world.transactions[index];
  if (transaction === undefined) return [];
  const to = (
    name: string,
    change: Partial<Transaction>,
    daemon: Partial<Daemon> = {},
  ): [string, SleepWorld][] => [
    [
      `${name} by ${index}`,
      {
        ...withDaemon(world, daemon),
        transactions: world.transactions.with(index, { ...transaction, ...change }),
      },
    ],
  ];
  const notifies = world.daemon.isAnnounced;
  const readsFirst = mutant === 'a transaction reads whether it is asleep before it inserts';
  if (transaction.state === 'to come')
    return readsFirst
      ? to('read', { state: 'inserted', notifies })
      : to('insert', { state: 'inserted', hasId: true });
  if (transaction.state === 'inserted')
    return readsFirst
      ? to('insert', { state: 'read', hasId: true })
      : to('read', { state: 'read', notifies });
  if (transaction.state === 'read')
    return to(
      'commit',
      { state: 'committed', hasId: false },
      transaction.notifies ? { isNotified: true } : {},
    );
  return [];
}

function daemonSteps(world: SleepWorld, mutant: SleepMutant | null): [string, SleepWorld][] {
  const { does, horizon, isNotified, isAnnounced } = world.daemon;
  const underWay = world.transactions.flatMap(({ hasId }, index) => (hasId ? [index] : []));
  const isOver = horizon === null || horizon.every(index => !underWay.includes(index));
  const announcesLast = mutant === 'it polls, and then announces that it is asleep';
  const asksLast = mutant === 'it polls, and then asks whether these have ended';
  const afterId = asksLast || announcesLast ? 'polls' : 'asks';
  switch (does) {
    case 'works':
      return [['it claims, and falls asleep', withDaemon(claims(world), { does: 'announces' })]];
    case 'announces': {
      if (announcesLast) return [['it falls asleep', withDaemon(world, { does: 'polls' })]];
      return [['it announces that', withDaemon(world, { isAnnounced: true, does: 'takes an id' })]];
    }
    case 'takes an id': {
      if (announcesLast)
        return [
          ['it announces that', withDaemon(world, { isAnnounced: true, horizon: null, does: 'sleeps' })],
        ];
      const waits = mutant !== 'it does not wait for transactions that could not see that';
      return [['it takes an id', withDaemon(world, { horizon: waits ? underWay : null, does: afterId })]];
    }
    case 'asks': {
      const next = asksLast ? 'sleeps' : 'polls';
      return [['it asks', withDaemon(world, { horizon: isOver ? null : horizon, does: next })]];
    }
    case 'polls': {
      const next = asksLast ? 'asks' : announcesLast && !isAnnounced ? 'takes an id' : 'sleeps';
      return [['it polls', polls(world, mutant, next)]];
    }
    case 'claims':
      return [['it claims', withDaemon(claims(world), { does: 'polls' })]];
    case 'sleeps': {
      const steps: [string, SleepWorld][] = [];
      if (horizon !== null) steps.push(['it wakes to poll again', withDaemon(world, { does: afterId })]);
      if (isNotified) {
        const after = claims(withDaemon(world, { isNotified: false }));
        const claimed = freeRuns(world).length - freeRuns(after).length;
        const isPolled = horizon !== null || needsPoll(KNOWS_ALL, { startedAt: 0, claimed });
        steps.push([
          'it is notified, and claims',
          withDaemon(after, { does: isPolled ? afterId : 'sleeps' }),
        ]);
      }
      if (world.wakings > 0)
        steps.push([
          'it wakes up',
          { ...withDaemon(world, { does: 'works', isAnnounced: false }), wakings: world.wakings - 1 },
        ]);
      return steps;
    }
  }
}

/** After its pause. */
function completeSteps(world: SleepWorld, mutant: SleepMutant | null): [string, SleepWorld][] {
  if (!world.daemon.owesComplete || mutant === 'no complete claim') return [];
  return [['it makes a complete claim', claims(world, true)]];
}

export const sleepModel = (mutant: SleepMutant | null): Model<SleepWorld> => {
  const steps = (world: SleepWorld) => [...daemonSteps(world, mutant), ...completeSteps(world, mutant)];
  return {
    steps: world => [
      ...steps(world),
      ...world.transactions.flatMap((_, index) => transactionSteps(world, index, mutant)),
    ],
    keyOf: ({ daemon: { events, ...daemon }, ...world }) => {
      const { known, hasMore, haveFallen } = stateOf(events);
      return JSON.stringify([world, daemon, known, hasMore, haveFallen]);
    },
    faultOf(world) {
      const isAtRest = steps(world).every(([name]) => name === 'it wakes up');
      const [left] = freeRuns(world);
      return isAtRest && left ? `run ${left.id} waits for a poll by the clock` : null;
    },
  };
};
