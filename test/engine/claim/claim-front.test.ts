// When a worker may start where the claims of others have come to.
import { describe, expect, it } from 'vitest';
import { createClaimFront } from '../../../src/engine/claim/claim-front.js';
import type { Claim } from '../../../src/store/runs/claim/claim.js';

const MINUTE = '2026-03-01T12:00:0';

/** A claim that ended at a second and id; null: it found nothing. */
function claim(
  second: number | null,
  { id = '5', queue = 'default', priority = 0, hasMore = true } = {},
): Claim {
  const at = second === null ? null : `${MINUTE}${second}.000001+00:00`;
  const position = {
    queue,
    priority,
    at,
    id: at && id,
    hasMore,
    isLimited: false,
    needSlots: 'none' as const,
  };
  return { runs: [], limited: [], positions: at === null ? [] : [position], hasMore, walkMs: null };
}

describe('createClaimFront', () => {
  it('is used at first, and as long as claims from the beginning end at it or after it', () => {
    const front = createClaimFront();
    expect(front.isUsed).toBe(true);
    front.restarted(claim(1));
    front.continued(claim(4));
    front.restarted(claim(4));
    expect(front.isUsed).toBe(true);
    front.restarted(claim(4, { id: '6' }));
    expect(front.isUsed).toBe(true);
  });

  it('is not used while runs behind it are claimed', () => {
    const front = createClaimFront();
    front.continued(claim(4));
    front.restarted(claim(1));
    expect(front.isUsed).toBe(false);
    front.continued(claim(2));
    front.continued(claim(4, { id: '4' }));
    expect(front.isUsed).toBe(false);
    front.continued(claim(4));
    expect(front.isUsed).toBe(true);
  });

  it('compares ids as numbers, where runs are due at the same time', () => {
    const front = createClaimFront();
    front.continued(claim(4, { id: '10' }));
    front.restarted(claim(4, { id: '9' }));
    expect(front.isUsed).toBe(false);
  });

  it('is used again after a claim from the beginning that left nothing behind it', () => {
    const front = createClaimFront();
    front.continued(claim(4));
    front.restarted(claim(1));
    front.restarted(claim(5));
    expect(front.isUsed).toBe(true);
    front.restarted(claim(1, { hasMore: false }));
    expect(front.isUsed).toBe(true);
  });

  it('is not used until the next claim from the beginning, if it is so far ahead that nothing is found', () => {
    const front = createClaimFront();
    front.restarted(claim(1));
    front.continued(claim(null, { hasMore: false }));
    expect(front.isUsed).toBe(true);
    front.restarted(claim(2));
    expect(front.isUsed).toBe(false);
    front.continued(claim(3));
    expect(front.isUsed).toBe(false);
    front.restarted(claim(5));
    expect(front.isUsed).toBe(true);
  });

  it('does not compare queues and priorities with each other', () => {
    const front = createClaimFront();
    front.continued(claim(4));
    front.restarted(claim(1, { queue: 'other' }));
    expect(front.isUsed).toBe(true);
    front.restarted(claim(1, { priority: 1 }));
    expect(front.isUsed).toBe(true);
  });
});
