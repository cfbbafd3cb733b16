// The errors of Tock, and those that a handler throws to steer its run.
import { describe, expect, it } from 'vitest';
import { Cancel, Dead, isSteering, TockError } from '../../src/model/errors.js';
import { RetryLater } from '../../src/model/run/retry.js';

const KINDS = ['tock.retry-later', 'tock.cancel', 'tock.dead'] as const;

it('TockError carries a code for programs, a message for people, and the cause', () => {
  const cause = new Error('below');
  const error = new TockError('TOCK_BAD_JOB', 'rename it', { cause });
  expect(error).toBeInstanceOf(Error);
  expect(error).toMatchObject({ name: 'TockError', code: 'TOCK_BAD_JOB', message: 'rename it', cause });
});

describe('isSteering', () => {
  it('tells the three apart', () => {
    const told = [new RetryLater('5m'), new Cancel(), new Dead()].map(error =>
      KINDS.filter(kind => isSteering(error, kind)),
    );
    expect(told).toEqual([['tock.retry-later'], ['tock.cancel'], ['tock.dead']]);
  });

  it('goes by the kind, so that another copy of the class counts, and a mere look-alike does not', () => {
    const other = Object.assign(new Error('from another copy'), { kind: 'tock.dead' });
    expect(isSteering(other, 'tock.dead')).toBe(true);
    expect(isSteering({ kind: 'tock.dead' }, 'tock.dead')).toBe(false);
    expect(isSteering(new Error('tock.dead'), 'tock.dead')).toBe(false);
  });

  it.each([[null], [undefined], ['tock.dead'], [7n]])('is false for %s', thrown => {
    expect(KINDS.some(kind => isSteering(thrown, kind))).toBe(false);
  });

  it('is false for an error whose getter or prototype throws', () => {
    const hostile = Object.defineProperty(new Error('x'), 'kind', {
      get() {
        throw new Error('no');
      },
    });
    const proxy = new Proxy(new Error('x'), {
      getPrototypeOf() {
        throw new Error('no');
      },
    });
    expect([hostile, proxy].map(error => isSteering(error, 'tock.dead'))).toEqual([false, false]);
  });
});

describe('the steering errors', () => {
  it('say why, also where the handler does not', () => {
    expect([new RetryLater('5m'), new Cancel(), new Dead()].map(error => error.message)).toEqual([
      'the handler asked to be run again later',
      'cancelled by its handler',
      'given up by its handler',
    ]);
    const cause = new Error('429');
    expect(new RetryLater(500, 'too many requests', { cause })).toMatchObject({
      name: 'RetryLater',
      delay: 500,
      message: 'too many requests',
      cause,
    });
    expect(new Cancel('gone')).toMatchObject({ name: 'Cancel', message: 'gone' });
    expect(new Dead('hopeless')).toMatchObject({ name: 'Dead', message: 'hopeless' });
  });

  // Regression: the default backoff was taken in silence, so nobody learned that the delay was no delay.
  it.each([[Number.NaN], [Number.POSITIVE_INFINITY], [-1], ['soon'], [null], [undefined]])(
    'refuse %s as the delay of RetryLater, so that the attempt says what is wrong',
    delay => {
      expect(() => new RetryLater(delay as string)).toThrow(
        expect.objectContaining({
          code: 'TOCK_BAD_DURATION',
          message: expect.stringMatching(/^the delay of RetryLater .* is not a duration/),
        }),
      );
    },
  );
});
