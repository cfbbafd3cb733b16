// What a daemon's next pass does, and when: tables of plans.
import { describe, expect, it } from 'vitest';
import {
  afterError,
  afterFailedReap,
  afterLeft,
  afterMinute,
  afterPoll,
  afterReap,
  afterReapNotification,
  begun,
  checksReaping,
  claimsAfter,
  FIRST_PLAN,
  isDue,
  madeDue,
  needsPoll,
  type PassResult,
  type Plan,
  reapsInTurn,
  type Step,
  sleepMs,
  sleepsOn,
  whileClaiming,
} from '../../src/daemon/next-pass.js';
import type { NextDue } from '../../src/store/reads/next-due.js';

const NEVER = Number.POSITIVE_INFINITY;
const POLL_MS = 5000;
const NOW = 100_000;
const RESTING: Plan = {
  registerAt: NEVER,
  resumeAt: NEVER,
  arriveAt: NEVER,
  noteAt: NEVER,
  reapAt: NEVER,
  materializeAt: NEVER,
  claimAt: NEVER,
  checkReapAt: NOW + 3000,
  reapTookMs: 400,
  retryMs: 5,
  pollBy: NOW + POLL_MS,
  completeAt: NOW + 5000,
  needsNoPoll: false,
};

const NOTHING: NextDue = {
  occurrenceMs: null,
  runMs: null,
  isOverdue: false,
  isFairDue: false,
  waitsForCode: false,
  isOfferDue: false,
  needsReaping: false,
  daemons: 1,
};

const STEPS: readonly Step[] = ['register', 'reap', 'resume', 'arrive', 'materialize', 'claim', 'note'];
const dueOf = (plan: Plan, now = NOW) => STEPS.filter(step => isDue(plan, step, now));

it('the first plan materializes and claims before it reaps, and asks whether reaping is due', () => {
  expect(dueOf(FIRST_PLAN)).toEqual(['materialize', 'claim']);
  expect(checksReaping(FIRST_PLAN, NOW)).toBe(true);
});

describe.each(STEPS)('the step %s', step => {
  const at = (time: number): Plan => ({ ...RESTING, [`${step}At`]: time });

  it('is due from its time on', () => {
    expect([dueOf(at(NOW + 1)), dueOf(at(NOW))]).toEqual([[], [step]]);
  });

  it('that has begun is due again only if something says so', () => {
    expect(begun(at(NOW), step)).toEqual(RESTING);
    expect(dueOf(madeDue(RESTING, step))).toEqual([step]);
  });
});

