// What a reader of a run is told of its output: where JSON keeps less than the handler has returned.
import { describe, expect, it } from 'vitest';
import { keepOutput } from '../../../../src/model/job/payload/output.js';

class Money {
  readonly #cents = 7;
  get cents() {
    return this.#cents;
  }
}

describe('keepOutput', () => {
  it.each<[unknown, string]>([
    [new Map([[1, 2]]), 'output is a Map, which JSON keeps as {}: return Object.fromEntries(map)'],
    [
      { users: [{ tags: new Set(['a']) }] },
      'output.users[0].tags is a Set, which JSON keeps as {}: return an array, [...set]',
    ],
    [[Promise.resolve(1)], 'output[0] is a Promise, which JSON keeps as {}: await it'],
    [
      { error: new RangeError('no') },
      'output.error is a RangeError, which JSON keeps as {}: return its message',
    ],
    [new Money(), 'output is a Money, which JSON keeps as {}: return its parts as plain JSON'],
    [{ rate: Number.NaN }, 'output.rate is NaN, which JSON keeps as null: return null, or text'],
    [
      { f: () => 1, at: /x/ },
      'output.f is a function, which JSON leaves out: return text, or nothing (and 1 more)',
    ],
  ])('says what of %o is lost, and what to return', (value, warning) => {
    expect(keepOutput(value).warning).toBe(warning);
  });

  it.each<[unknown, RegExp]>([
    [() => 1, /^the output is left out: a function cannot be kept as JSON; return plain JSON, or store /],
    [{ id: 12n }, /^the output is left out: .*BigInt.*; return plain JSON, or store /],
    ['x'.repeat(2 ** 21), /^the output is left out: .*too large/],
  ])('says why %o is left out', (value, warning) => {
    const kept = keepOutput(value);
    expect(kept.output).toHaveProperty('outputLeftOut');
    expect(kept.warning).toMatch(warning);
  });

  it.each<[unknown]>([
    [undefined],
    [null],
    [{ a: [1, 'b', null, { c: 2 ** 60 }], none: undefined }],
    [
      {
        at: new Date(0),
        url: new URL('https://example.com'),
        bytes: Buffer.from('a'),
        empty: Object.create(null),
      },
    ],
    [{ outputLeftOut: 'as an older run has it' }],
    [{ toJSON: () => ({ n: 1 }) }],
  ])('says nothing of %o, of which all is kept', value => {
    expect(keepOutput(value).warning).toBeNull();
  });
});
