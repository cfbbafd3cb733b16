// A small world of one daemon that falls asleep and of two transactions that enqueue a run each. A transaction
// notifies at its commit if it saw, after its insert, that the daemon may be asleep. Each step is one statement.
import type { Model } from './explore.js';

/** Each of them is a fault that the exploration must find. */
export type SleepMutant =
  | 'it polls, and then announces that it is asleep'
  | 'it does not wait for transactions that could not see that'
  | 'it polls, and then asks whether these have ended'
  | 'a transaction reads whether it is asleep before it inserts';

interface Transaction {
  readonly state: 'to come' | 'inserted' | 'read' | 'committed';
  /** It has an id: by its insert. */
  readonly hasId: boolean;
  readonly notifies: boolean;
}

interface Daemon {
  /** `announces`: it is about to; `asks`: whether all transactions that could not see its row have ended. */
  readonly does: 'works' | 'announces' | 'takes an id' | 'asks' | 'polls' | 'sleeps';
  readonly isAnnounced: boolean;
  /** Transactions under way when it took an id; null: all of them have ended. */
  readonly horizon: readonly number[] | null;
  readonly isNotified: boolean;
}

export interface SleepWorld {
  readonly transactions: readonly Transaction[];
  readonly daemon: Daemon;
  readonly claimed: readonly boolean[];
  /** How often it may still wake up, because it is busy. */
  readonly wakings: number;
}

const TO_COME: Transaction = { state: 'to come', hasId: false, notifies: false };

export const firstSleep: SleepWorld = {
  transactions: [TO_COME, TO_COME],
  daemon: { does: 'announces', isAnnounced: false, horizon: null, isNotified: false },
  claimed: [false, false],
  wakings: 1,
};

const withDaemon = (world: SleepWorld, change: Partial<Daemon>): SleepWorld => ({
  ...world,
  daemon: { ...world.daemon, ...change },
});
const polled = (world: SleepWorld): SleepWorld => ({
  ...world,
  claimed: world.transactions.map(({ state }) => state === 'committed'),
});

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
  const { does, horizon, isNotified } = world.daemon;
  const underWay = world.transactions.flatMap(({ hasId }, index) => (hasId ? [index] : []));
  const isOver = horizon === null || horizon.every(index => !underWay.includes(index));
  const announcesLast = mutant === 'it polls, and then announces that it is asleep';
  const asksLast = mutant === 'it polls, and then asks whether these have ended';
  const afterId = asksLast || announcesLast ? 'polls' : 'asks';
  switch (does) {
    case 'works':
      return [['it falls asleep', withDaemon(polled(world), { does: 'announces' })]];
    case 'announces': {
      if (announcesLast) return [['it polls', withDaemon(polled(world), { does: 'takes an id' })]];
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
      const next = asksLast ? 'asks' : 'sleeps';
      return [['it polls', withDaemon(polled(world), { isNotified: false, does: next })]];
    }
    case 'sleeps': {
      const steps: [string, SleepWorld][] = [];
      if (horizon !== null) steps.push(['it wakes to poll again', withDaemon(world, { does: afterId })]);
      if (isNotified) steps.push(['it is notified', withDaemon(world, { does: 'polls' })]);
      if (world.wakings > 0)
        steps.push([
          'it wakes up',
          { ...withDaemon(world, { does: 'works', isAnnounced: false }), wakings: world.wakings - 1 },
        ]);
      return steps;
    }
  }
}

export const sleepModel = (mutant: SleepMutant | null): Model<SleepWorld> => ({
  steps: world => [
    ...daemonSteps(world, mutant),
    ...world.transactions.flatMap((_, index) => transactionSteps(world, index, mutant)),
  ],
  keyOf: world => JSON.stringify(world),
  faultOf(world) {
    const isAtRest = daemonSteps(world, mutant).every(([name]) => name === 'it wakes up');
    const left = world.transactions.findIndex(
      ({ state }, index) => state === 'committed' && world.claimed[index] === false,
    );
    return isAtRest && left !== -1 ? `the run of transaction ${left} waits for a poll` : null;
  },
});
