// What an attempt's end means for the run: each ending, each way to steer, each hostile error.
import { describe, expect, it } from 'vitest';
import { Cancel, Dead } from '../../../src/model/errors.js';
import {
  type Attempted,
  decideOutcome,
  type Ending,
  type HolderMove,
  payloadError,
} from '../../../src/model/run/decide.js';
import { RetryLater, type RetryPolicy } from '../../../src/model/run/retry.js';
import { retryAfter, Snooze } from '../../../src/model/run/snooze.js';
import { SKIP_REASONS, TRANSITIONS } from '../../../src/model/run/states.js';
import { fc } from '../../support/seed.js';

const FIRST = { attempt: 1, maxAttempts: 3 };
const LAST = { attempt: 3, maxAttempts: 3 };
const FIXED: RetryPolicy = { backoff: 'fixed', base: '30s', jitter: 0 };
const NOTHING = { output: null, error: null, delayMs: 0, skipReason: null };

const decide = (ending: Ending, run: Attempted = FIRST, policy = FIXED) =>
  decideOutcome(ending, run, policy, 0.5);
const threw = (error: unknown): Ending => ({ kind: 'threw', error });

/** What a handler throws that was compiled with another copy of the package. */
function otherCopy(kind: string, more: object = {}): Error {
  return Object.assign(new Error('from another copy'), { kind, ...more });
}

describe('decideOutcome of a Snooze', () => {
  const snooze = (thrown: unknown, ageMs = 0) => decide(threw(thrown), { ...LAST, ageMs });

  it('makes the run wait, also on its last attempt', () => {
    expect(snooze(new Snooze('5m', { reason: 'not ready' }))).toEqual({
      ...NOTHING,
      transition: 'suspend',
      wait: { delayMs: 300_000, until: null, snoozed: 'not ready' },
    });
    expect(snooze(new Snooze({ until: '2026-03-01T12:00:00Z' })).wait).toEqual({
      delayMs: null,
      until: Date.parse('2026-03-01T12:00:00Z'),
      snoozed: 'the handler asked to be called again later',
    });
  });

  it('waits for a second at least', () => {
    expect(snooze(new Snooze(0)).wait).toMatchObject({ delayMs: 1000 });
  });

  it('waits no longer than until it gives up, and then gives up', () => {
    const patient = new Snooze('5m', { giveUpAfter: '12m' });
    expect(snooze(patient, 600_000).wait).toMatchObject({ delayMs: 120_000 });
    expect(snooze(patient, 719_999).wait).toMatchObject({ delayMs: 1000 });
    expect(snooze(patient, 720_000)).toMatchObject({
      transition: 'exhaust',
      error: { code: 'TOCK_GAVE_UP' },
    });
  });

  it('is that of another copy of the package, and waits a second where it is broken', () => {
    expect(snooze(otherCopy('tock.snooze', { delayMs: 5000 })).wait).toMatchObject({ delayMs: 5000 });
    expect(snooze(otherCopy('tock.snooze', { delayMs: Number.NaN })).wait).toMatchObject({ delayMs: 1000 });
  });

  it('refuses what it cannot read when it is made', () => {
    expect(() => new Snooze('soon')).toThrow(expect.objectContaining({ code: 'TOCK_BAD_DURATION' }));
    expect(() => new Snooze({ until: 'soon' })).toThrow(expect.objectContaining({ code: 'TOCK_BAD_TIME' }));
    expect(() => new Snooze('5m', { giveUpAfter: -1 })).toThrow(/giveUpAfter/);
  });
});

describe('retryAfter', () => {
  const asked = (retry: string | null, date: string | null = 'Thu, 01 Jan 2026 00:00:00 GMT') =>
    retryAfter({ headers: { get: name => (name === 'date' ? date : retry) } });

  it.each([
    ['120', 120_000],
    [' 0 ', 0],
    ['Thu, 01 Jan 2026 00:01:00 GMT', 60_000],
    ['Wed, 31 Dec 2025 00:00:00 GMT', 0],
    ['soon', null],
    ['-5', null],
    ['1.5', null],
    [null, null],
  ])('reads %s', (header, expected) => {
    expect(asked(header)).toBe(expected);
  });

  it('compares a date with that of the response only', () => {
    expect(asked('Thu, 01 Jan 2026 00:01:00 GMT', null)).toBeNull();
  });
});

