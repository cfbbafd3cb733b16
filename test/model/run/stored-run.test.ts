// What a row keeps as JSON is read as readers can rely on it, whatever somebody has written there by hand.
import { describe, expect, it } from 'vitest';
import { readErrors } from '../../../src/model/run/stored-run.js';

const NOW = new Date('2026-03-08T07:30:00Z');
const entry = { at: NOW.toISOString(), attempt: 1, name: 'Error', code: null, message: 'x', stack: null };

describe('readErrors', () => {
  it('gives entries back as they are, with what lies beneath them', () => {
    const { at: _at, attempt: _attempt, ...beneath } = entry;
    const nested = { ...entry, cause: { ...beneath, errors: [beneath, beneath], leftOut: 3 } };
    expect(readErrors([entry, nested], NOW)).toEqual([entry, nested]);
  });

  it.each([
    ['a text for a cause', { ...entry, cause: 'y' }],
    ['a cause without a message', { ...entry, cause: { name: 'Error' } }],
    ['null for a cause', { ...entry, cause: null }],
    ['an object for members', { ...entry, errors: {} }],
    ['a member that is none', { ...entry, errors: [7] }],
    ['no attempt', { ...entry, attempt: '1' }],
    ['no entry', 7],
  ])('makes an entry of what has %s', (_what, value) => {
    expect(readErrors([entry, value], NOW)).toEqual([
      entry,
      { ...entry, attempt: 0, message: JSON.stringify(value) },
    ]);
  });

  it('makes an entry of causes without end', { tags: 'check' }, () => {
    let cause: unknown = entry;
    for (let level = 0; level < 100_000; level++) cause = { ...entry, cause };
    expect(readErrors([{ ...entry, cause }], NOW)).toEqual([
      { ...entry, attempt: 0, message: 'an entry that is nested too deep to show' },
    ]);
  });
});
