// How many more runs a worker may claim.
import { expect, it } from 'vitest';
import {
  claimable,
  isWorthClaiming,
  MAX_UNWRITTEN,
  type WorkerLoad,
} from '../../../src/engine/claim/prefetch.js';

const IDLE: WorkerLoad = {
  isClosed: false,
  isHeldUp: false,
  capacity: 10,
  executing: 0,
  prefetched: 0,
  unwritten: 0,
  prefetchTarget: 0,
  batches: null,
};

it.each<[string, Partial<WorkerLoad>, number]>([
  ['the whole capacity of an idle worker', {}, 10],
  ['what handlers at work leave free', { executing: 7 }, 3],
  ['nothing at full capacity', { executing: 10 }, 0],
  ['as many more as the throughput allows', { executing: 10, prefetchTarget: 40 }, 40],
  [
    'places, and what batches want beside what they have',
    { batches: { held: 30, wanted: places => 50 + places } },
    40,
  ],
  [
    'no more for batches while outcomes are held up',
    { isHeldUp: true, batches: { held: 30, wanted: () => 50 } },
    0,
  ],
  ['only what is missing of those', { executing: 10, prefetchTarget: 40, prefetched: 25 }, 15],
  ['nothing when the throughput has dropped below what is prefetched', { executing: 10, prefetched: 25 }, 0],
  ['as much as before while outcomes wait to be written', { executing: 7, unwritten: MAX_UNWRITTEN }, 3],
  ['less once too many wait', { executing: 7, unwritten: MAX_UNWRITTEN + 1 }, 2],
  ['nothing once far too many wait', { unwritten: MAX_UNWRITTEN + 10 }, 0],
  ['one more than the capacity while the server accepts no outcomes', { isHeldUp: true }, 11],
  [
    'then counting all runs that are held',
    { isHeldUp: true, executing: 3, prefetched: 2, unwritten: 5, prefetchTarget: 40 },
    1,
  ],
  ['and never fewer than none', { isHeldUp: true, executing: 10, unwritten: 500 }, 0],
  ['nothing once it is closed', { isClosed: true, prefetchTarget: 40 }, 0],
  [
    'nothing once it is closed, also while the server accepts no outcomes',
    { isClosed: true, isHeldUp: true },
    0,
  ],
])('claimable is %s', (_what, load, count) => {
  expect(claimable({ ...IDLE, ...load })).toBe(count);
});

it.each([
  [0, 0, true],
  [0, 1, false],
  [24, 50, false],
  [25, 50, true],
  [499, 4000, false],
  [500, 4000, true],
])(
  'room for %d is worth a claim that follows another at once, where %d are to be prefetched: %s',
  (room, target, isWorth) => {
    expect(isWorthClaiming(room, target)).toBe(isWorth);
  },
);
