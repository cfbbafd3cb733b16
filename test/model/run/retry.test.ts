// How long a failed run waits: within bounds for every policy, attempt and random number.
import { describe, expect, it } from 'vitest';
import { MAX_DURATION_MS } from '../../../src/model/duration.js';
import {
  backoffMs,
  checkMaxAttempts,
  checkRetryPolicy,
  DEFAULT_MAX_ATTEMPTS,
  type RetryPolicy,
} from '../../../src/model/run/retry.js';
import { fc } from '../../support/seed.js';

const MOST_ATTEMPTS = 1_000_000;
const attempts = fc.integer({ min: 1, max: MOST_ATTEMPTS });
const waits = fc.integer({ min: 0, max: MAX_DURATION_MS });
/** A number in [0, 1), as Math.random gives. */
const randoms = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true });
const error = new Error('x');

/** The waits after the first attempts, without jitter. */
function waitsOf(policy: RetryPolicy, count: number): number[] {
  return Array.from({ length: count }, (_, index) =>
    backoffMs({ jitter: 0, ...policy }, index + 1, error, 0.5),
  );
}

describe('backoffMs', () => {
  it('waits 10 s, 20 s, 40 s … up to an hour by default, spread by a fifth', () => {
    expect(waitsOf({}, 11)).toEqual(
      [10, 20, 40, 80, 160, 320, 640, 1280, 2560, 3600, 3600].map(seconds => seconds * 1000),
    );
    expect(backoffMs({}, 1, error, 0)).toBe(8000);
    expect(backoffMs({}, 1, error, 0.5)).toBe(10_000);
    expect(backoffMs({}, 1, error, 1 - Number.EPSILON)).toBe(12_000);
  });

  it('gives a run ten attempts by default, over almost an hour and a half', () => {
    expect(DEFAULT_MAX_ATTEMPTS).toBe(10);
    const total = waitsOf({}, DEFAULT_MAX_ATTEMPTS - 1).reduce((sum, wait) => sum + wait, 0);
    expect(total).toBe(5_110_000);
  });

  it('waits the base each time under fixed', () => {
    expect(waitsOf({ backoff: 'fixed', base: '3s' }, 4)).toEqual([3000, 3000, 3000, 3000]);
  });

  it('waits one base more each time under linear', () => {
    expect(waitsOf({ backoff: 'linear', base: '3s', max: '10s' }, 5)).toEqual([
      3000, 6000, 9000, 10_000, 10_000,
    ]);
  });

  it('waits what a function of the attempt and its error says, without jitter or cap', () => {
    const asked: unknown[] = [];
    const policy: RetryPolicy = {
      max: '1s',
      jitter: 1,
      backoff: (attempt, thrown) => {
        asked.push(attempt, thrown);
        return '2h';
      },
    };
    expect(backoffMs(policy, 7, error, 0.9)).toBe(7_200_000);
    expect(asked).toEqual([7, error]);
  });

  it.each([['soon'], [-1], [Number.NaN], [1e12]])('refuses a function that says %j', answer => {
    expect(() => backoffMs({ backoff: () => answer }, 1, error, 0)).toThrow(
      expect.objectContaining({
        code: 'TOCK_BAD_DURATION',
        message: expect.stringContaining('the result of retry.backoff') as string,
      }),
    );
  });

  it('lies within the jitter around the wait, and the wait below the cap, for every attempt', () => {
    const policies = fc.record({
      backoff: fc.constantFrom('fixed', 'linear', 'exponential'),
      base: waits,
      max: waits,
      jitter: fc.double({ min: 0, max: 1, noNaN: true }),
    });
    fc.assert(
      fc.property(policies, attempts, randoms, (policy, attempt, random) => {
        const { base, max, jitter } = policy;
        const factors = { fixed: 1, linear: attempt, exponential: 2 ** (attempt - 1) };
        // A base of 0 stays 0, however often it is doubled.
        const wait = base === 0 ? 0 : Math.min(base * factors[policy.backoff], max);
        const ms = backoffMs(policy, attempt, error, random);
        expect(Number.isSafeInteger(ms)).toBe(true);
        expect(ms).toBeGreaterThanOrEqual(Math.floor(wait * (1 - jitter)));
        expect(ms).toBeLessThanOrEqual(Math.ceil(wait * (1 + jitter)));
      }),
      { numRuns: 1000 },
    );
  });

  it('never waits less after a later attempt, without jitter', () => {
    const policies = fc.record({
      backoff: fc.constantFrom('fixed', 'linear', 'exponential'),
      base: waits,
      max: waits,
    });
    fc.assert(
      fc.property(policies, attempts, attempts, (policy, a, b) => {
        const [early, late] = [Math.min(a, b), Math.max(a, b)];
        const wait = (attempt: number) => backoffMs({ ...policy, jitter: 0 }, attempt, error, 0);
        expect(wait(late)).toBeGreaterThanOrEqual(wait(early));
      }),
    );
  });

  it('reaches the cap in the end, whatever the base', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 1000 }), waits, (base, max) => {
        expect(backoffMs({ base, max, jitter: 0 }, MOST_ATTEMPTS, error, 0)).toBe(max);
      }),
    );
  });

  it('uses the whole span of the jitter', () => {
    const policy = { backoff: 'fixed', base: 1000, jitter: 0.5 } as const;
    const seen = [0, 0.25, 0.5, 0.75, 0.999].map(random => backoffMs(policy, 1, error, random));
    expect(seen).toEqual([500, 750, 1000, 1250, 1499]);
  });
});

