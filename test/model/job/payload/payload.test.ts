// What may be stored as a payload: the corpus of bad inputs, and what must survive unchanged.
import { describe, expect, it } from 'vitest';
import {
  checkPayload,
  DEFAULT_MAX_PAYLOAD_BYTES,
  payloadText,
  resultText,
} from '../../../../src/model/job/payload/payload.js';
import { rounds } from '../../../support/rounds.js';
import { fc } from '../../../support/seed.js';

/** `levels` arrays, one in the other. */
function nested(levels: number): unknown {
  let value: unknown = 1;
  for (let level = 0; level < levels; level++) value = [value];
  return value;
}

function cyclic(): unknown {
  const value: Record<string, unknown> = {};
  value['self'] = { list: [value] };
  return value;
}

const REFUSED: readonly (readonly [what: string, value: unknown, told: RegExp])[] = [
  ['NUL in a text', { a: 'x\u0000y' }, /^payload\.a holds a NUL/],
  ['a lone high surrogate', { a: '\ud800' }, /^payload\.a holds a NUL character or a lone surrogate/],
  ['a lone low surrogate', ['\udc00'], /^payload\[0\] holds/],
  ['NUL in a key', { a: { 'x\0': 1 } }, /^payload\.a has a key with a NUL/],
  ['a lone surrogate in a key', { '\ud800': 1 }, /^payload has a key/],
  ['BigInt', { id: 12n }, /^payload\.id is a bigint.*pass it as text/],
  ['NaN', { list: [1, Number.NaN] }, /^payload\.list\[1\] is NaN/],
  ['Infinity', { a: Number.POSITIVE_INFINITY }, /^payload\.a is Infinity/],
  ['minus Infinity', { a: Number.NEGATIVE_INFINITY }, /^payload\.a is -Infinity/],
  ['a whole number over 2^53', { id: 2 ** 53 }, /^payload\.id is a whole number over 2\^53/],
  ['a whole number under -2^53', { id: -(2 ** 53) }, /over 2\^53/],
  ['a whole number of 300 digits', 1e300, /^payload is a whole number over 2\^53/],
  ['Map', { a: new Map([[1, 2]]) }, /^payload\.a is a Map, not a plain object/],
  ['Set', new Set([1]), /^payload is a Set/],
  ['RegExp', { a: /x/ }, /^payload\.a is a RegExp/],
  ['Error', { a: new Error('x') }, /^payload\.a is a Error/],
  ['Buffer', Buffer.from('x'), /^payload is a Buffer/],
  ['a promise', Promise.resolve(1), /^payload is a Promise/],
  ['a boxed number', { a: Object(1) as unknown }, /^payload\.a is a Number/],
  ['an instance', new (class Invoice {})(), /^payload is a Invoice/],
  ['an object with inherited values', Object.create({ a: 1 }), /not a plain object/],
  ['a function', { a: () => 1 }, /^payload\.a is a function/],
  ['toJSON', { toJSON: () => 'x' }, /^payload\.toJSON is a function/],
  ['a symbol', { a: Symbol('x') }, /^payload\.a is a symbol/],
  ['undefined', undefined, /^payload is a undefined/],
  ['undefined in an array', [1, undefined], /^payload\[1\] is a undefined/],
  // oxlint-disable-next-line no-sparse-arrays -- the hole is the point: JSON would make it null
  ['a hole in an array', [1, , 3], /^payload\[1\] is a undefined/],
  ['an invalid Date', { at: new Date(Number.NaN) }, /^payload\.at is an invalid Date/],
  ['a cycle', cyclic(), /nested deeper than 200 levels, or holds itself/],
  ['depth 201', nested(201), /nested deeper than 200 levels/],
  ['depth 20,000', nested(20_000), /nested deeper than 200 levels/],
  ['over 1 MiB', 'x'.repeat(DEFAULT_MAX_PAYLOAD_BYTES), /has 1048578 bytes, over the limit of 1048576/],
  ['over 1 MiB in UTF-8', 'ä'.repeat(600_000), /has 1200002 bytes/],
];

