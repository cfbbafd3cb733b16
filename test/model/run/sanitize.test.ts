// Whatever a handler throws or returns becomes storable, bounded, and free of secrets.
import { describe, expect, it } from 'vitest';
import { isStorable } from '../../../src/model/names.js';
import {
  describeError,
  describeOutput,
  type ErrorDescription,
  MAX_OUTPUT_BYTES,
  redact,
  withoutStacks,
} from '../../../src/model/run/sanitize.js';

const DSN = 'postgres://tock:s3cret@db.example:5432/app';

function hostileGetters(): object {
  const refuse = () => {
    throw new Error('no');
  };
  const error = new Error('x');
  for (const key of ['stack', 'message', 'name', 'code', 'kind', 'delay', 'cause', 'errors'])
    Object.defineProperty(error, key, { get: refuse });
  return error;
}

function hostileProxy(): object {
  return new Proxy(new Error('x'), {
    get() {
      throw new Error('no');
    },
    getPrototypeOf() {
      throw new Error('no');
    },
  });
}

function revoked(): object {
  const { proxy, revoke } = Proxy.revocable({}, {});
  revoke();
  return proxy;
}

const unprintable = Object.assign(() => 1, {
  toString() {
    throw new Error('no');
  },
});

const CORPUS: readonly (readonly [what: string, thrown: unknown])[] = [
  ['null', null],
  ['undefined', undefined],
  ['a text', 'plain'],
  ['a number', 7],
  ['NaN', Number.NaN],
  ['a BigInt', 7n],
  ['a symbol', Symbol('x')],
  ['a function that cannot be shown', unprintable],
  ['an Error', new Error('x')],
  ['an Error of 10 MB', new Error('x'.repeat(10_000_000))],
  ['a text of 10 MB', 'x'.repeat(10_000_000)],
  ['hostile getters', hostileGetters()],
  ['a hostile proxy', hostileProxy()],
  ['a revoked proxy', revoked()],
  ['an object without a prototype', Object.create(null)],
  ['an array', [1, 2]],
  ['a message that is no text', { message: { toString: () => 'x' }, name: 7, code: Symbol('x') }],
  ['NUL and lone surrogates', Object.assign(new Error('a\0b\ud800'), { name: '\0', code: '\udc00' })],
  ['a hostile toJSON', Object.assign(new Error('x'), { toJSON: hostileGetters })],
  ['an AggregateError', new AggregateError([new Error('a')], 'several')],
];

describe('describeError', () => {
  it.each(CORPUS)('makes %s storable and bounded', (_what, thrown) => {
    const entry = describeError(thrown, 3);
    expect(entry.attempt).toBe(3);
    const texts = [entry.name, entry.message, entry.code ?? '', entry.stack ?? ''];
    expect(texts.map(text => typeof text)).toEqual(['string', 'string', 'string', 'string']);
    expect(texts.map(isStorable)).toEqual([true, true, true, true]);
    expect(texts.map(text => text.length <= 8000)).toEqual([true, true, true, true]);
    expect(JSON.parse(JSON.stringify(entry))).toEqual(entry);
  });

  it('tells name, code, message and stack of an Error', () => {
    const error = Object.assign(new TypeError('no such invoice'), { code: 'ENOENT' });
    expect(describeError(error, 1)).toEqual({
      attempt: 1,
      name: 'TypeError',
      code: 'ENOENT',
      message: 'no such invoice',
      stack: error.stack,
    });
  });

  it.each([
    [null, 'thrown null', 'null'],
    [undefined, 'thrown undefined', 'undefined'],
    ['out of paper', 'thrown string', 'out of paper'],
    [7n, 'thrown bigint', '7'],
    [unprintable, 'thrown function', 'a value that cannot be shown'],
    [hostileGetters(), 'Error', 'no message'],
  ])('names what was thrown: %#', (thrown, name, message) => {
    expect(describeError(thrown, 1)).toMatchObject({ name, message });
  });

  it('keeps the beginning of what is too long, and marks the cut', () => {
    const { message } = describeError(new Error(`begin ${'x'.repeat(10_000_000)} end`), 1);
    expect(message).toHaveLength(4000);
    expect(message.startsWith('begin xxx')).toBe(true);
    expect(message.endsWith('x…')).toBe(true);
  });

  it('does not cut a character in two', () => {
    const { message } = describeError(new Error(`x${'😀'.repeat(5000)}`), 1);
    expect(isStorable(message)).toBe(true);
  });

  it('puts the replacement character in the place of NUL and of lone surrogates', () => {
    expect(describeError(new Error('a\0b\ud800c'), 1).message).toBe('a\uFFFDb\uFFFDc');
  });

  it('takes the password of a connection string out of message and stack', () => {
    const entry = describeError(new Error(`cannot connect to ${DSN}`), 1);
    expect(entry.message).toBe('cannot connect to postgres://tock:***@db.example:5432/app');
    expect(entry.stack).toContain('tock:***@db.example');
    expect(JSON.stringify(entry)).not.toContain('s3cret');
  });

  it('finds a password that lies across the cut', () => {
    for (let before = 3960; before <= 4000; before++) {
      const { message } = describeError(new Error(`${' '.repeat(before)}${DSN}`), 1);
      expect(message).not.toContain('s3');
    }
  });

  it('keeps ANSI sequences, which the terminal strips', () => {
    expect(describeError(new Error('\u001b[31mred\u001b[0m'), 1).message).toBe('\u001b[31mred\u001b[0m');
  });
});

