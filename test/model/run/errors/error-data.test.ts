// Model: an error goes from one process to another as data, and steers and tells the same there.
import { deserialize, serialize } from 'node:v8';
import { describe, expect, it } from 'vitest';
import { Cancel, Dead, isSteering, TockError } from '../../../../src/model/errors.js';
import { packError, unpackError } from '../../../../src/model/run/errors/error-data.js';
import { RetryLater } from '../../../../src/model/run/retry.js';
import { describeError } from '../../../../src/model/run/sanitize.js';

/** There, by the serialization that the child process uses. */
const sent = (thrown: unknown) => unpackError(deserialize(serialize(packError(thrown))));

const hostile = new Proxy(new Error('never told'), {
  get() {
    throw new Error('no');
  },
  ownKeys() {
    throw new Error('no');
  },
});
const withGetter = Object.defineProperty(new Error('with a getter'), 'status', {
  enumerable: true,
  get() {
    throw new Error('no');
  },
});

const circular = new Error('circular');
const deep = Array.from({ length: 20 }, (_, level) => level).reduce(
  (cause, level) => new Error(`level ${level}`, { cause }),
  new Error('the first'),
);

describe('an error as data', () => {
  it.each<[string, unknown]>([
    ['an Error', new Error('plain')],
    ['one of another class with a code', Object.assign(new RangeError('far'), { code: 'E_FAR' })],
    ['one with a number for a code', Object.assign(new Error('n'), { code: 7 })],
    ['a TockError', new TockError('TOCK_BAD_PAYLOAD', 'does not fit')],
    ['RetryLater', new RetryLater('5m')],
    ['Cancel', new Cancel('no')],
    ['Dead', new Dead('over')],
    ['one without a stack', Object.assign(new Error('bare'), { stack: undefined })],
    ['one with a long message', new Error('x'.repeat(10_000))],
    ['one with a password in it', new Error('cannot reach postgres://ada:hunter2@db/x')],
    ['one with NUL and a lone surrogate', new Error('a\0b\ud800')],
    ['one with a cause', new Error('x', { cause: new TypeError('y', { cause: 'z' }) })],
    [
      'an AggregateError, one of whose members has a code',
      new AggregateError([Object.assign(new Error('a'), { code: 'E_A' }), 7, new Error('b')], 'several'),
    ],
    ['an AggregateError of too many', new AggregateError(Array.from({ length: 1000 }, () => new Error('m')))],
    ['TockError with a cause', new TockError('TOCK_BAD_PAYLOAD', 'x', { cause: new Error('y') })],
    ['Dead with a cause', new Dead('over', { cause: new Error('why') })],
    ['one with a deep chain of causes', deep],
    ['one that is its own cause', Object.assign(circular, { cause: circular })],
    ['one whose cause has a password', new Error('x', { cause: new Error('postgres://ada:hunter2@db/x') })],
    ['one whose cause is hostile', new Error('x', { cause: hostile })],
    ['null', null],
    ['undefined', undefined],
    ['a text', 'text'],
    ['a plain object', { message: 'thrown', code: 'X' }],
    ['a hostile proxy', hostile],
    ['one with a getter that throws', withGetter],
    [
      'one with a property __proto__',
      Object.assign(new Error('own'), JSON.parse('{"__proto__": 1, "a": 1}')),
    ],
  ])('is stored as it would have been here: %s', (_name, thrown) => {
    expect(describeError(sent(thrown), 3)).toEqual(describeError(thrown, 3));
  });

  it('steers as before', () => {
    expect(sent(new RetryLater('5m', 'why'))).toMatchObject({ delay: '5m', message: 'why' });
    expect(sent(new RetryLater(90))).toBeInstanceOf(RetryLater);
    expect(isSteering(sent(new RetryLater(90)), 'tock.retry-later')).toBe(true);
    expect(isSteering(sent(new Cancel()), 'tock.cancel')).toBe(true);
    expect(isSteering(sent(new Dead()), 'tock.dead')).toBe(true);
    // As thrown by a job that was compiled with another copy of the package.
    expect(isSteering(sent(Object.assign(new Error('x'), { kind: 'tock.dead' })), 'tock.dead')).toBe(true);
    expect(isSteering(sent({ kind: 'tock.dead' }), 'tock.dead')).toBe(false);
  });

  it('keeps its own texts, numbers and booleans, and nothing else', () => {
    const error = sent(
      Object.assign(new Error('x'), {
        status: 429,
        retryAfter: '30',
        isFatal: false,
        request: { secret: 1 },
      }),
    );
    expect(error).toMatchObject({ status: 429, retryAfter: '30', isFatal: false });
    expect(error).not.toHaveProperty('request');
  });

  it('is an Error with causes again, and an AggregateError with members', () => {
    const error = sent(new AggregateError([new Error('a')], 'several', { cause: new Error('why') }));
    expect(error).toBeInstanceOf(AggregateError);
    expect((error as AggregateError).errors[0]).toBeInstanceOf(Error);
    expect(error.cause).toBeInstanceOf(Error);
    expect(Object.keys(error)).not.toContain('cause');
    expect(sent(new Error('x'))).not.toHaveProperty('cause');
  });

  it('keeps the class of an abort’s reason', () => {
    expect(sent(new TockError('TOCK_TIMEOUT', 'too long'))).toBeInstanceOf(TockError);
    expect(sent(new Cancel('x'))).toBeInstanceOf(Cancel);
  });
});
