// Which numbers of a JSON text survive JavaScript.
import { describe, expect, it } from 'vitest';
import { inexactNumber } from '../../../../src/model/job/payload/exact-numbers.js';

describe('inexactNumber', () => {
  it.each([
    '{}',
    '[0, -0, 0.0, 1, -1, 1.50, 0.1, 1e3, 1.5E-7, 9007199254740991, 1e21, 100000000000000000000]',
    '{"12345678901234567890": "12345678901234567890 \\" 12345678901234567890"}',
    '12300000000000000000000',
  ])('finds none in %s', json => expect(inexactNumber(json)).toBeNull());

  it.each([
    ['{"id": 12345678901234567890}', '12345678901234567890'],
    ['[1, 9007199254740993]', '9007199254740993'],
    ['[0.12345678901234567890]', '0.12345678901234567890'],
    ['[1e400]', '1e400'],
  ])('finds the one in %s', (json, number) => expect(inexactNumber(json)).toBe(number));
});