describe('checkPayload', () => {
  it.each(REFUSED)('refuses %s', (_what, value, told) => {
    expect(() => checkPayload(value)).toThrow(
      expect.objectContaining({
        code: 'TOCK_BAD_PAYLOAD',
        message: expect.stringMatching(told) as string,
      }),
    );
  });

  it.each([
    ['null', null],
    ['false', false],
    ['a text', 'x'],
    ['an empty text', ''],
    ['a pair of surrogates', '😀'],
    ['control characters', '\u001b[31m\n\u0001'],
    ['markup', '<img onerror=x>'],
    ['a number', 1.5],
    ['the largest safe whole number', Number.MAX_SAFE_INTEGER],
    ['the least', Number.MIN_SAFE_INTEGER],
    ['a tiny number', 5e-324],
    ['an empty object', {}],
    ['an empty array', []],
    ['depth 200', nested(200)],
    ['just 1 MiB', 'x'.repeat(DEFAULT_MAX_PAYLOAD_BYTES - 2)],
  ])('takes %s as it is', (_what, value) => {
    expect(checkPayload(value)).toEqual(value);
  });

  it('keeps a key __proto__ as an own key, and no prototype is touched', () => {
    const payload = checkPayload(JSON.parse('{"__proto__":{"isAdmin":true},"constructor":{"prototype":1}}'));
    expect(Object.keys(payload as object)).toEqual(['__proto__', 'constructor']);
    expect(JSON.stringify(payload)).toBe('{"__proto__":{"isAdmin":true},"constructor":{"prototype":1}}');
    expect(Object.getPrototypeOf(payload)).toBe(Object.prototype);
    expect(({} as Record<string, unknown>)['isAdmin']).toBeUndefined();
  });

  it('takes an object without a prototype', () => {
    const bare: Record<string, unknown> = Object.create(null) as Record<string, unknown>;
    bare['a'] = 1;
    expect(checkPayload(bare)).toEqual({ a: 1 });
  });

  it('writes a Date as ISO text and leaves out an undefined property, as JSON does', () => {
    expect(checkPayload({ at: new Date('2026-03-08T07:30:00Z'), none: undefined })).toEqual({
      at: '2026-03-08T07:30:00.000Z',
    });
  });

  it('copies, so that a later change of the value is not stored', () => {
    const value = { list: [1] };
    const payload = checkPayload(value);
    value.list.push(2);
    expect(payload).toEqual({ list: [1] });
  });

  it('takes the limit that it is given', () => {
    expect(checkPayload('abc', 5)).toBe('abc');
    expect(() => checkPayload('abcd', 5)).toThrow('the payload has 6 bytes, over the limit of 5');
  });

  it('either refuses a value with its code, or gives what JSON gives back unchanged', {
    tags: 'check',
  }, () => {
    const anything = fc.anything({
      withBigInt: true,
      withDate: true,
      withMap: true,
      withSet: true,
      withTypedArray: true,
      withSparseArray: true,
      withNullPrototype: true,
      withUnicodeString: true,
    } as fc.ObjectConstraints);
    const numRuns = rounds(300, 1000);
    let taken = 0;
    fc.assert(
      fc.property(anything, value => {
        let payload: unknown;
        try {
          payload = checkPayload(value);
        } catch (error) {
          expect((error as { code?: unknown }).code).toBe('TOCK_BAD_PAYLOAD');
          return;
        }
        taken++;
        const back: unknown = JSON.parse(JSON.stringify(payload));
        expect(JSON.stringify(back)).toBe(JSON.stringify(payload));
        expect(JSON.stringify(payload)).toBe(JSON.stringify(value));
      }),
      { numRuns },
    );
    expect(taken).toBeGreaterThan(numRuns / 20);
  });

  it('takes all JSON that has neither NUL, lone surrogates nor huge numbers', () => {
    const clean = fc.jsonValue({ maxDepth: 6 }).filter(value => {
      const text = JSON.stringify(value);
      return !/\\u0000|\\ud[89a-f]/i.test(text) && !/e\+?\d\d/.test(text) && !/\d{16,}/.test(text);
    });
    fc.assert(
      fc.property(clean, value => {
        expect(JSON.stringify(checkPayload(value))).toBe(JSON.stringify(value));
      }),
    );
  });
});

