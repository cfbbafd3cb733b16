// Where a worker's next claim continues.
import { describe, expect, it } from 'vitest';
import { createClaimCursor } from '../../../src/engine/claim/claim-cursor.js';
import type { Claim, ClaimPosition } from '../../../src/store/runs/claim/claim.js';

describe('createClaimCursor', () => {
  const position = (more: Partial<ClaimPosition> = {}): ClaimPosition => ({
    queue: 'default',
    priority: 0,
    at: '2026-03-01 12:00:00+00',
    id: '7',
    hasMore: true,
    isLimited: false,
    isPlain: true,
    ...more,
  });
  const claim = (...positions: ClaimPosition[]): Claim => ({
    runs: [],
    limited: [],
    positions,
    hasMore: positions.some(position => position.hasMore),
  });

  it('continues where a claim ended, and every 500 ms at the beginning', () => {
    const cursor = createClaimCursor();
    expect(cursor.position(0)).toBeNull();
    cursor.advance(claim(position()), 0);
    expect(cursor.position(100)).toEqual([position()]);
    cursor.advance(claim(position({ id: '9' })), 100);
    expect(cursor.position(499)).toEqual([position({ id: '9' })]);
    expect(cursor.position(500)).toBeNull();
  });

  it('keeps the position of a queue from which a claim took nothing', () => {
    const cursor = createClaimCursor();
    cursor.advance(claim(position(), position({ queue: 'slow', id: '3' })), 0);
    cursor.advance(
      claim(position({ id: '9' }), position({ queue: 'slow', at: null, id: null, hasMore: false })),
      1,
    );
    expect(cursor.position(2)).toEqual([position({ id: '9' }), position({ queue: 'slow', id: '3' })]);
  });

  it('returns to the beginning when nothing more was due, and when a queue has a limit', () => {
    const cursor = createClaimCursor();
    cursor.advance(claim(position({ hasMore: false })), 0);
    expect(cursor.position(1)).toBeNull();
    cursor.advance(claim(position(), position({ queue: 'narrow', isLimited: true })), 1);
    expect(cursor.position(2)).toBeNull();
  });
});