/** Everything that an entry keeps, the error itself first. */
function allOf(description: ErrorDescription): ErrorDescription[] {
  const { cause, errors = [] } = description;
  return [description, ...(cause ? allOf(cause) : []), ...errors.flatMap(allOf)];
}
const depthOf = ({ cause, errors = [] }: ErrorDescription): number =>
  Math.max(0, ...[...(cause ? [cause] : []), ...errors].map(nested => 1 + depthOf(nested)));

function chain(length: number): Error {
  let error = new Error('level 0');
  for (let level = 1; level < length; level++) error = new Error(`level ${level}`, { cause: error });
  return error;
}

describe('the causes of an error', () => {
  it('are kept beneath it, and so are the members of an AggregateError', () => {
    const refused = Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' });
    const members = [new RangeError('first', { cause: refused }), 'second'];
    const entry = describeError(new TypeError('no reply', { cause: new AggregateError(members, 'all') }), 2);
    expect(entry).toMatchObject({
      attempt: 2,
      name: 'TypeError',
      message: 'no reply',
      cause: {
        name: 'AggregateError',
        message: 'all',
        errors: [
          { name: 'RangeError', message: 'first', cause: { code: 'ECONNREFUSED', stack: refused.stack } },
          { name: 'thrown string', message: 'second', stack: null },
        ],
      },
    });
    expect(JSON.parse(JSON.stringify(entry))).toEqual(entry);
    expect(entry).not.toHaveProperty('leftOut');
  });

  it.each([[undefined], [null]])('are none where cause is %s', cause => {
    expect(Object.keys(describeError(Object.assign(new Error('x'), { cause }), 1))).toEqual([
      'attempt',
      'name',
      'code',
      'message',
      'stack',
    ]);
  });

  it('are kept five levels deep, and what is left out is counted', () => {
    const entry = describeError(chain(100), 1);
    expect(depthOf(entry)).toBe(5);
    expect(allOf(entry).map(({ message }) => message)).toEqual(
      [99, 98, 97, 96, 95, 94].map(n => `level ${n}`),
    );
    expect(allOf(entry).at(-1)?.leftOut).toBe(1);
  });

  it('are kept in some 16,000 characters, however many and long they are', () => {
    const long = new AggregateError(
      Array.from({ length: 50 }, () => new Error('x'.repeat(5000))),
      'long',
    );
    const kept = describeError(long, 1);
    expect(kept.errors?.every(({ message }) => message.length <= 1000)).toBe(true);
    expect(JSON.stringify(kept.errors).length).toBeLessThan(21_000);
    expect((kept.errors?.length ?? 0) + (kept.leftOut ?? 0)).toBe(50);

    const empty = Array.from({ length: 100_000 }, () => ({ name: '', message: '' }));
    const many = describeError(new AggregateError(empty, 'many'), 1);
    expect(many.errors?.length).toBeLessThan(200);
    expect((many.errors?.length ?? 0) + (many.leftOut ?? 0)).toBe(100_000);
  });

  it('end where they go in a circle', () => {
    const [first, second] = [new Error('first'), new Error('second')];
    first.cause = second;
    second.cause = new AggregateError([first, second, new Error('third')], 'both');
    expect(allOf(describeError(first, 1)).map(({ message }) => message)).toEqual([
      'first',
      'second',
      'both',
      'third',
    ]);
    const own = new Error('own');
    own.cause = own;
    expect(describeError(own, 1)).not.toHaveProperty('cause');
  });

  it('do not explode where everything is the cause of everything', () => {
    const all = Array.from({ length: 100 }, () => new AggregateError([], 'x'));
    for (const error of all) error.errors = all;
    expect(allOf(describeError(all[0], 1)).length).toBeLessThan(200);
  });

  it.each(CORPUS)('are storable where %s is one', (_what, thrown) => {
    const entry = describeError(new AggregateError([thrown], 'member', { cause: thrown }), 1);
    for (const { name, message, code, stack } of allOf(entry)) {
      const texts = [name, message, code ?? '', stack ?? ''];
      expect(texts.map(isStorable)).toEqual([true, true, true, true]);
    }
    expect(JSON.parse(JSON.stringify(entry))).toEqual(entry);
  });

  it('that a hostile getter or a proxy makes do no harm', () => {
    const endless = (): Error =>
      Object.defineProperty(new Error('x'), 'cause', { get: endless, configurable: true });
    expect(depthOf(describeError(endless(), 1))).toBe(5);
    const lying = new Proxy([], {
      get: (target, key) => (key === 'length' ? 2 ** 53 : Reflect.get(target, key)),
    });
    const error = Object.assign(new AggregateError([], 'x'), { errors: lying });
    expect(describeError(error, 1).message).toBe('x');
  });

  it('hold no password either', () => {
    const cause = new AggregateError([new Error(`member ${DSN}`)], `several ${DSN}`, {
      cause: `thrown ${DSN}`,
    });
    const text = JSON.stringify(describeError(new Error('no reply', { cause }), 1));
    expect(text).not.toContain('s3cret');
    expect(text.match(/tock:\*\*\*@db/g)?.length).toBeGreaterThanOrEqual(3);
  });

  it('stand in the log without their stacks', () => {
    const error = new AggregateError([new Error('member')], 'x', { cause: chain(2) });
    const logged = withoutStacks(describeError(error, 1));
    expect(logged).toEqual({
      name: 'AggregateError',
      code: null,
      message: 'x',
      cause: {
        name: 'Error',
        code: null,
        message: 'level 1',
        cause: { name: 'Error', code: null, message: 'level 0' },
      },
      errors: [{ name: 'Error', code: null, message: 'member' }],
    });
  });
});

