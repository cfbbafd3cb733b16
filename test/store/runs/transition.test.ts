// Store: what batches of held runs are sent as.
import { expect, it } from 'vitest';
import { fencedBatch, json, sortedById } from '../../../src/store/runs/transition.js';

const held = (...ids: string[]) => ids.map((id, index) => ({ id, fence: index + 1 }));

it('sortedById sorts by id, as numbers, and leaves alone what is sorted', () => {
  const sorted = held('9', '10', '99', '100');
  expect(sortedById(sorted)).toBe(sorted);
  expect(sortedById([])).toEqual([]);
  for (const ids of [
    ['100', '9', '10', '99'],
    ['10', '9', '100', '99'],
    ['9', '10', '100', '99'],
    ['99', '100', '10', '9'],
  ])
    expect(sortedById(held(...ids)).map(each => each.id)).toEqual(['9', '10', '99', '100']);
});

it('fencedBatch gives ids and fences as PostgreSQL writes arrays, both in the order of the ids', () => {
  expect(fencedBatch(held('12', '7', '100'), 'w')).toEqual({
    ids: '{7,12,100}',
    fences: '{2,1,3}',
    workerId: 'w',
  });
  expect(fencedBatch([], 'w')).toEqual({ ids: '{}', fences: '{}', workerId: 'w' });
});

it('json is nothing for null and undefined, and text for all else', () => {
  expect([null, undefined, 0, false, '', { a: [1] }].map(json)).toEqual([
    null,
    null,
    '0',
    'false',
    '""',
    '{"a":[1]}',
  ]);
});
