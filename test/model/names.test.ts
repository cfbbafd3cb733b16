// Names of jobs and schemas, and idempotency keys: valid and invalid ones.
import { describe, expect, it } from 'vitest';
import { checkKey, checkName, checkSchemaName, isStorable, quote } from '../../src/model/names.js';

const NOT_TEXT: readonly unknown[] = [null, undefined, 7, 7n, true, {}, ['a'], Symbol('a'), () => 'a'];

describe('checkName', () => {
  it.each(['a', '7', 'send-weekly-report', 'tenant:812/'.slice(0, 10), 'a.b_c:d@e-F', 'x'.repeat(200)])(
    'takes %j',
    name => {
      expect(checkName(name, 'job')).toBe(name);
    },
  );

  it.each([
    '',
    ' ',
    '-a',
    '.hidden',
    '_a',
    'a b',
    'a\n',
    'a\0',
    'a/b',
    '../../etc/passwd',
    'file:///x.mjs',
    '__proto__',
    'constructor',
    'toString',
    'hasOwnProperty',
    'überweisung',
    'a\ud800',
    'a;drop table x',
    '<img onerror=x>',
    'x'.repeat(201),
    ...NOT_TEXT,
  ])('refuses %o', name => {
    expect(() => checkName(name, 'job')).toThrow(expect.objectContaining({ code: 'TOCK_BAD_JOB' }));
  });

  it('refuses an array that looks like a good name', () => {
    expect(() => checkName(['report'], 'job')).toThrow('an object cannot be the name of a job');
  });

  it('names the value, what it was to be, and the mend, under the code that was asked for', () => {
    expect(() => checkName('a/b', 'queue', 'TOCK_BAD_OPTION')).toThrow(
      expect.objectContaining({
        code: 'TOCK_BAD_OPTION',
        message: expect.stringMatching(
          /^"a\/b" cannot be the name of a queue: use letters, digits/,
        ) as string,
      }),
    );
  });
});

describe('checkSchemaName', () => {
  it.each(['tock', 'tock_2', '_t', 'x'.repeat(63)])('takes %j', name => {
    expect(checkSchemaName(name)).toBe(name);
  });

  it.each([
    '',
    'a"; drop schema public;--',
    'pg_catalog',
    'pg_toast',
    'information_schema',
    'public',
    'Tock',
    '2tock',
    'to ck',
    'to-ck',
    'to\0ck',
    'tock\n',
    'töck',
    'x'.repeat(64),
    ...NOT_TEXT,
  ])('refuses %o', name => {
    expect(() => checkSchemaName(name)).toThrow(expect.objectContaining({ code: 'TOCK_BAD_SCHEMA_NAME' }));
  });
});

describe('checkKey', () => {
  it.each(['a', ' ', 'invoice_charge:812', '__proto__', "'; drop table x;--", 'ключ', '😀', 'x'.repeat(512)])(
    'takes %j',
    key => {
      expect(checkKey(key)).toBe(key);
    },
  );

  it.each(['', 'x'.repeat(513), 'ä'.repeat(257), 'a\0b', 'a\ud800', '\udc00', ...NOT_TEXT])(
    'refuses %o',
    key => {
      expect(() => checkKey(key)).toThrow(expect.objectContaining({ code: 'TOCK_BAD_KEY' }));
    },
  );

  it('says that another value must be a text', () => {
    expect(() => checkKey(7)).toThrow('7 cannot be an idempotency key: it must be a text');
  });

  it('counts bytes, not characters', () => {
    expect(checkKey('ä'.repeat(256))).toHaveLength(256);
    expect(() => checkKey('😀'.repeat(129))).toThrow('1 to 512 bytes');
  });
});

it('isStorable is false for what PostgreSQL refuses: NUL and lone surrogates', () => {
  expect(['plain', '😀', '\u001b[31m', '\n'].map(isStorable)).toEqual([true, true, true, true]);
  expect(['\0', 'a\ud800', '\udc00b'].map(isStorable)).toEqual([false, false, false]);
});

describe('quote', () => {
  it.each([
    ['a\n"b"', '"a\\n\\"b\\""'],
    ['\ud800', '"\uFFFD"'],
    [null, 'null'],
    [undefined, 'undefined'],
    [7n, '7'],
    [Symbol('a'), 'Symbol(a)'],
    [{ secret: 1 }, 'an object'],
    [[1, 2], 'an object'],
    [() => 'a\nb', 'a function'],
  ])('shows %o as %s', (value, shown) => {
    expect(quote(value)).toBe(shown);
  });

  it('is short, whatever the text', () => {
    expect(quote('x'.repeat(1_000_000))).toBe(`"${'x'.repeat(57)}…"`);
    expect(quote(`${'x'.repeat(56)}😀${'x'.repeat(9)}`)).toBe(`"${'x'.repeat(56)}\uFFFD…"`);
  });
});