describe('after a poll', () => {
  const POLLED_ONLY: PassResult = {
    startedAt: NOW - 30,
    materialized: false,
    isRefused: false,
    claimedEverywhere: false,
    claimed: 0,
    hasRoom: true,
    isClaiming: false,
  };
  const CLAIMED: PassResult = { ...POLLED_ONLY, claimedEverywhere: true };

  it.each<[string, Partial<NextDue>, PassResult, Partial<Plan>, Partial<Plan>]>([
    ['nothing is due before the next poll', {}, POLLED_ONLY, {}, {}],
    ['a run is claimed at its time', { runMs: 700 }, POLLED_ONLY, {}, { claimAt: NOW + 700 }],
    [
      'a far run is found again by a later poll',
      { runMs: 90_000 },
      POLLED_ONLY,
      {},
      { claimAt: NOW + POLL_MS },
    ],
    ['an overdue run is claimed at once', { isOverdue: true }, POLLED_ONLY, {}, { claimAt: NOW }],
    [
      'an overdue run that a claim has just passed over is claimed after twice the last pause',
      { isOverdue: true },
      CLAIMED,
      { retryMs: 20 },
      { claimAt: NOW + 40, retryMs: 40 },
    ],
    [
      'that pause is a poll at most',
      { isOverdue: true },
      CLAIMED,
      { retryMs: 4000 },
      { claimAt: NOW + POLL_MS, retryMs: POLL_MS },
    ],
    [
      'the pause starts again once a claim has found something',
      { isOverdue: true },
      { ...CLAIMED, claimed: 1 },
      { retryMs: 4000 },
      { claimAt: NOW + 5, retryMs: 5 },
    ],
    [
      'and once nothing is overdue',
      { runMs: 800 },
      CLAIMED,
      { retryMs: 4000 },
      { claimAt: NOW + 800, retryMs: 5 },
    ],
    [
      'without room, an overdue run waits for a poll, or for a run that ends',
      { isOverdue: true },
      { ...CLAIMED, hasRoom: false },
      {},
      { claimAt: NOW + POLL_MS, retryMs: 10 },
    ],
    [
      'a run that comes due before that is claimed at its time',
      { isOverdue: true, runMs: 300 },
      { ...CLAIMED, hasRoom: false },
      {},
      { claimAt: NOW + 300, retryMs: 10 },
    ],
    [
      'an occurrence is materialized at its time',
      { occurrenceMs: 800 },
      POLLED_ONLY,
      {},
      { materializeAt: NOW + 800 },
    ],
    ['an overdue occurrence at once', { occurrenceMs: -20 }, POLLED_ONLY, {}, { materializeAt: NOW }],
    [
      'but not at once where it has just been passed over',
      { occurrenceMs: -20 },
      { ...CLAIMED, materialized: true },
      {},
      { materializeAt: NOW + 5 },
    ],
    [
      'nor before the next poll where the server refused',
      { occurrenceMs: -20 },
      { ...CLAIMED, materialized: true, isRefused: true },
      {},
      { materializeAt: NOW + POLL_MS },
    ],
    ['a claim that is planned stays planned', {}, POLLED_ONLY, { claimAt: NOW + 9 }, { claimAt: NOW + 9 }],
    [
      'what the minute has made due stays due',
      { occurrenceMs: 800 },
      { ...CLAIMED, materialized: true },
      { materializeAt: 0 },
      { materializeAt: 0 },
    ],
    ['reaps at once if needed', { needsReaping: true }, POLLED_ONLY, {}, { reapAt: NOW - 10 }],
    ['a reaping that is due stays due', {}, POLLED_ONLY, { reapAt: NOW }, { reapAt: NOW }],
  ])('%s', (_what, due, pass, plan, expected) => {
    const before = { ...RESTING, ...plan };
    const poll = {
      askedAt: NOW - 10,
      answeredAt: NOW,
      due: { ...NOTHING, ...due },
      isComplete: true,
      isNotified: false,
    };
    expect(afterPoll(before, poll, pass, POLL_MS)).toEqual({ ...before, retryMs: 5, ...expected });
  });

  it.each([
    ['five seconds', 10, 5000],
    ['twenty times as long as it took', 300, 6000],
    ['twenty times as long as the one before took, if that was shorter', 5000, 8000],
    ['at once, if it took longer than that', 9000, 9000],
  ])('checks whether there is anything to reap again %s after a check', (_what, tookMs, afterMs) => {
    const plan = { ...RESTING, checkReapAt: NOW };
    const poll = {
      askedAt: NOW,
      answeredAt: NOW + tookMs,
      due: NOTHING,
      isComplete: true,
      isNotified: false,
    };
    expect(checksReaping(plan, NOW)).toBe(true);
    expect(afterPoll(plan, poll, POLLED_ONLY, POLL_MS).checkReapAt).toBe(NOW + afterMs);
    expect(checksReaping(plan, NOW - 1)).toBe(false);
  });
});

describe('a pass for which nothing was due', () => {
  const done = {
    startedAt: NOW,
    materialized: false,
    isRefused: false,
    claimedEverywhere: false,
    claimed: 1,
    hasRoom: true,
    isClaiming: false,
  };
  const poll = { askedAt: NOW, answeredAt: NOW, due: NOTHING, isComplete: true, isNotified: true };

  it('that polls above the watermarks only puts off no complete poll', () => {
    const later = { ...poll, askedAt: NOW + 3000, answeredAt: NOW + 3000 };
    const plan = afterPoll(RESTING, { ...later, isComplete: false }, done, POLL_MS);
    expect(plan).toMatchObject({ completeAt: NOW + 5000, pollBy: NOW + 5000 });
    expect(afterPoll(RESTING, later, done, POLL_MS).completeAt).toBe(NOW + 8000);
  });

  it('ends without a poll where a notification has named what it found, until the next poll', () => {
    const plan = afterPoll(RESTING, poll, done, POLL_MS);
    expect(needsPoll(plan, { startedAt: NOW + POLL_MS - 1, claimed: 1 })).toBe(false);
    expect(needsPoll(plan, { startedAt: NOW + POLL_MS, claimed: 1 })).toBe(true);
  });

  it.each<[string, Plan, number]>([
    ['it found nothing', afterPoll(RESTING, poll, done, POLL_MS), 0],
    ['a limit has held back runs', afterLeft(afterPoll(RESTING, poll, done, POLL_MS)), 1],
    ['the last poll was without room', afterPoll(RESTING, poll, { ...done, hasRoom: false }, POLL_MS), 1],
    [
      'notifications do not come',
      afterPoll(RESTING, { ...poll, isComplete: true, isNotified: false }, done, POLL_MS),
      1,
    ],
    ['the worker went on claiming', whileClaiming(afterPoll(RESTING, poll, done, POLL_MS), done, POLL_MS), 1],
  ])('ends with one where %s', (_when, plan, claimed) => {
    expect(needsPoll(plan, { startedAt: NOW, claimed })).toBe(true);
  });
});

