// Model: whether claims pass over the runs of other services.
import { describe, expect, it } from 'vitest';
import { passesOver } from '../../../src/model/queue/passed-over.js';

const FULL = { own: 5, others: 5, hasMore: true };

describe('a worker that shares a queue', () => {
  it('passes over the runs of others as long as there is plenty of its own', () => {
    expect(passesOver(false, FULL)).toBe(true);
    expect(passesOver(true, { ...FULL, others: 0 })).toBe(true);
  });

  it('takes all there is once a claim came up short', () => {
    expect(passesOver(false, { ...FULL, hasMore: false })).toBe(false);
    expect(passesOver(true, { own: 3, others: 0, hasMore: false })).toBe(false);
  });

  it('takes all where few are its own: it would read past many to find them', () => {
    expect(passesOver(false, { own: 1, others: 10, hasMore: true })).toBe(true);
    expect(passesOver(false, { own: 1, others: 11, hasMore: true })).toBe(false);
    expect(passesOver(false, { own: 0, others: 1, hasMore: true })).toBe(false);
  });

  it('has nothing to pass over where all are its own', () => {
    expect(passesOver(false, { own: 5, others: 0, hasMore: true })).toBe(false);
  });
});
