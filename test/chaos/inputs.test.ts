// Chaos: whatever is thrown and whatever is returned, through the whole engine into PostgreSQL and back.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { defineJob } from '../../src/index.js';
import { openTestTock, type TestTock } from '../support/test-tock.js';

const DSN = 'postgres://tock:hunter2@db.example.com:5432/app';
const trap = () => {
  throw new Error('trap');
};
const hostileProxy = () =>
  new Proxy(
    {},
    { get: trap, has: trap, ownKeys: trap, getPrototypeOf: trap, getOwnPropertyDescriptor: trap },
  );
const nested = (depth: number) => {
  let value: unknown = 'deep';
  for (let level = 0; level < depth; level++) value = [value];
  return value;
};
const cyclic = () => {
  const value: Record<string, unknown> = { name: 'ring' };
  value['self'] = value;
  return value;
};
const withFields = (error: Error, fields: object) => Object.assign(error, fields);
class Private extends Error {
  readonly #secret = 'hunter2';
  override get message() {
    return `private ${this.#secret.length}`;
  }
}

/** Each makes its value anew, in the handler. */
const THROWN: Readonly<Record<string, () => unknown>> = {
  null: () => null,
  undefined: () => undefined,
  'a string': () => 'plain words',
  'an empty string': () => '',
  'a number that is none': () => Number.NaN,
  'a bigint': () => 10n,
  'a symbol': () => Symbol('odd'),
  'a function': () => trap,
  'an array': () => [1, [2, [3]]],
  'an error without a message': () => new Error(),
  'an error of 10 MB': () => new Error('x'.repeat(10_000_000)),
  'an error with a stack of 10 MB': () =>
    withFields(new Error('tall'), { stack: 'at x\n'.repeat(2_000_000) }),
  'NUL in the message': () => new Error('a\0b'),
  'NUL in name and code': () => withFields(new Error('c'), { name: 'a\0b', code: 'x\0y' }),
  'a lone surrogate': () =>
    withFields(new Error('high \ud800 low \udc00'), { code: '\ud800', name: '\udfff' }),
  'a code that is an object': () => withFields(new Error('odd'), { code: { toString: trap } }),
  'a name that is a number': () => withFields(new Error('odd'), { name: 7 }),
  'a message that is an object': () => withFields(new Error(), { message: hostileProxy() }),
  'a getter that throws': () => Object.defineProperty(new Error(''), 'message', { get: trap }),
  'getters that throw everywhere': () =>
    Object.defineProperties(new Error(''), {
      message: { get: trap },
      name: { get: trap },
      stack: { get: trap },
      code: { get: trap },
      cause: { get: trap },
    }),
  'a proxy that throws at everything': hostileProxy,
  'toJSON that throws': () => ({ toJSON: trap, toString: trap, [Symbol.toPrimitive]: trap }),
  'an object without a prototype': () => Object.create(null) as unknown,
  'a ring of causes': () => {
    const error = new Error('ring');
    error.cause = error;
    return error;
  },
  'a thousand errors in one': () =>
    new AggregateError(
      Array.from({ length: 1000 }, (_, index) => new Error(`no ${index}`)),
      'many',
    ),
  'a connection string': () => new Error(`cannot connect to ${DSN}`),
  'private fields': () => new Private(),
  'an error of pg with a row’s values': () =>
    withFields(new Error('duplicate key'), {
      code: '23505',
      detail: 'Key (email)=(hunter2) exists',
      where: 'hunter2',
    }),
  'ANSI and new lines': () => new Error('\u001b[31mred\u001b[0m\r\nsecond line'),
  markup: () => new Error('<img src=x onerror=alert(1)>'),
  'a key of the prototype': () => JSON.parse('{"__proto__":{"polluted":true},"constructor":1}') as unknown,
  frozen: () => Object.freeze(new Error('cold')),
  'a rejected promise in a promise': () => Promise.reject(new Error('within')),
};

