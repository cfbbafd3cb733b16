// Options that do not exist are refused, with what was probably meant.
import { describe, expect, it } from 'vitest';
import { checkOptions, optionNames } from '../../src/model/options.js';

interface Options {
  readonly limit: number;
  readonly key?: string | undefined;
}
const names = optionNames<Options>({ limit: true, key: true });
const check = (options: unknown) => () => checkOptions(options, names, 'concurrency', 'TOCK_BAD_JOB');

describe('checkOptions', () => {
  it('accepts what it knows, and what is undefined', () => {
    expect(check({})).not.toThrow();
    expect(check({ limit: 1, key: undefined, other: undefined })).not.toThrow();
  });

  it('refuses another name, with the near misses or all that there are', () => {
    expect(check({ limti: 1 })).toThrow('concurrency has no option "limti"; did you mean "limit"?');
    expect(check({ something: null })).toThrow('concurrency has no option "something"; it has limit, key');
    expect(check({ limti: 1 })).toThrow(expect.objectContaining({ code: 'TOCK_BAD_JOB' }));
  });

  it.each([
    ['tx', /has no option "tx"; did you mean "client"\?/],
    ['transaction', /did you mean "client"\?/],
    ['idempotencyKey', /did you mean "key"\?/],
  ])('knows what others call an option: %s', (name, message) => {
    const known = new Set(['key', 'client', 'queue']);
    expect(() => checkOptions({ [name]: 1 }, known, 'enqueue')).toThrow(message);
  });

  it('refuses what Object.prototype has', () => {
    expect(check({ toString: 1 })).toThrow('has no option "toString"');
    expect(check(JSON.parse('{"__proto__": 1}'))).toThrow('has no option "__proto__"');
  });

  it.each([
    [null, 'null'],
    [5, '5'],
    ['limit', '"limit"'],
    [['limit'], 'a list'],
    [undefined, 'undefined'],
  ])('refuses %j in place of an object', (value, shown) => {
    expect(check(value)).toThrow(`concurrency is ${shown}; write an object of options`);
  });
});
