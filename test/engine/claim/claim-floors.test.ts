// From where claims begin, once walks over what has ended are slow.
import { describe, expect, it } from 'vitest';
import { type ClaimFloors, createClaimFloors } from '../../../src/engine/claim/claim-floors.js';
import type { Claim, ClaimPosition } from '../../../src/store/runs/claim/claim.js';

const PLACE = { queue: 'default', priority: 0 };
const position = (more: Partial<ClaimPosition> = {}): ClaimPosition => ({
  ...PLACE,
  at: '2026-03-01T12:00:10.000007+00:00',
  id: '7',
  hasMore: false,
  isLimited: false,
  isPlain: true,
  ...more,
});
const claim = (walkMs: number | null, ...positions: ClaimPosition[]): Claim => ({
  runs: [],
  limited: [],
  positions,
  hasMore: false,
  walkMs,
});
const FLOOR = { ...PLACE, at: '2026-03-01T12:00:09.000Z' };

/** After three slow claims from the beginning. */
function slow(...positions: ClaimPosition[]): ClaimFloors {
  const floors = createClaimFloors();
  for (let n = 0; n < 3; n++)
    floors.claimed(claim(2.1, ...(positions.length === 0 ? [position()] : positions)), []);
  return floors;
}

describe('createClaimFloors', () => {
  it('uses none while a walk from the beginning is cheap', () => {
    const floors = createClaimFloors();
    for (const walkMs of [50, 50, 2, 50, 50]) floors.claimed(claim(walkMs, position()), []);
    expect([floors.used, floors.of(PLACE), floors.mustCheck(0)]).toEqual([[], null, false]);
  });

  it('begins a second before the last run that was taken, once three walks in a row were slow', () => {
    const floors = slow();
    expect([floors.used, floors.of(PLACE)]).toEqual([[FLOOR], FLOOR]);
    expect([floors.of({ ...PLACE, priority: 1 }), floors.of({ ...PLACE, queue: 'mail' })]).toEqual([
      null,
      null,
    ]);
  });

  it('rises with each claim, from the floors too, and never falls', () => {
    const floors = slow();
    const { used } = floors;
    expect(floors.used).toBe(used);
    floors.claimed(claim(0.1, position({ at: '2026-03-01T12:00:20+00:00' })), used);
    expect(floors.used).toEqual([{ ...PLACE, at: '2026-03-01T12:00:19.000Z' }]);
    floors.claimed(claim(0.1, position({ at: '2026-03-01T11:00:00+00:00' })), floors.used);
    floors.claimed(claim(0.1, position({ at: null, id: null })), floors.used);
    expect(floors.used).toEqual([{ ...PLACE, at: '2026-03-01T12:00:19.000Z' }]);
    // Continued from a position: it says nothing of walks.
    floors.claimed(claim(null), []);
    expect(floors.used).toHaveLength(1);
  });

  it('has none in a queue with a limit, where it took nothing, or for a time that is no date', () => {
    const floors = slow(
      position({ queue: 'limited', isLimited: true }),
      position({ queue: 'empty', at: null, id: null }),
      position({ queue: 'ever', at: '-infinity' }),
      position(),
    );
    expect(floors.used).toEqual([FLOOR]);
    floors.claimed(claim(3, position({ isLimited: true })), floors.used);
    expect(floors.used).toEqual([]);
  });

  it('starts anew where there are too many', () => {
    const places = Array.from({ length: 100 }, (_, priority) => position({ priority }));
    const floors = slow(...places);
    expect(floors.used).toHaveLength(100);
    floors.claimed(claim(3, position({ priority: 100 })), floors.used);
    expect([floors.used, floors.mustCheck(1e9)]).toEqual([[], false]);
    floors.claimed(claim(3, position()), []);
    expect(floors.used).toEqual([FLOOR]);
  });

  it('looks below every 500 ms, less often if that takes long, but after five seconds at the latest', () => {
    const floors = slow();
    expect(floors.mustCheck(0)).toBe(true);
    const checks = (tookMs: number) => {
      floors.checked({ hasRuns: false, walkMs: tookMs }, 1000, 1000 + tookMs);
      const { pauseMs } = floors;
      expect([floors.mustCheck(999 + pauseMs), floors.mustCheck(1000 + pauseMs)]).toEqual([false, true]);
      return pauseMs;
    };
    expect([5, 20, 100, 500, 700].map(checks)).toEqual([500, 1200, 5000, 5000, 7000]);
    floors.leaveCheck(8000);
    expect([floors.mustCheck(14_999), floors.mustCheck(15_000)]).toEqual([false, true]);
  });

  it('begins at the beginning after it has found runs below, and goes on with floors from there', () => {
    const floors = slow();
    floors.checked({ hasRuns: true, walkMs: 30 }, 0, 30);
    expect(floors.used).toEqual([]);
    floors.claimed(claim(30, position()), []);
    expect(floors.used).toEqual([FLOOR]);
    floors.forget();
    expect([floors.used, floors.of(PLACE)]).toEqual([[], null]);
  });

  it('ends when looking below is cheap again', () => {
    const floors = slow();
    floors.checked({ hasRuns: false, walkMs: 2 }, 0, 40);
    floors.claimed(claim(1, position()), []);
    expect(floors.used).toEqual([]);
  });

  it('keeps none for a tick', () => {
    const floors = createClaimFloors(false);
    for (let n = 0; n < 5; n++) floors.claimed(claim(50, position()), []);
    expect(floors.used).toEqual([]);
  });
});
