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
    needSlots: 'none',
    ...more,
  });
  const claim = (...positions: ClaimPosition[]): Claim => ({
    runs: [],
    limited: [],
    positions,
    hasMore: positions.some(position => position.hasMore),
    walkMs: null,
  });

  const nothing = { places: [], mustRestart: false };

  it('continues where a claim ended, and is due at the beginning every 500 ms', () => {
    const cursor = createClaimCursor();
    expect([cursor.positions, cursor.mustRestart(0)]).toEqual([null, false]);
    cursor.advance(claim(position()), null, 0, 2);
    expect(cursor.positions).toEqual([position()]);
    cursor.advance(claim(position({ id: '9' })), cursor.positions, 100, 102);
    expect(cursor.positions).toEqual([position({ id: '9' })]);
    expect([cursor.mustRestart(499), cursor.mustRestart(500)]).toEqual([false, true]);
    cursor.forget();
    expect([cursor.positions, cursor.mustRestart(500)]).toEqual([null, false]);
  });

  it('returns to the beginning less often when that takes long, but after five seconds at the latest', () => {
    const cursor = createClaimCursor();
    cursor.advance(claim(position()), null, 0, 20);
    expect([cursor.pauseMs, cursor.mustRestart(1199), cursor.mustRestart(1200)]).toEqual([1200, false, true]);
    cursor.advance(claim(position()), null, 1200, 2200);
    expect([cursor.pauseMs, cursor.mustRestart(6199), cursor.mustRestart(6200)]).toEqual([5000, false, true]);
    cursor.leaveRestart(6200);
    expect([cursor.mustRestart(11_199), cursor.mustRestart(11_200)]).toEqual([false, true]);
  });

  describe('after runs were claimed that had been left behind', () => {
    const continued = () => {
      const cursor = createClaimCursor();
      cursor.advance(claim(position({ id: '60' })), null, 0, 2);
      cursor.advance(claim(position({ id: '80' })), cursor.positions, 400, 402);
      return cursor;
    };

    it('goes on where it was, if there are no more', () => {
      const cursor = continued();
      cursor.restarted(claim(position({ id: '7', hasMore: false })), 500, 520);
      expect([cursor.positions, cursor.fromFront]).toEqual([[position({ id: '80' })], true]);
      expect([cursor.mustRestart(1699), cursor.mustRestart(1700)]).toEqual([false, true]);
      cursor.restarted(claim(), 1700, 1702);
      expect([cursor.positions, cursor.fromFront]).toEqual([[position({ id: '80' })], true]);
    });

    it('goes back, if there are more, and leaves the front alone until it has come to it', () => {
      const cursor = continued();
      cursor.restarted(claim(position({ id: '9' })), 500, 502);
      expect([cursor.positions, cursor.fromFront]).toEqual([[position({ id: '9' })], false]);
      cursor.advance(claim(position({ id: '80' })), cursor.positions, 510, 512);
      expect(cursor.fromFront).toBe(true);
    });

    it('leaves the front alone also before its own claims have come to one', () => {
      const cursor = createClaimCursor();
      cursor.advance(claim(position({ id: '50' })), null, 0, 2);
      cursor.restarted(claim(position({ id: '9' })), 500, 502);
      expect([cursor.positions, cursor.fromFront]).toEqual([[position({ id: '9' })], false]);
    });

    it('goes back though a claim that was sent before ends further on', () => {
      const cursor = continued();
      const sent = cursor.positions;
      cursor.restarted(claim(position({ id: '9' })), 500, 502);
      cursor.advance(claim(position({ id: '90' })), sent, 501, 503);
      expect([cursor.positions, cursor.fromFront]).toEqual([[position({ id: '9' })], false]);
    });

    it('minds slots from then on, if some of them need one', () => {
      const cursor = continued();
      const sent = cursor.positions;
      cursor.restarted(claim(position({ id: '9', hasMore: false, needSlots: 'some' })), 500, 502);
      expect(cursor.positions).toEqual([position({ id: '80', needSlots: 'some' })]);
      cursor.advance(claim(position({ id: '90' })), sent, 501, 503);
      expect(cursor.positions).toEqual([position({ id: '80', needSlots: 'some' })]);
    });

    it('begins at the beginning, if claiming them has failed', () => {
      const cursor = continued();
      const sent = cursor.positions;
      cursor.forget();
      cursor.advance(claim(position({ id: '90' })), sent, 501, 503);
      expect(cursor.positions).toBeNull();
      cursor.restarted(claim(position({ id: '9' })), 510, 512);
      expect(cursor.positions).toBeNull();
    });
  });

  it('puts a queue first that may have more though a claim took nothing from it, at its earlier position', () => {
    const cursor = createClaimCursor();
    cursor.advance(claim(position(), position({ queue: 'slow', id: '3' })), null, 0, 1);
    cursor.advance(
      claim(position({ id: '9' }), position({ queue: 'slow', at: null, id: null })),
      cursor.positions,
      1,
      2,
    );
    expect(cursor.positions).toEqual([position({ queue: 'slow', id: '3' }), position({ id: '9' })]);
    expect(cursor.afterQueue).toBe('default');
  });

  it('leaves a queue that has no more to the looks', () => {
    const cursor = createClaimCursor();
    cursor.advance(claim(position(), position({ queue: 'slow', id: '3', hasMore: false })), null, 0, 1);
    expect(cursor.positions).toHaveLength(2);
    cursor.advance(
      claim(position({ id: '9' }), position({ queue: 'slow', at: null, hasMore: false })),
      cursor.positions,
      1,
      2,
    );
    expect(cursor.positions).toEqual([position({ id: '9' })]);
  });

  it('returns to the beginning when nothing more was due, and when a queue has a limit', () => {
    const cursor = createClaimCursor();
    cursor.advance(claim(position({ hasMore: false })), null, 0, 1);
    expect(cursor.positions).toBeNull();
    cursor.advance(claim(position(), position({ queue: 'narrow', isLimited: true })), cursor.positions, 1, 2);
    expect(cursor.positions).toBeNull();
  });

  it('looks for other places ten times a second, less often when that takes long, and sooner when asked to', () => {
    const cursor = createClaimCursor();
    expect(cursor.mustLook(0)).toBe(false);
    cursor.advance(claim(position()), null, 0, 1);
    expect([cursor.mustLook(99), cursor.mustLook(100)]).toEqual([false, true]);
    cursor.looked(nothing, 100, 101);
    expect([cursor.mustLook(199), cursor.mustLook(200)]).toEqual([false, true]);
    // One that takes long may have had bad luck.
    cursor.looked(nothing, 200, 210);
    expect([cursor.mustLook(299), cursor.mustLook(300)]).toEqual([false, true]);
    cursor.looked(nothing, 300, 310);
    expect([cursor.mustLook(499), cursor.mustLook(500)]).toEqual([false, true]);
    cursor.looked(nothing, 500, 501);
    cursor.lookSoon();
    expect([cursor.mustLook(519), cursor.mustLook(520)]).toEqual([false, true]);
    cursor.forget();
    expect(cursor.mustLook(599)).toBe(false);
  });

  it('claims in the places that a look found as well, from their beginning', () => {
    const cursor = createClaimCursor();
    cursor.advance(claim(position()), null, 0, 1);
    cursor.looked({ places: [{ queue: 'default', priority: -1 }], mustRestart: false }, 100, 101);
    expect(cursor.positions).toEqual([
      position(),
      position({ priority: -1, at: null, id: null, needSlots: 'some' }),
    ]);
    cursor.looked({ places: [], mustRestart: true }, 200, 201);
    expect(cursor.positions).toBeNull();
  });
});