describe('after a reaping', () => {
  it('the next check comes after five seconds, or twenty times as long as it took', () => {
    const due = begun({ ...RESTING, reapAt: NOW }, 'reap');
    const short = { checkReapAt: NOW + 5000, reapTookMs: 10 };
    expect(afterReap(due, NOW, NOW + 10)).toEqual({ ...RESTING, ...short });
    const rest = afterReap(due, NOW, NOW + 10, true);
    expect([rest, reapsInTurn(rest)]).toEqual([{ ...RESTING, ...short, reapAt: NOW + 10 }, false]);
    const long = { checkReapAt: NOW + 20_000, reapTookMs: 1000 };
    expect(afterReap({ ...due, reapTookMs: 2000 }, NOW, NOW + 1000)).toEqual({ ...RESTING, ...long });
  });

  it('a single one that took long puts off nothing', () => {
    const once = afterReap({ ...RESTING, reapTookMs: 10 }, NOW, NOW + 2000);
    expect(once.checkReapAt).toBe(NOW + 5000);
    const twice = afterReap(once, NOW + 5000, NOW + 8000);
    expect(twice.checkReapAt).toBe(NOW + 45_000);
  });

  it('during which a notification came, the next one comes half a second after it began', () => {
    const notified = afterReapNotification(begun({ ...RESTING, reapAt: NOW }, 'reap'), NOW + 5);
    expect(afterReap(notified, NOW, NOW + 10).reapAt).toBe(NOW + 500);
  });

  it('that failed, the next one waits five seconds, or as long as it took', () => {
    const due = { ...RESTING, reapAt: NOW };
    expect(afterFailedReap(due, NOW, NOW + 10)).toEqual({ ...RESTING, checkReapAt: NOW + 5010 });
    expect(afterFailedReap(due, NOW, NOW + 60_000)).toEqual({ ...RESTING, checkReapAt: NOW + 120_000 });
  });
});

describe('while a worker goes on claiming', () => {
  const CLAIMING: PassResult = {
    startedAt: NOW,
    materialized: false,
    isRefused: false,
    claimedEverywhere: true,
    claimed: 0,
    hasRoom: true,
    isClaiming: true,
  };

  it('reaping is due without a poll, and materializing once in a poll', () => {
    const pass = { startedAt: NOW };
    const claiming = { reapAt: RESTING.checkReapAt, materializeAt: NOW + POLL_MS };
    expect(whileClaiming(RESTING, pass, POLL_MS)).toEqual({ ...RESTING, ...claiming });
  });

  it('materializing is due within a poll, whatever the last poll knew: a schedule may be new', () => {
    const pass = { startedAt: NOW };
    const first = whileClaiming(RESTING, pass, POLL_MS);
    expect(first.materializeAt).toBe(NOW + POLL_MS);
    expect(whileClaiming(first, { ...pass, startedAt: NOW + 100 }, POLL_MS).materializeAt).toBe(
      NOW + POLL_MS,
    );
    expect(whileClaiming({ ...RESTING, materializeAt: NOW + 7 }, pass, POLL_MS).materializeAt).toBe(NOW + 7);
  });

  it('the first reaping waits for as long as any other', () => {
    const pass = { startedAt: NOW };
    expect(whileClaiming(FIRST_PLAN, pass, POLL_MS).reapAt).toBe(NOW + 5000);
    expect(whileClaiming({ ...FIRST_PLAN, reapAt: NOW }, pass, POLL_MS).reapAt).toBe(NOW);
  });

  it('reaps in turn with others, unless there is reason to', () => {
    const claiming = whileClaiming(RESTING, { startedAt: NOW }, POLL_MS);
    expect(reapsInTurn(claiming)).toBe(true);
    expect(reapsInTurn(afterReapNotification(claiming, NOW))).toBe(false);
    expect(reapsInTurn(afterError(claiming))).toBe(false);
    expect(reapsInTurn(afterError(FIRST_PLAN))).toBe(false);
    const due = { ...NOTHING, needsReaping: true };
    const poll = { askedAt: NOW, answeredAt: NOW + 1, due, isComplete: true, isNotified: false };
    expect(reapsInTurn(afterPoll(claiming, poll, { ...CLAIMING, isClaiming: false }, POLL_MS))).toBe(false);
  });

  it('the first poll waits for five seconds, and no other is put off', () => {
    const pass = { startedAt: NOW };
    const first = whileClaiming(FIRST_PLAN, pass, POLL_MS);
    expect(first.completeAt).toBe(NOW + 5000);
    expect(sleepMs({ ...first, materializeAt: NEVER }, NOW + 4000, true)).toBe(1000);
    expect(whileClaiming(first, { ...pass, startedAt: NOW + 4000 }, POLL_MS).completeAt).toBe(NOW + 5000);
  });

  it.each([
    ['comes after five seconds', 10, 1, 5000],
    ['leaves 19/20 of the time to other work', 500, 1, 10_000],
    ['comes more rarely where there are more daemons', 10, 50, 10_000],
  ])('the next poll %s, and checks no reaping', (_how, tookMs, daemons, afterMs) => {
    const due = { ...NOTHING, isOverdue: true, daemons };
    const poll = { askedAt: NOW, answeredAt: NOW + tookMs, due, isComplete: true, isNotified: true };
    const plan = { ...RESTING, checkReapAt: NOW };
    const polled = afterPoll(plan, poll, { ...CLAIMING, startedAt: NOW - 30 }, POLL_MS);
    expect(polled).toMatchObject({
      completeAt: NOW + tookMs + afterMs,
      checkReapAt: NOW,
      needsNoPoll: false,
    });
  });

  it('a beat of the minute during a pass is kept', () => {
    const pass = { startedAt: NOW };
    expect(whileClaiming(afterMinute(RESTING), pass, POLL_MS).materializeAt).toBe(0);
  });
});