/** A value with something at this level. */
function nested(levels: number): unknown {
  let value: unknown = 1;
  for (let level = 0; level < levels; level++) value = [value];
  return value;
}

describe('describeOutput', () => {
  it('keeps 200 levels', () => {
    expect(describeOutput(nested(200))).toEqual(nested(200));
  });

  it.each([[null], [undefined]])('keeps nothing of %s', value => {
    expect(describeOutput(value)).toBeNull();
  });

  it.each([[0], [false], [''], ['x'], [[1, null]], [{ a: { b: [true] } }]])('keeps %j as it is', value => {
    expect(describeOutput(value)).toEqual(value);
  });

  it('writes what JSON writes of Dates, Maps and undefined', () => {
    expect(
      describeOutput({
        at: new Date(0),
        map: new Map([[1, 2]]),
        none: undefined,
        list: [undefined, Number.NaN],
      }),
    ).toEqual({ at: '1970-01-01T00:00:00.000Z', map: {}, list: [null, null] });
  });

  it.each([
    ['BigInt', { id: 12n }, /BigInt/],
    [
      'a cycle',
      (() => {
        const value: Record<string, unknown> = {};
        value['self'] = value;
        return value;
      })(),
      /circular/i,
    ],
    ['a function', () => 1, /^a function cannot be kept as JSON$/],
    ['a symbol', Symbol('x'), /^a symbol cannot be kept/],
    [
      'a hostile toJSON',
      {
        toJSON() {
          throw new Error(`cannot reach ${DSN}`);
        },
      },
      /tock:\*\*\*@db\.example/,
    ],
    [
      'a toJSON that throws null',
      {
        toJSON() {
          // oxlint-disable-next-line no-throw-literal, typescript/only-throw-error -- handlers do such things
          throw null;
        },
      },
      /: null$/,
    ],
    ['a toJSON that gives nothing', { toJSON: () => undefined }, /^a object cannot be kept/],
    [
      'hostile getters',
      {
        nested: new Proxy(
          {},
          {
            ownKeys: () => {
              throw new Error('no keys');
            },
          },
        ),
      },
      /no keys/,
    ],
    ['a revoked proxy', { nested: revoked() }, /revoked/],
    ['over 1 MiB', 'x'.repeat(MAX_OUTPUT_BYTES), /^the output of 1048578 characters is too large to keep$/],
    ['over 1 MiB in UTF-8', 'ä'.repeat(MAX_OUTPUT_BYTES / 2), /too large/],
    ['201 levels deep', nested(201), /^the output is nested deeper than 200 levels$/],
    ['5,000 levels deep', nested(5000), /deeper than 200 levels|cannot be kept/],
  ])('leaves %s out, with a note in its place', (_what, value, told) => {
    const output = describeOutput(value) as { outputLeftOut: string };
    expect(Object.keys(output)).toEqual(['outputLeftOut']);
    expect(output.outputLeftOut).toMatch(told);
  });

  it('replaces NUL and lone surrogates in texts and in keys, however deep', () => {
    const output = describeOutput({ list: [{ 'a\0': 'b\0', '\ud800': ['c\udc00'] }], fine: '😀' });
    expect(output).toEqual({ list: [{ 'a\uFFFD': 'b\uFFFD', '\uFFFD': ['c\uFFFD'] }], fine: '😀' });
  });

  it('keeps a key __proto__ as an own key', () => {
    const output = describeOutput(JSON.parse('{"__proto__":{"a":"\\u0000"},"b\\u0000":1}'));
    expect(JSON.stringify(output)).toBe('{"__proto__":{"a":"\uFFFD"},"b\uFFFD":1}');
    expect(Object.getPrototypeOf(output)).toBe(Object.prototype);
  });

  it('survives a depth at which JSON gives up', () => {
    expect(describeOutput(nested(100_000))).toEqual({
      outputLeftOut: expect.stringContaining('cannot be kept') as string,
    });
  });
});

