// Sizes as people read them.
import { expect, it } from 'vitest';
import { counted, sizeText } from '../../../src/cli/views/size-text.js';

it.each([
  [0, '0 bytes'],
  [1023, '1023 bytes'],
  [1024, '1.0 kB'],
  [8192, '8.0 kB'],
  [10 * 1024, '10 kB'],
  [1024 * 1024 - 1, '1.0 MB'],
  [3.14 * 1024 ** 2, '3.1 MB'],
  [250 * 1024 ** 3, '250 GB'],
  [3 * 1024 ** 6, '3072 PB'],
])('sizeText %d is %s', (bytes, text) => {
  expect(sizeText(bytes)).toBe(text);
});

it('counted has a plural and thousands', () => {
  expect([counted(0, 'run'), counted(1, 'run'), counted(1200, 'run')]).toEqual([
    '0 runs',
    '1 run',
    '1,200 runs',
  ]);
});
