// From which of many queues and priorities one claim takes runs.
import { describe, expect, it } from 'vitest';
import { choosePositions } from '../../../../src/store/runs/claim/chosen-positions.js';
import type { ClaimPosition } from '../../../../src/store/runs/claim/claim.js';

const position = (name: string): ClaimPosition => ({
  queue: name,
  priority: Number(name.slice(1)),
  at: null,
  id: null,
  hasMore: true,
  isLimited: false,
  needSlots: 'none',
});
const chosen = (names: string, most: number) => {
  const { asked, unasked } = choosePositions(names.split(' ').map(position), most);
  return [asked, unasked].map(each => each.map(({ queue }) => queue).join(' '));
};

describe('choosePositions', () => {
  it('takes all where there are few', () => {
    expect(chosen('b1 a0', 2)).toEqual(['b1 a0', '']);
  });

  it('takes the first of the most urgent priority, and leaves the others in their order', () => {
    expect(chosen('a1 b0 c1 d0 e0', 2)).toEqual(['b0 d0', 'a1 c1 e0']);
  });

  it('takes more of very many, so that eight claims come to each', () => {
    const names = Array.from({ length: 17 }, (_, n) => `q0${n}`);
    const { asked, unasked } = choosePositions(
      names.map(name => ({ ...position(name), priority: 0 })),
      2,
    );
    expect([asked.length, unasked.length]).toEqual([3, 14]);
  });

  it('goes on to the next priorities while there is room', () => {
    expect(chosen('a2 b0 c-1 d2 e0 f2', 4)).toEqual(['a2 b0 c-1 e0', 'd2 f2']);
  });
});
