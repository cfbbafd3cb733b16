import { describe, expect, it } from 'vitest';
import { bitFrom, bitFrom60, bits, bits60, bitTo, bitTo60, has60 } from '../../../src/model/schedule/bits.js';

const SETS: readonly (readonly number[])[] = [
  [],
  [0],
  [30],
  [0, 30],
  [3, 4, 17, 29],
  Array.from({ length: 31 }, (_, n) => n),
];
const SETS60: readonly (readonly number[])[] = [
  ...SETS,
  [59],
  [29, 30],
  [0, 31, 59],
  Array.from({ length: 60 }, (_, n) => n),
];

describe('sets of bits', () => {
  it('find the nearest member either way, up to 30', () => {
    for (const values of SETS) {
      for (let probe = 0; probe <= 64; probe++) {
        expect(bitFrom(bits(values), probe)).toBe(values.find(each => each >= probe) ?? -1);
        expect(bitTo(bits(values), probe - 1)).toBe(values.findLast(each => each <= probe - 1) ?? -1);
      }
    }
  });

  it('find the nearest member either way, up to 59', () => {
    for (const values of SETS60) {
      const set = bits60(values);
      for (let probe = 0; probe <= 60; probe++) {
        expect(bitFrom60(set, probe)).toBe(values.find(each => each >= probe) ?? -1);
        expect(bitTo60(set, probe - 1)).toBe(values.findLast(each => each <= probe - 1) ?? -1);
      }
      for (let value = 0; value < 60; value++) expect(has60(set, value)).toBe(values.includes(value));
    }
  });
});
