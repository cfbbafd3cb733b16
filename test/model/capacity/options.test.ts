// What the server may use, as people write it.
import { describe, expect, it } from 'vitest';
import { checkCapacityOptions, readSize } from '../../../src/model/capacity/options.js';

describe('readSize', () => {
  it.each([
    ['200GB', 200 * 2 ** 30],
    ['1.5 TB', 1.5 * 2 ** 40],
    ['800 MiB', 800 * 2 ** 20],
    ['64k', 65_536],
    ['1pb', 2 ** 50],
    ['512', 512],
    [1e9, 1e9],
  ])('reads %s', (text, bytes) => {
    expect(readSize(text)).toBe(bytes);
  });

  it.each(['', '0', '0GB', '-5GB', 'GB', '5XB', '5 GB 3', '1e', Number.NaN, -1, Number.POSITIVE_INFINITY])(
    'refuses %s, and says what to write',
    text => {
      expect(() => readSize(text)).toThrow(/cannot be read; write 200GB or 1\.5TB$/);
    },
  );
});

describe('checkCapacityOptions', () => {
  it('has one core and no known disk by default', () => {
    expect(checkCapacityOptions({})).toEqual({ diskBytes: null, cores: 1 });
    expect(checkCapacityOptions({ disk: '1GB', cores: 0.5 })).toEqual({ diskBytes: 2 ** 30, cores: 0.5 });
  });

  it.each([0, -1, Number.NaN, 5000])('refuses %s cores', cores => {
    expect(() => checkCapacityOptions({ cores })).toThrow(/is not a number above 0, 4096 at most$/);
  });
});