describe('redact', () => {
  it.each([
    [DSN, 'postgres://tock:***@db.example:5432/app'],
    ['postgresql://a:b@c@h/d', 'postgresql://a:***@h/d'],
    ['redis://:pw@h', 'redis://:***@h'],
    ['1POSTGRES://u:pw@h', '1POSTGRES://u:***@h'],
    [`${DSN},${DSN}`, 'postgres://tock:***@db.example:5432/app,postgres://tock:***@db.example:5432/app'],
    ['host=h password=pw user=u', 'host=h password=*** user=u'],
    ["password='p w'", 'password=***'],
    ["password='p\\'w' user=u", 'password=*** user=u'],
    ['password = pw', 'password = ***'],
    ['PGPASSWORD=pw node x', 'PGPASSWORD=*** node x'],
    ['?user=u&password=pw&ssl=1', '?user=u&password=***&ssl=1'],
    ['password=a"b c', 'password=*** c'],
    ['GET /sign-in?token=abc.DEF-1 200', 'GET /sign-in?token=*** 200'],
    ['https://h/p?a=1&access_token=abc&b=2', 'https://h/p?a=1&access_token=***&b=2'],
    ['https://h/?X-Amz-Signature=abc#top', 'https://h/?X-Amz-Signature=***'],
    ['https://h/?api_key=1&client_secret=2', 'https://h/?api_key=***&client_secret=***'],
  ])('makes %j into %j', (text, told) => {
    expect(redact(text)).toBe(told);
  });

  it.each(['http://localhost:8080/path', 'a@b.example', 'at 12:30 mail a@b', 'postgres://u@h/d', ''])(
    'leaves %j alone',
    text => {
      expect(redact(text)).toBe(text);
    },
  );

  it('leaves a line of JSON a line of JSON', () => {
    const fields = { a: 'password=pw', b: `see ${DSN}`, c: 'postgres://u:pw', d: 'x@y', e: 'password=pw' };
    expect(JSON.parse(redact(JSON.stringify(fields)))).toEqual({
      ...fields,
      a: 'password=***',
      b: 'see postgres://tock:***@db.example:5432/app',
      e: 'password=***',
    });
  });

  it('is linear: a long word costs no more than a long text', () => {
    const word = 'a'.repeat(1_000_000);
    expect(redact(word)).toBe(word);
    expect(redact(`${word}://u:pw@h`)).toBe(`${word}://u:***@h`);
    expect(redact('a://'.repeat(250_000))).toHaveLength(1_000_000);
  });

  it('takes a text of 20 MB without a space', { tags: 'check' }, () => {
    const text = 'x'.repeat(20_000_000);
    for (const begin of ['postgres://u:', 'password=', "password='"])
      expect(redact(`${begin}${text}`).startsWith(begin.slice(0, 9))).toBe(true);
  });
});
