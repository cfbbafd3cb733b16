// Store: what batches of held runs are sent as.
import { describe, expect, it } from 'vitest';
import { fenced, inOrder, json } from '../../../src/store/runs/transition.js';

const held = (...ids: string[]) => ids.map((id, index) => ({ id, fence: index + 1 }));

describe('inOrder', () => {
  it('sorts by id, as numbers, and leaves alone what is sorted', () => {
    const sorted = held('9', '10', '99', '100');
    expect(inOrder(sorted)).toBe(sorted);
    expect(inOrder([])).toEqual([]);
    for (const ids of [
      ['100', '9', '10', '99'],
      ['10', '9', '100', '99'],
      ['9', '10', '100', '99'],
      ['99', '100', '10', '9'],
    ])
      expect(inOrder(held(...ids)).map(each => each.id)).toEqual(['9', '10', '99', '100']);
  });
});

describe('fenced', () => {
  it('gives ids and fences as PostgreSQL writes arrays, both in the order of the ids', () => {
    expect(fenced(held('12', '7', '100'))).toEqual(['{7,12,100}', '{2,1,3}']);
    expect(fenced([])).toEqual(['{}', '{}']);
  });
});

describe('json', () => {
  it('is nothing for null and undefined, and text for all else', () => {
    expect([null, undefined, 0, false, '', { a: [1] }].map(json)).toEqual([
      null,
      null,
      '0',
      'false',
      '""',
      '{"a":[1]}',
    ]);
  });
});
