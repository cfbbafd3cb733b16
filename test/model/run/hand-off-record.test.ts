// The state of a handoff in words.
import { expect, it } from 'vitest';
import { type HandOffRecord, handOffState, refusedTexts } from '../../../src/model/run/hand-off-record.js';

const at = (hour: number) => new Date(Date.UTC(2026, 2, 2, hour));
const NOW = at(12).getTime();
const open: HandOffRecord = {
  fence: 1,
  handedOffAt: at(10),
  to: 'finance',
  leaseUntil: at(20),
  decidedAt: null,
  decision: null,
  refused: 0,
};

it.each<[string, Partial<HandOffRecord>, boolean, string]>([
  ['open', {}, false, 'it was handed off to finance 2h ago, and its lease ends in 8h'],
  ['open', { to: null }, false, 'it was handed off 2h ago, and its lease ends in 8h'],
  [
    'overdue',
    { leaseUntil: at(11) },
    false,
    'it was handed off to finance 2h ago, and its lease ended 1h ago',
  ],
  ['cancelled', {}, true, 'it was handed off to finance 2h ago, and was cancelled'],
  [
    'decided',
    { decision: 'succeeded', decidedAt: at(11) },
    true,
    'it was handed off to finance 2h ago, and was completed 1h ago',
  ],
  [
    'decided',
    { decision: 'failed', decidedAt: at(11) },
    false,
    'it was handed off to finance 2h ago, and was said to have failed 1h ago',
  ],
  [
    'decided',
    { decision: 'dead', decidedAt: at(12), leaseUntil: at(11) },
    false,
    'it was handed off to finance 2h ago, and was said to have failed for good 0ms ago',
  ],
])('handOffState %s: %j', (phase, more, isCancelled, text) => {
  expect(handOffState({ ...open, ...more }, isCancelled, NOW)).toEqual({ phase, text });
});

it('refusedTexts say for each fence how many calls came too late', () => {
  expect(refusedTexts([open, { ...open, refused: 1 }, { ...open, fence: 2, refused: 3 }])).toEqual([
    '1 call under fence 1 came too late and changed nothing',
    '3 calls under fence 2 came too late and changed nothing',
  ]);
  expect(refusedTexts([open])).toEqual([]);
});