describe('decideOutcome', () => {
  it('lets a run succeed whose handler returned, with its output', () => {
    const outcome = { ...NOTHING, transition: 'succeed', output: { sent: 3 } };
    expect(decide({ kind: 'returned', value: { sent: 3 } })).toEqual(outcome);
    expect(decide({ kind: 'returned', value: { sent: 3 } }, LAST)).toEqual(outcome);
    expect(decide({ kind: 'returned', value: undefined })).toEqual({ ...NOTHING, transition: 'succeed' });
  });

  it('lets a run succeed whose output cannot be kept', () => {
    expect(decide({ kind: 'returned', value: 12n })).toMatchObject({
      transition: 'succeed',
      output: { outputLeftOut: expect.stringContaining('BigInt') as string },
    });
  });

  it('hands a run off, on any attempt', () => {
    const handOff = { leaseMs: 60_000, to: 'finance' };
    for (const run of [FIRST, LAST])
      expect(decide({ kind: 'handedOff', handOff }, run)).toEqual({
        ...NOTHING,
        transition: 'handOff',
        handOff,
      });
  });

  it('withdraws a cancelled run, releases a drained one, expires a late one, on any attempt', () => {
    for (const run of [FIRST, LAST]) {
      expect(decide({ kind: 'cancelled' }, run)).toEqual({ ...NOTHING, transition: 'withdraw' });
      expect(decide({ kind: 'drained' }, run)).toEqual({ ...NOTHING, transition: 'release' });
      expect(decide({ kind: 'late' }, run)).toEqual({
        ...NOTHING,
        transition: 'expire',
        skipReason: 'deadline',
      });
    }
  });

  it('defers a run outside its window until that opens, and skips it where that is not to be', () => {
    for (const run of [FIRST, LAST]) {
      expect(decide({ kind: 'outside', opensAt: 1_700_000_000_000 }, run)).toEqual({
        ...NOTHING,
        transition: 'defer',
        deferral: { runAt: 1_700_000_000_000, limits: [] },
      });
      expect(decide({ kind: 'outside', opensAt: null }, run)).toEqual({
        ...NOTHING,
        transition: 'expire',
        skipReason: 'window',
      });
    }
  });

  it('defers a run without its slots until it has them', () => {
    const limits = [{ key: 'job:sync', limit: 3 }];
    expect(decide({ kind: 'noSlot', limits }, LAST)).toEqual({
      ...NOTHING,
      transition: 'defer',
      deferral: { runAt: null, limits },
    });
  });

  it('fails a run that crashed its process and releases one that may have, both as suspects', () => {
    const error = { name: 'RangeError', message: 'off the end' };
    const crashed = (isCounted: boolean): Ending => ({
      kind: 'crashed',
      error: new RangeError('off the end'),
      isCounted,
    });
    expect(decide(crashed(true))).toMatchObject({
      transition: 'fail',
      delayMs: 30_000,
      error: { attempt: 1, ...error },
      isSuspect: true,
    });
    expect(decide(crashed(true), LAST)).toMatchObject({ transition: 'exhaust', isSuspect: true });
    expect(decide(crashed(false), LAST)).toMatchObject({
      transition: 'release',
      delayMs: 0,
      error: { attempt: 3, ...error },
      isSuspect: true,
    });
  });

  it('fails a run that threw while attempts are left, and waits as the policy says', () => {
    expect(decide(threw(new TypeError('no such invoice')))).toMatchObject({
      transition: 'fail',
      delayMs: 30_000,
      output: null,
      skipReason: null,
      error: { attempt: 1, name: 'TypeError', message: 'no such invoice' },
    });
  });

  it('exhausts a run that threw on its last attempt, or past it', () => {
    expect(decide(threw(new Error('x')), LAST)).toMatchObject({
      transition: 'exhaust',
      delayMs: 0,
      error: { attempt: 3, message: 'x' },
    });
    expect(decide(threw(new Error('x')), { attempt: 4, maxAttempts: 3 }).transition).toBe('exhaust');
    expect(decide(threw(new Error('x')), { attempt: 1, maxAttempts: 1 }).transition).toBe('exhaust');
  });

  it.each([
    ['Cancel', new Cancel('gone'), 'gone'],
    ['Cancel of another copy', otherCopy('tock.cancel'), 'from another copy'],
  ])('withdraws at %s, on any attempt, and keeps the reason', (_what, error, message) => {
    for (const run of [FIRST, LAST])
      expect(decide(threw(error), run)).toMatchObject({
        transition: 'withdraw',
        delayMs: 0,
        error: { message },
      });
  });

  it.each([
    ['Dead', new Dead('hopeless'), 'hopeless'],
    ['Dead of another copy', otherCopy('tock.dead'), 'from another copy'],
  ])('exhausts at %s, on any attempt, and keeps the reason', (_what, error, message) => {
    for (const run of [FIRST, LAST])
      expect(decide(threw(error), run)).toMatchObject({
        transition: 'exhaust',
        delayMs: 0,
        error: { message },
      });
  });

  it.each([
    ['RetryLater', new RetryLater('5m'), 300_000],
    ['RetryLater without a wait', new RetryLater(0), 0],
    ['RetryLater past the cap of the policy', new RetryLater('2d'), 172_800_000],
    ['RetryLater of another copy', otherCopy('tock.retry-later', { delay: 'PT7S' }), 7000],
  ])('fails at %s with the delay that it asks for', (_what, error, delayMs) => {
    expect(decide(threw(error))).toMatchObject({ transition: 'fail', delayMs });
  });

  it('counts the attempt of a RetryLater: on the last one the run is dead', () => {
    expect(decide(threw(new RetryLater('5m')), LAST)).toMatchObject({ transition: 'exhaust', delayMs: 0 });
  });

  it.each([
    ['soon'],
    [-1],
    [Number.NaN],
    [Number.POSITIVE_INFINITY],
    [1e12],
    [null],
    [undefined],
    [{}],
    [7n],
  ])('falls back on the default backoff at a RetryLater of another copy of %s', delay => {
    expect(decide(threw(otherCopy('tock.retry-later', { delay })))).toMatchObject({
      transition: 'fail',
      delayMs: 10_000,
    });
  });

  it.each<[string, NonNullable<RetryPolicy['backoff']>]>([
    [
      'throws',
      () => {
        throw new Error('no');
      },
    ],
    ['says nonsense', () => 'soon'],
    ['says NaN', () => Number.NaN],
    ['gives a promise', (async () => await Promise.resolve('5m')) as unknown as () => string],
  ])('falls back on the default backoff where the backoff function %s', (_what, backoff) => {
    expect(decide(threw(new Error('x')), FIRST, { backoff })).toMatchObject({
      transition: 'fail',
      delayMs: 10_000,
    });
  });

  it('contains whatever is thrown', () => {
    const hostile = new Error('x');
    for (const key of ['stack', 'message', 'name', 'code', 'kind', 'delay']) {
      Object.defineProperty(hostile, key, {
        get() {
          throw new Error('no');
        },
      });
    }
    const proxy = new Proxy(new Error('x'), {
      get() {
        throw new Error('no');
      },
      getPrototypeOf() {
        throw new Error('no');
      },
    });
    for (const error of [null, undefined, 'text', 7n, Symbol('x'), Object.create(null), hostile, proxy])
      expect(decide(threw(error))).toMatchObject({ transition: 'fail', delayMs: 30_000 });
  });

  it('gives a move that the holder of the lease may make, whatever happens', () => {
    const endings = fc.oneof(
      fc.record({ kind: fc.constant('returned' as const), value: fc.anything() }),
      fc.record({ kind: fc.constant('threw' as const), error: fc.anything() }),
      fc.record({ kind: fc.constantFrom('cancelled' as const, 'drained' as const, 'late' as const) }),
    );
    const runs = fc.record({
      attempt: fc.integer({ min: 1, max: 9 }),
      maxAttempts: fc.integer({ min: 1, max: 9 }),
    });
    fc.assert(
      fc.property(
        endings,
        runs,
        fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }),
        (ending, run, random) => {
          const outcome = decideOutcome(ending, run, {}, random);
          const move = TRANSITIONS[outcome.transition as HolderMove];
          expect(move.by).toBe('holder');
          expect(move.from).toEqual(['running']);
          expect(outcome.skipReason !== null).toBe(move.to === 'skipped');
          if (outcome.skipReason !== null) expect(SKIP_REASONS).toHaveProperty(outcome.skipReason);
          if (move.to !== 'failed') expect(outcome.delayMs).toBe(0);
          if (ending.kind === 'threw') expect(outcome.error?.attempt).toBe(run.attempt);
          expect(JSON.parse(JSON.stringify(outcome))).toEqual(outcome);
        },
      ),
    );
  });
});

it('payloadError names the job and at most five paths', () => {
  const issues = [
    { message: 'no object' },
    { message: 'too long', path: ['lines', 3, { key: 'text' }] },
    { message: 'odd', path: [Symbol('s')] },
    { message: 'four' },
    { message: 'five', path: [] },
    { message: 'six' },
  ];
  expect(payloadError('report', issues)).toMatchObject({
    code: 'TOCK_BAD_PAYLOAD',
    message:
      'the payload does not fit the schema of job report: no object; lines.3.text: too long; Symbol(s): odd; four; five',
  });
});
