// Near misses: what was probably meant by a name that is not known.
import { describe, expect, it } from 'vitest';
import { didYouMean, editDistance, nearMisses } from '../../src/model/nearest.js';

it.each([
  ['', '', 0],
  ['', 'abc', 3],
  ['kitten', 'sitting', 3],
  ['maxAtempts', 'maxAttempts', 1],
  ['mial', 'mail', 2],
])('editDistance of %j and %j is %i, either way', (a, b, distance) => {
  expect(editDistance(a, b)).toBe(distance);
  expect(editDistance(b, a)).toBe(distance);
});

describe('nearMisses', () => {
  it('are the three nearest, the nearest first, whatever the case', () => {
    expect(nearMisses('Cathcup', ['catchup', 'catchupWindow', 'cron'])).toEqual(['catchup']);
    expect(nearMisses('aaa', ['aab', 'aaa', 'abb', 'aac', 'zzz'])).toEqual(['aaa', 'aab', 'aac']);
  });

  it('hold what contains the name', () => {
    expect(nearMisses('invoice', ['send-invoice-reminders', 'prune'])).toEqual(['send-invoice-reminders']);
  });

  it('are few for a name that is like none', () => {
    expect(nearMisses('idempotencyKey', ['key', 'unique', 'delay'])).toEqual([]);
  });

  it('of a very long name are found in no time', () => {
    expect(nearMisses('x'.repeat(1_000_000), ['key'])).toEqual([]);
  });
});

it('didYouMean ends a sentence, or is empty', () => {
  expect(didYouMean('maii', ['mail', 'main', 'prune'])).toBe('; did you mean mail or main?');
  expect(didYouMean('report', ['mail'])).toBe('');
});
