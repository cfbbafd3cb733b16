// Engine: in whatever order the steps of claims, polls, notifications, admissions and sleep follow one another,
// each run that is due and free is claimed, and no limit is exceeded.
import { describe, expect, it } from 'vitest';
import { claimModel, first, type Mutant, type World } from './claim-model.js';
import { explore } from './explore.js';
import { type FairMutant, type FairWorld, fairModel, firstFair } from './fair-model.js';
import { firstPoll, type PollMutant, type PollWorld, pollModel } from './poll-model.js';
import { firstSleep, type SleepMutant, sleepModel } from './sleep-model.js';
import { firstSlots, type SlotMutant, type SlotWorld, slotModel } from './slot-model.js';

describe('each run that is due and free is claimed, in every order of the steps', () => {
  const WORLDS: readonly [string, World][] = [
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
  ];

  it.each(WORLDS)('where %s', (_what, from) => {
    const { states, fault } = explore(from, claimModel(null));
    expect(fault).toBeNull();
    expect(states).toBeGreaterThan(50);
  });

  it.each<Mutant>([
    'no claim is complete',
    'what a poll says during a complete claim is dropped',
    'a lost notification is never made up for',
    'a poll leaves out what lies below a watermark',
    'what a poll finds makes no claim complete',
    'a notification during a claim is dropped',
  ])('and not with the fault: %s', mutant => {
    expect(WORLDS.some(([, from]) => explore(from, claimModel(mutant)).fault !== null)).toBe(true);
  });
});

describe('no limit is exceeded, and whatever could start does, in every order of the steps', () => {
  const WORLDS: readonly [string, SlotWorld][] = [
    ['a key has one slot', firstSlots(1, {})],
    ['a key has two slots', firstSlots(2, {})],
    ['a queue is closed and opened', firstSlots(1, { closings: 1 })],
    ['a worker is killed', firstSlots(1, { kills: 1 })],
    ['a worker is killed, and a key has two slots', firstSlots(2, { kills: 1 })],
    ['a worker is killed while a queue is closed', firstSlots(1, { kills: 1, closings: 1 })],
  ];

  it.each(WORLDS)('where %s', (_what, from) => {
    const { states, fault } = explore(from, slotModel(null));
    expect(fault).toBeNull();
    expect(states).toBeGreaterThan(50);
  });

  it.each<SlotMutant>([
    'a slot has no primary key',
    'an end unblocks nobody',
    'an admission does not look again for what became free meanwhile',
    'a run that was unblocked in one queue stands for all queues',
    'the slots of a killed worker are not given back',
    'the reaper unblocks nobody',
    'what was unblocked is not notified',
  ])('and not with the fault: %s', mutant => {
    expect(WORLDS.some(([, from]) => explore(from, slotModel(mutant)).fault !== null)).toBe(true);
  });
});

describe('each run of a fair key gets its turn, and no limit is exceeded, in every order of the steps', () => {
  const WORLDS: readonly [string, FairWorld][] = [
    ['runs of two keys are committed', firstFair({})],
    ['a notification is lost', firstFair({ losses: 1 })],
    ['a key is closed and opened', firstFair({ closings: 1 })],
    ['a run is tried again', firstFair({ failures: 1 }, 2)],
    ['a worker is killed', firstFair({ kills: 1 })],
  ];

  it.each(WORLDS)('where %s', (_what, from) => {
    const { states, fault } = explore(from, fairModel(null));
    expect(fault).toBeNull();
    expect(states).toBeGreaterThan(50);
  });

  it.each<FairMutant>([
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
  ])('and not with the fault: %s', mutant => {
    expect(WORLDS.some(([, from]) => explore(from, fairModel(mutant)).fault !== null)).toBe(true);
  });
});

describe('a run whose transaction does not notify waits for no clock, in every order of the steps', () => {
  it('where a daemon falls asleep, wakes up and falls asleep again', () => {
    const { states, fault } = explore(firstSleep, sleepModel(null));
    expect(fault).toBeNull();
    expect(states).toBeGreaterThan(50);
  });

  it.each<SleepMutant>([
    'it polls, and then announces that it is asleep',
    'it does not wait for transactions that could not see that',
    'it polls, and then asks whether these have ended',
    'a transaction reads whether it is asleep before it inserts',
    'a poll leaves out what lies below a watermark',
    'no complete claim',
  ])('and not with the fault: %s', mutant => {
    expect(explore(firstSleep, sleepModel(mutant)).fault).not.toBeNull();
  });
});

describe('a run of which nothing tells waits for one poll and one claim, whenever it is committed', () => {
  const WORLDS: readonly [string, PollWorld][] = [
    ['polls only', firstPoll(false)],
    ['listens', firstPoll(true)],
    ['listens, and others wait for the lock of NOTIFY', firstPoll(true, true)],
  ];

  it.each(WORLDS)('where a daemon %s', (_what, from) => {
    const { states, fault } = explore(from, pollModel(null));
    expect(fault).toBeNull();
    expect(states).toBeGreaterThan(50);
  });

  it.each<PollMutant>([
    'a busy daemon never polls',
    'a daemon that knows all never polls',
    'a poll leaves out what lies below a watermark',
    'what a poll finds makes no claim complete',
  ])('and not with the fault: %s', mutant => {
    expect(WORLDS.some(([, from]) => explore(from, pollModel(mutant)).fault !== null)).toBe(true);
  });
});