describe('payloadText', () => {
  it.each(REFUSED)('refuses %s', (_what, value, told) => {
    expect(() => payloadText(value)).toThrow(
      expect.objectContaining({
        code: 'TOCK_BAD_PAYLOAD',
        message: expect.stringMatching(told) as string,
      }),
    );
  });

  it('takes the limit that it is given, in bytes', () => {
    expect(payloadText('abc', 5)).toBe('"abc"');
    expect(payloadText('ä', 4)).toBe('"ä"');
    expect(() => payloadText('äb', 4)).toThrow('the payload has 5 bytes, over the limit of 4');
  });

  it('is one line, and the text of what checkPayload gives, or refused as that is', { tags: 'check' }, () => {
    const text = fc.oneof(
      fc.string({ unit: 'binary' }),
      fc.constantFrom('\n', '\0', '\ud800', '\u001b', '\\u0041'),
    );
    const anything = fc.anything({
      key: text,
      values: [
        text,
        fc.constantFrom<unknown>(
          Number.NaN,
          -0,
          2 ** 53,
          1.5,
          1e21,
          undefined,
          null,
          true,
          new Date(0),
          () => 1,
        ),
      ],
      withNullPrototype: true,
      withSparseArray: true,
      withMap: true,
    });
    const attempt = (work: () => string | undefined) => {
      try {
        return work();
      } catch (error) {
        return (error as Error).message;
      }
    };
    fc.assert(
      fc.property(anything, value => {
        const given = attempt(() => payloadText(value));
        expect(given).toBe(attempt(() => JSON.stringify(checkPayload(value))));
        expect(given?.startsWith('payload') || !given?.includes('\n')).toBe(true);
      }),
      { numRuns: rounds(100, 1000) },
    );
  });
});

describe('resultText', () => {
  const BEGINNING = 'the result of step "fetch" cannot be kept: ';
  const refusal = (value: unknown) => {
    try {
      resultText(value, 'step "fetch"');
    } catch (error) {
      const { code, message } = error as { code: string; message: string };
      expect([code, message.slice(0, BEGINNING.length)]).toEqual(['TOCK_BAD_RESULT', BEGINNING]);
      return message.slice(BEGINNING.length);
    }
    return null;
  };

  it.each([
    ['a Map', { users: new Map() }, 'result.users is a Map, not a plain object; return plain JSON'],
    ['a Date', [new Date(0)], 'result[0] is a Date, which would come back as text; return its ISO text'],
    ['an instance', new (class Invoice {})(), 'result is a Invoice, not a plain object; return plain JSON'],
    ['NaN', Number.NaN, 'result is NaN, which JSON cannot hold'],
    ['a bigint', { id: 1n }, 'result.id is a bigint, which JSON cannot hold; pass it as text'],
    ['a hole', [1, undefined], 'result[1] is a undefined, which JSON cannot hold'],
    ['NUL', 'a\0', 'result holds a NUL character or a lone surrogate, which PostgreSQL cannot store'],
    ['a ring', cyclic(), 'the result is nested deeper than 200 levels, or holds itself'],
    [
      '2 MiB',
      'x'.repeat(2 ** 21),
      'the result has 2097154 bytes, over the limit of 1048576; store the data in a table of your own and return its id',
    ],
  ])('refuses %s, and names the effect, the place and the remedy', (_what, value, message) => {
    expect(refusal(value)).toBe(message);
  });

  it('takes what comes back as it was, any finite number included', () => {
    for (const value of [null, true, '', 'é\u2028', 0.1, 1e300, 2 ** 60, -0.5, [], {}, [[{ a: [null] }]]]) {
      expect(refusal(value)).toBeNull();
      expect(JSON.parse(resultText(value, 'step "fetch"') ?? '')).toEqual(value);
    }
  });

  it('gives null for undefined, and leaves out an undefined property', () => {
    expect(resultText(undefined, 'step "fetch"')).toBeNull();
    expect(resultText({ a: 1, b: undefined }, 'step "fetch"')).toBe('{"a":1}');
  });
});
