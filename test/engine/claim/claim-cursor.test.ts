// Where a worker's next claim continues.
import { describe, expect, it } from 'vitest';
import { createClaimCursor } from '../../../src/engine/claim/claim-cursor.js';
import type { Claim, Lane } from '../../../src/store/runs/claim.js';

describe('createClaimCursor', () => {
  const lane = (more: Partial<Lane> = {}): Lane => ({
    queue: 'default',
    priority: 0,
    at: '2026-03-01 12:00:00+00',
    id: '7',
    hasMore: true,
    isLimited: false,
    isPlain: true,
    ...more,
  });
  const claim = (...lanes: Lane[]): Claim => ({
    runs: [],
    limited: [],
    lanes,
    hasMore: lanes.some(each => each.hasMore),
  });

  it('continues where a claim ended, and every 500 ms at the beginning', () => {
    const cursor = createClaimCursor();
    expect(cursor.position(0)).toBeNull();
    cursor.advance(claim(lane()), 0);
    expect(cursor.position(100)).toEqual([lane()]);
    cursor.advance(claim(lane({ id: '9' })), 100);
    expect(cursor.position(499)).toEqual([lane({ id: '9' })]);
    expect(cursor.position(500)).toBeNull();
  });

  it('keeps the position of a queue from which a claim took nothing', () => {
    const cursor = createClaimCursor();
    cursor.advance(claim(lane(), lane({ queue: 'slow', id: '3' })), 0);
    cursor.advance(claim(lane({ id: '9' }), lane({ queue: 'slow', at: null, id: null, hasMore: false })), 1);
    expect(cursor.position(2)).toEqual([lane({ id: '9' }), lane({ queue: 'slow', id: '3' })]);
  });

  it('returns to the beginning when nothing more was due, and when a queue has a limit', () => {
    const cursor = createClaimCursor();
    cursor.advance(claim(lane({ hasMore: false })), 0);
    expect(cursor.position(1)).toBeNull();
    cursor.advance(claim(lane(), lane({ queue: 'narrow', isLimited: true })), 1);
    expect(cursor.position(2)).toBeNull();
  });
});
