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

  const nothing = { places: [], mustRestart: false };

  it('continues where a claim ended, and every 500 ms at the beginning', () => {
    const cursor = createClaimCursor();
    expect(cursor.position(0)).toBeNull();
    cursor.advance(claim(position()), 0, 2);
    expect(cursor.position(100)).toEqual([position()]);
    cursor.advance(claim(position({ id: '9' })), 100, 102);
    expect(cursor.position(499)).toEqual([position({ id: '9' })]);
    expect(cursor.position(500)).toBeNull();
  });

  it('returns to the beginning less often when that takes long, but after five seconds at the latest', () => {
    const cursor = createClaimCursor();
    cursor.advance(claim(position()), 0, 20);
    expect(cursor.position(1199)).not.toBeNull();
    expect(cursor.position(1200)).toBeNull();
    cursor.advance(claim(position()), 1200, 2200);
    expect(cursor.position(6199)).not.toBeNull();
    expect(cursor.position(6200)).toBeNull();
  });

  it('puts a queue first that may have more though a claim took nothing from it, at its earlier position', () => {
    const cursor = createClaimCursor();
    cursor.advance(claim(position(), position({ queue: 'slow', id: '3' })), 0, 1);
    cursor.advance(claim(position({ id: '9' }), position({ queue: 'slow', at: null, id: null })), 1, 2);
    expect(cursor.position(2)).toEqual([position({ queue: 'slow', id: '3' }), position({ id: '9' })]);
    expect(cursor.afterQueue).toBe('default');
  });

  it('leaves a queue that has no more to the looks', () => {
    const cursor = createClaimCursor();
    cursor.advance(claim(position(), position({ queue: 'slow', id: '3', hasMore: false })), 0, 1);
    expect(cursor.position(1)).toHaveLength(2);
    cursor.advance(claim(position({ id: '9' }), position({ queue: 'slow', at: null, hasMore: false })), 1, 2);
    expect(cursor.position(2)).toEqual([position({ id: '9' })]);
  });

  it('returns to the beginning when nothing more was due, and when a queue has a limit', () => {
    const cursor = createClaimCursor();
    cursor.advance(claim(position({ hasMore: false })), 0, 1);
    expect(cursor.position(1)).toBeNull();
    cursor.advance(claim(position(), position({ queue: 'narrow', isLimited: true })), 1, 2);
    expect(cursor.position(2)).toBeNull();
  });

  it('looks for other places ten times a second, less often when that takes long, and sooner when asked to', () => {
    const cursor = createClaimCursor();
    expect(cursor.mustLook(0)).toBe(false);
    cursor.advance(claim(position()), 0, 1);
    expect([cursor.mustLook(99), cursor.mustLook(100)]).toEqual([false, true]);
    cursor.looked(nothing, 100, 101);
    expect([cursor.mustLook(199), cursor.mustLook(200)]).toEqual([false, true]);
    cursor.looked(nothing, 200, 210);
    expect([cursor.mustLook(399), cursor.mustLook(400)]).toEqual([false, true]);
    cursor.looked(nothing, 400, 401);
    cursor.lookSoon();
    expect([cursor.mustLook(419), cursor.mustLook(420)]).toEqual([false, true]);
    expect([cursor.mustLook(499), cursor.mustLook(500)]).toEqual([true, false]);
  });

  it('claims in the places that a look found as well, from their beginning', () => {
    const cursor = createClaimCursor();
    cursor.advance(claim(position()), 0, 1);
    cursor.looked({ places: [{ queue: 'default', priority: -1 }], mustRestart: false }, 100, 101);
    expect(cursor.position(101)).toEqual([
      position(),
      position({ priority: -1, at: null, id: null, isPlain: false }),
    ]);
    cursor.looked({ places: [], mustRestart: true }, 200, 201);
    expect(cursor.position(201)).toBeNull();
  });
});
