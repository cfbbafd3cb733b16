// Chaos: the plan of the reliability suite, and what its command line takes.
import { describe, expect, it } from 'vitest';
import { isKnownByKey, makeOrders, WAYS } from './load.js';
import { readOptions } from './options.js';
import { CALM_MS, countKinds, makePlan } from './plan.js';

const RARE = { drains: 2, farewells: 3, suicides: 4, leaps: 5 };
const NUMBERS = { runs: 2000, kills: 20, stops: 6, restarts: 3, cuts: 40, seed: 7, ...RARE };

describe('makePlan', () => {
  it('gives the same plan for the same seed, and another for another', () => {
    const plan = makePlan(NUMBERS);
    expect(makePlan({ ...NUMBERS })).toEqual(plan);
    expect(makePlan({ ...NUMBERS, seed: 8 }).hash).not.toBe(plan.hash);
    expect(makeOrders(7, 500)).toEqual(makeOrders(7, 500));
    expect(makeOrders(8, 500)).not.toEqual(makeOrders(7, 500));
  });

  it('has as many faults of each kind as are asked for, in the order of time', () => {
    const { faults, durationMs } = makePlan(NUMBERS);
    const kinds = countKinds(faults);
    expect(kinds).toMatchObject({
      kill: 20,
      stop: 6,
      restart: 3,
      drain: 2,
      farewell: 3,
      suicide: 4,
      leap: 5,
    });
    expect(kinds['lost reply'] + kinds.cut).toBe(40);
    const times = faults.map(each => each.atMs);
    expect(times).toEqual(times.toSorted((a, b) => a - b));
    const faultsMs = durationMs - CALM_MS;
    expect(times.every(at => at >= 0 && at <= faultsMs)).toBe(true);
    // Spread over all of it, not all at once.
    expect(new Set(faults.map(each => Math.floor((each.atMs / faultsMs) * 5)))).toEqual(
      new Set([0, 1, 2, 3, 4]),
    );
  });
});

describe('makeOrders', () => {
  it('asks for as many runs as are wanted, each once, in every way', () => {
    const orders = makeOrders(1, 1234);
    expect(orders.flatMap(each => each.wanted.map(({ n }) => n))).toEqual(
      Array.from({ length: 1234 }, (_, n) => n),
    );
    expect(new Set(orders.map(each => each.way))).toEqual(new Set(WAYS));
    // Nothing waits for what was not asked for before it, or with it.
    for (const { wanted } of orders)
      for (const { n, after } of wanted)
        for (const parent of after?.parents ?? [])
          expect(wanted.some(each => each.n === parent && parent !== n)).toBe(true);
    expect(orders.filter(each => each.isTwice).every(isKnownByKey)).toBe(true);
  });
});

describe('readOptions', () => {
  it('has defaults, and takes numbers', () => {
    expect(readOptions([])).toMatchObject({ runs: 2000, kills: 15, plan: false, dist: null });
    expect(readOptions(['--runs', '5', '--seed=9', '--plan'])).toMatchObject({
      runs: 5,
      seed: 9,
      plan: true,
    });
  });

  it.each([
    [['--runs', '0'], '--runs is "0"; it must be a whole number from 1 to 1000000'],
    [['--kills', '1.5'], '--kills is "1.5"; it must be a whole number from 0 to 1000000'],
    [['--cuts', ''], '--cuts is ""; it must be a whole number from 0 to 1000000'],
    [['--seed', '4294967296'], '--seed is "4294967296"; it must be a whole number from 0 to 4294967295'],
    [['--frob'], "Unknown option '--frob'; the options are --runs, --kills,"],
    [['now'], "Unexpected argument 'now'"],
  ])('refuses %j and says what is allowed', (argv, message) => {
    expect(() => readOptions(argv)).toThrow(message);
  });
});
