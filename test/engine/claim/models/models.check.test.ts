// Engine: in whatever order the steps of claims, polls, notifications, admissions and sleep follow one another,
// each run that is due and free is claimed, and no limit is exceeded.
import { describe, expect, it } from 'vitest';
import { claimModel, first, MUTANTS } from './claim-model.js';
import { explore, type Model } from './explore.js';
import { FAIR_MUTANTS, fairModel, firstFair } from './fair-model.js';
import { firstPoll, POLL_MUTANTS, pollModel } from './poll-model.js';
import { firstSleep, SLEEP_MUTANTS, sleepModel } from './sleep-model.js';
import { firstSlots, SLOT_MUTANTS, slotModel } from './slot-model.js';

/** The model holds in all of these worlds; with any of the faults, not in all. */
function describeModel<World, Mutant extends string>(
  promise: string,
  worlds: readonly (readonly [string, World])[],
  model: (mutant: Mutant | null) => Model<World>,
  mutants: readonly Mutant[],
): void {
  describe(`${promise}, in every order of the steps`, () => {
    it.each(worlds)('where %s', (_what, from) => {
      const { states, fault } = explore(from, model(null));
      expect(fault).toBeNull();
      expect(states).toBeGreaterThan(50);
    });

    it.each(mutants)('and not with the fault: %s', mutant => {
      expect(worlds.some(([, from]) => explore(from, model(mutant)).fault !== null)).toBe(true);
    });
  });
}

describeModel(
  'each run that is due and free is claimed',
  [
    // From the smallest.
    ['claims have passed a run, and nobody else is there', first({ runs: 2, workers: 1, havePassed: true })],
    [
      'claims have passed runs, and one worker alone has no room for both',
      first({ runs: 2, workers: 2, havePassed: true, concurrency: 1 }),
    ],
    [
      'claims have passed a run, and a notification is lost',
      first({ runs: 2, workers: 1, havePassed: true, losses: 1 }),
    ],
    ['a run is given back, and nobody else is there', first({ runs: 3, workers: 1, returns: 1 })],
    ['a notification is lost', first({ runs: 2, workers: 2, losses: 1 })],
    ['a worker is killed', first({ runs: 3, workers: 2, kills: 1 })],
    ['a run is given back', first({ runs: 2, workers: 2, returns: 1 })],
  ],
  claimModel,
  MUTANTS,
);

describeModel(
  'no limit is exceeded, and whatever could start does',
  [
    ['a key has one slot', firstSlots(1, {})],
    ['a key has two slots', firstSlots(2, {})],
    ['a queue is closed and opened', firstSlots(1, { closings: 1 })],
    ['a worker is killed', firstSlots(1, { kills: 1 })],
    ['a worker is killed, and a key has two slots', firstSlots(2, { kills: 1 })],
    ['a worker is killed while a queue is closed', firstSlots(1, { kills: 1, closings: 1 })],
  ],
  slotModel,
  SLOT_MUTANTS,
);

describeModel(
  'each run of a fair key gets its turn, and no limit is exceeded',
  [
    ['runs of two keys are committed', firstFair({})],
    ['a notification is lost', firstFair({ losses: 1 })],
    ['a key is closed and opened', firstFair({ closings: 1 })],
    ['a run is tried again', firstFair({ failures: 1 }, 2)],
    ['a worker is killed', firstFair({ kills: 1 })],
  ],
  fairModel,
  FAIR_MUTANTS,
);

describeModel(
  'a run whose transaction does not notify waits for no clock',
  [['a daemon falls asleep, wakes up and falls asleep again', firstSleep]],
  sleepModel,
  SLEEP_MUTANTS,
);

describeModel(
  'a run of which nothing tells waits for one poll and one claim, whenever it is committed',
  [
    ['a daemon polls only', firstPoll(false)],
    ['a daemon listens', firstPoll(true)],
    ['a daemon listens, and others wait for the lock of NOTIFY', firstPoll(true, true)],
  ],
  pollModel,
  POLL_MUTANTS,
);
