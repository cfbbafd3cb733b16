// Errors counted by job, kind and time.
import { describe, expect, it } from 'vitest';
import { countErrors, type LastError } from '../../../../src/model/run/errors/error-counts.js';
import { createNormalizer, normalizeMessage } from '../../../../src/model/run/errors/error-group.js';
import { fc } from '../../../support/seed.js';

const error = (id: string, at: number, message: string, more: Partial<LastError> = {}): LastError => ({
  id,
  at,
  message,
  job: 'mail',
  name: 'Error',
  code: null,
  cause: null,
  deploy: null,
  ...more,
});
const SPAN = { from: 0, to: 100, parts: 4 };

describe('countErrors', () => {
  it('puts together what is of one job and kind, with its first and last time', () => {
    const counts = countErrors(
      [
        error('1', 10, 'user 7 is gone', { deploy: 'v42' }),
        error('2', 99, 'user 8 is gone'),
        error('3', 60, 'user 9 is gone'),
        error('4', 50, 'user 7 is gone', { job: 'report' }),
        error('5', 50, 'user 7 is gone', { code: 'E' }),
      ],
      SPAN,
    );
    expect(counts).toHaveLength(3);
    expect(counts[0]).toEqual({
      job: 'mail',
      group: { name: 'Error', code: null, message: 'user <n> is gone' },
      count: 3,
      firstAt: 10,
      firstDeploy: 'v42',
      lastAt: 99,
      lastId: '2',
      sample: 'user 8 is gone',
      parts: [1, 0, 1, 1],
    });
  });

  it('counts what lies outside of the span at its ends, and bears what is missing', () => {
    const [count] = countErrors([error('1', -5, 'x'), error('2', 100, 'x'), error('3', 500, 'x')], SPAN);
    expect(count?.parts).toEqual([1, 0, 0, 2]);
    const nothing = { name: null, code: null, message: null };
    expect(countErrors([error('1', 1, '', nothing)], SPAN)[0]?.group).toEqual({
      name: 'Error',
      code: null,
      message: '',
    });
    expect(countErrors([], SPAN)).toEqual([]);
  });
});

it('createNormalizer gives what normalizeMessage gives, whatever came before', () => {
  const word = fc.constantFrom(
    'order',
    '17',
    '18',
    '404',
    '500',
    'status code',
    'E11000',
    'E21000',
    '0x1f',
    '1x1f',
    '9fceb02d',
    '2026-03-02',
    '10.0.0.1',
    '"a1"',
    '"a2"',
    '3ms',
  );
  const message = fc.array(word, { maxLength: 5 }).map(words => words.join(' '));
  fc.assert(
    fc.property(fc.array(message, { maxLength: 30 }), messages => {
      const normalize = createNormalizer();
      expect(messages.map(normalize)).toEqual(messages.map(normalizeMessage));
    }),
    { numRuns: 1000 },
  );
});
