// Engine: where the next batch of due definitions begins.
import { describe, expect, it } from 'vitest';
import { DueWalk } from '../../../src/engine/materialize/materialize.js';
import { FIRST_DUE } from '../../../src/store/definitions/due.js';

const at = (next_ms: number, id: string) => ({ next_ms, id });

describe('DueWalk', () => {
  it('goes on after the furthest definition, by its time and then by its number', () => {
    const walk = new DueWalk();
    expect(walk.position).toBe(FIRST_DUE);
    walk.reach(at(5000, '10'));
    walk.reach(at(5000, '9'));
    expect(walk.position).toEqual(at(5000, '10'));
    walk.reach(at(4000, '700'));
    expect(walk.position).toEqual(at(5000, '10'));
    walk.reach(at(6000, '2'));
    expect(walk.position).toEqual(at(6000, '2'));
  });

  it('reaches those that were never planned', () => {
    const walk = new DueWalk();
    walk.reach(at(Number.NEGATIVE_INFINITY, '3'));
    expect(walk.position).toEqual(at(Number.NEGATIVE_INFINITY, '3'));
  });

  it('goes back to what a batch has left, never ahead', () => {
    const walk = new DueWalk();
    walk.reach(at(5000, '10'));
    walk.goBackTo(at(5000, '4'));
    walk.goBackTo(at(5000, '7'));
    expect(walk.position).toEqual(at(5000, '4'));
  });

  it('has ended once nothing is found from the beginning, and only then', () => {
    const walk = new DueWalk();
    walk.reach(at(5000, '10'));
    expect(walk.foundNothing(walk.position)).toBe(false);
    expect(walk.position).toBe(FIRST_DUE);
    expect(walk.foundNothing(walk.position)).toBe(true);
  });
});