describe('checkRetryPolicy', () => {
  it.each<RetryPolicy>([
    {},
    { maxAttempts: 1 },
    { maxAttempts: MOST_ATTEMPTS },
    { backoff: 'fixed', base: '0s', max: 'PT1H', jitter: 0 },
    { backoff: () => '1s', jitter: 1 },
  ])('takes %j', policy => {
    expect(() => checkRetryPolicy(policy)).not.toThrow();
  });

  it.each([
    [{ maxAttempts: 0 }, 'TOCK_BAD_JOB', 'maxAttempts 0 is not a whole number from 1'],
    [{ maxAttempts: -1 }, 'TOCK_BAD_JOB', 'maxAttempts -1'],
    [{ maxAttempts: 1.5 }, 'TOCK_BAD_JOB', 'maxAttempts 1.5'],
    [{ maxAttempts: 1_000_001 }, 'TOCK_BAD_JOB', 'maxAttempts 1000001'],
    [{ maxAttempts: Number.NaN }, 'TOCK_BAD_JOB', 'maxAttempts NaN'],
    [{ maxAttempts: '3' }, 'TOCK_BAD_JOB', 'maxAttempts "3"'],
    [{ maxAttempts: null }, 'TOCK_BAD_JOB', 'maxAttempts null'],
    [{ attempts: 3 }, 'TOCK_BAD_JOB', 'retry has no option "attempts"'],
    [{ bases: '1s' }, 'TOCK_BAD_JOB', 'retry has no option "bases"; did you mean "base"?'],
    [null, 'TOCK_BAD_JOB', 'retry is null; write an object of options'],
    [{ base: 'soon' }, 'TOCK_BAD_DURATION', 'retry.base "soon"'],
    [{ base: -1 }, 'TOCK_BAD_DURATION', 'retry.base -1'],
    [{ max: Number.POSITIVE_INFINITY }, 'TOCK_BAD_DURATION', 'retry.max Infinity'],
    [{ jitter: -0.1 }, 'TOCK_BAD_JOB', 'retry.jitter -0.1 is not a number between 0 and 1'],
    [{ jitter: 1.1 }, 'TOCK_BAD_JOB', 'retry.jitter 1.1'],
    [{ jitter: Number.NaN }, 'TOCK_BAD_JOB', 'retry.jitter NaN'],
    [
      { backoff: 'quadratic' },
      'TOCK_BAD_JOB',
      'retry.backoff "quadratic" is none of fixed, linear, exponential',
    ],
    [{ backoff: null }, 'TOCK_BAD_JOB', 'retry.backoff null'],
    [{ backoff: 'toString' }, 'TOCK_BAD_JOB', 'retry.backoff "toString"'],
  ])('refuses %j', (policy, code, told) => {
    expect(() => checkRetryPolicy(policy as unknown as RetryPolicy)).toThrow(
      expect.objectContaining({ code, message: expect.stringContaining(told) as string }),
    );
  });
});

it('checkMaxAttempts returns the number that it takes', () => {
  expect([1, 25, MOST_ATTEMPTS].map(checkMaxAttempts)).toEqual([1, 25, MOST_ATTEMPTS]);
});