it.each<[string, Partial<Plan>, boolean, number]>([
  ['until the next poll, where nothing is due', {}, false, POLL_MS],
  ['until the next poll at most', { claimAt: NOW + 60_000 }, false, POLL_MS],
  ['until the reaping', { reapAt: NOW + 30, claimAt: NOW + 40 }, false, 30],
  ['until the occurrence', { materializeAt: NOW + 30, claimAt: NOW + 40 }, false, 30],
  ['until the claim', { claimAt: NOW + 40, reapAt: NOW + 50 }, false, 40],
  ['whole milliseconds, and not too few', { claimAt: NOW + 40.2 }, false, 41],
  ['1 ms where something is due', { claimAt: NOW - 500 }, false, 1],
  ['not until the claim where the worker claims by itself', { claimAt: 0, reapAt: NOW + 50 }, true, 50],
])('sleepMs is %s', (_what, plan, isClaiming, ms) => {
  expect(sleepMs({ ...RESTING, ...plan }, NOW, isClaiming)).toBe(ms);
});

describe('events', () => {
  it('the minute registers and materializes; an error makes all due but what reaping does, too', () => {
    expect(dueOf(afterMinute(RESTING))).toEqual(['register', 'materialize']);
    expect(dueOf(afterError(RESTING))).toEqual(['register', 'reap', 'materialize', 'claim']);
  });

  it.each([
    ['time', false, false],
    ['notified', false, false],
    ['idle', false, true],
    ['change', true, true],
  ] as const)('a sleep that ends by %s', (cause, whereNoPollIsNeeded, otherwise) => {
    const plans = [true, false].map(needsNoPoll => ({ ...RESTING, needsNoPoll }));
    expect(plans.map(plan => claimsAfter(plan, cause))).toEqual([whereNoPollIsNeeded, otherwise]);
    const goesOn = cause === 'time' || cause === 'idle';
    expect(plans.map(plan => sleepsOn(plan, cause))).toEqual([goesOn, cause === 'time']);
  });
});

describe('after a notification that there is something to reap', () => {
  it('reaps at once, unless it has just been asked', () => {
    expect(afterReapNotification(RESTING, NOW).reapAt).toBe(NOW);
    expect(afterReapNotification({ ...RESTING, checkReapAt: NOW + 4900 }, NOW).reapAt).toBe(NOW + 400);
    expect(afterReapNotification(FIRST_PLAN, NOW).reapAt).toBe(NOW);
  });

  it('leaves an earlier reaping as it is, and takes no more than its share of the time', () => {
    expect(afterReapNotification({ ...RESTING, reapAt: NOW - 5 }, NOW).reapAt).toBe(NOW - 5);
    // The last one took 2 s: the next may come after 40.
    const slow = afterReap({ ...RESTING, reapTookMs: 2000 }, NOW - 2000, NOW);
    expect(afterReapNotification(slow, NOW).reapAt).toBe(slow.checkReapAt - 4500);
  });
});
