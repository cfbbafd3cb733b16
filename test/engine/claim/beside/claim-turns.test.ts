// Engine: in which order the runs of claims are accepted that were under way at once.
import { beforeEach, describe, expect, it } from 'vitest';
import { type ClaimTurn, createClaimTurns } from '../../../../src/engine/claim/beside/claim-turns.js';

const end = (id: number) => ({
  queue: 'default',
  priority: 0,
  at: '2026-03-02T12:00:00Z',
  id: String(id),
  hasMore: true,
  isLimited: false,
  needSlots: 'none' as const,
});

let takeTurn: () => ClaimTurn;
let accepted: string[];
beforeEach(() => {
  takeTurn = createClaimTurns();
  accepted = [];
});

/** The claim is answered; `over` says that its runs have been accepted. */
const answer = async (name: string, turn: ClaimTurn, ...ends: ReturnType<typeof end>[]) => {
  void turn.answered(ends).then(() => accepted.push(name));
  await settled();
};
const over = async (turn: ClaimTurn) => {
  turn.over();
  await settled();
};
const settled = () => new Promise(resolve => setImmediate(resolve));

describe('claims that are under way at once', () => {
  it('are accepted in the order in which they were sent, each when the one before is over', async () => {
    const [first, second] = [takeTurn(), takeTurn()];
    await answer('second', second, end(20));
    expect(accepted).toEqual([]);
    await answer('first', first, end(10));
    expect(accepted).toEqual(['first']);
    await over(first);
    expect(accepted).toEqual(['first', 'second']);
    await over(second);
    await answer('third', takeTurn());
    expect(accepted).toEqual(['first', 'second', 'third']);
  });

  it('are accepted the other way round where the second has come before the first', async () => {
    const [first, second] = [takeTurn(), takeTurn()];
    await answer('second', second, end(10));
    await answer('first', first, end(20));
    expect(accepted).toEqual(['second']);
    await over(second);
    expect(accepted).toEqual(['second', 'first']);
  });

  it('do not wait for one that has failed, nor for one that was sent later', async () => {
    const [first, second, third] = [takeTurn(), takeTurn(), takeTurn()];
    await answer('second', second);
    await over(first);
    expect(accepted).toEqual(['second']);
    await over(second);
    await over(third);
    const fourth = takeTurn();
    takeTurn();
    await answer('fourth', fourth);
    expect(accepted).toEqual(['second', 'fourth']);
  });
});