const RETURNED: Readonly<Record<string, () => unknown>> = {
  undefined: () => undefined,
  'a number that is none': () => ({ nan: Number.NaN, infinite: Number.POSITIVE_INFINITY, minus: -0 }),
  'a bigint': () => ({ big: 2n ** 64n }),
  'an integer that no double holds': () => 2 ** 53 + 2,
  'a symbol': () => ({ odd: Symbol('odd') }),
  'a function': () => trap,
  'a ring': cyclic,
  'a depth of 20,000': () => nested(20_000),
  'a Map and a Set': () => ({ map: new Map([[1, 2]]), set: new Set([1]) }),
  'a date that is none': () => ({ at: new Date(Number.NaN) }),
  'NUL and surrogates in values and keys': () => ({ 'a\0': 'b\0', '\ud800': ['\udc00'] }),
  'toJSON that throws': () => ({ toJSON: trap }),
  'a getter that throws': () => Object.defineProperty({}, 'x', { get: trap, enumerable: true }),
  'a proxy that throws at everything': hostileProxy,
  'a text of 5 MB': () => 'x'.repeat(5_000_000),
  'a key of the prototype': () => JSON.parse('{"__proto__":{"polluted":true}}') as unknown,
  'a typed array': () => new Uint8Array(10),
  'an error': () => new Error('returned, not thrown'),
  'a connection string': () => ({ url: DSN }),
  'a thenable that never ends well': () => ({
    // oxlint-disable-next-line unicorn/no-thenable -- that is the point
    then: (_resolve: unknown, reject: (reason: unknown) => void) => reject(new Error('thenable')),
  }),
};

/** What rejects when it is awaited, as the result of a handler is. */
const REJECTS = ['a thenable that never ends well', 'a proxy that throws at everything'];

let test: TestTock;
beforeAll(async () => {
  const throws = defineJob({
    name: 'throws',
    retry: { maxAttempts: 2, base: 0, jitter: 0 },
    run(_ctx, payload) {
      const made: unknown = THROWN[(payload as { what: string }).what]?.();
      if (made instanceof Promise) return made;
      throw made;
    },
  });
  const returns = defineJob({
    name: 'returns',
    retry: { maxAttempts: 1 },
    run: (_ctx, payload) => RETURNED[(payload as { what: string }).what]?.(),
  });
  test = await openTestTock([throws, returns], { grace: '200ms' });
});
afterAll(() => test.close());

const enqueueAll = (job: string, corpus: Readonly<Record<string, unknown>>) =>
  test.tock.enqueueMany(Object.keys(corpus).map(what => ({ job, payload: { what } })));
/** As text, as it lies in the table. */
const stored = async () =>
  (
    await test.sql<{ text: string }>(
      `select (errors::text || coalesce(output::text, '')) as text from tock.job_runs`,
    )
  )
    .map(row => row.text)
    .join('\n');

describe('9: the error itself cannot be stored', () => {
  it('whatever is thrown, all in one batch: each attempt leaves an error, each run ends dead', async () => {
    const ids = await enqueueAll('throws', THROWN);
    const summary = await test.tock.tick();
    expect(summary.executed).toMatchObject({ failed: ids.length, dead: ids.length, succeeded: 0, lost: 0 });
    for (const [place, what] of Object.keys(THROWN).entries()) {
      const run = await test.tock.runs.get(ids[place] ?? '');
      expect({ what, status: run?.status, attempts: run?.attempts }).toEqual({
        what,
        status: 'dead',
        attempts: 2,
      });
      expect(run?.errors.map(each => each.attempt)).toEqual([1, 2]);
      for (const error of run?.errors ?? []) {
        expect(typeof error.message).toBe('string');
        expect(error.message.length).toBeLessThanOrEqual(4000);
        expect(error.message).not.toBe('the error could not be stored');
      }
    }
    expect(await stored()).not.toContain('hunter2');
  });

  it('whatever is returned, all in one batch: each run succeeds or says why not', async () => {
    const ids = await enqueueAll('returns', RETURNED);
    const summary = await test.tock.tick();
    const dead = REJECTS.length;
    expect(summary.executed).toMatchObject({ succeeded: ids.length - dead, dead, lost: 0 });
    for (const [place, what] of Object.keys(RETURNED).entries()) {
      const run = await test.tock.runs.get(ids[place] ?? '');
      const status = REJECTS.includes(what) ? 'dead' : 'succeeded';
      expect({ what, status: run?.status }).toEqual({ what, status });
    }
    expect(({} as Record<string, unknown>)['polluted']).toBeUndefined();
  });

  it('what PostgreSQL itself refuses costs only the run that brought it, not its batch', async () => {
    // A database that refuses an output for a reason of its own.
    await test.sql(
      `alter table tock.job_runs_finished add constraint no_such_output check (output is null or not output ? 'map') not valid`,
    );
    const ids = await enqueueAll('returns', RETURNED);
    expect((await test.tock.tick()).executed).toMatchObject({
      succeeded: ids.length - REJECTS.length,
      lost: 0,
    });
    const refused = await test.tock.runs.get(ids[Object.keys(RETURNED).indexOf('a Map and a Set')] ?? '');
    expect(refused).toMatchObject({ status: 'succeeded', output: null });
  });
});
