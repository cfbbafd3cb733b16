// Model: why a run whose fair key has not given it its turn does not start.
import { expect, it } from 'vitest';
import { type FairTurn, holdText, turnText, turnWords } from '../../../src/model/explain/fair-turn.js';

const at = new Date('2026-03-02T09:00:00Z');
const turn: FairTurn = {
  key: '17',
  queue: 'mail',
  job: null,
  weight: 1,
  waiting: 12,
  held: 0,
  heldBy: null,
  limit: null,
  closedUntil: null,
  waitsFor: null,
  nextAt: null,
};

it.each([
  [{}, ', which takes turns with the other keys of queue mail; 12 of its runs wait'],
  [
    { job: 'send', weight: 3 },
    ', which takes turns with the other keys of job send, at weight 3; 12 of its runs wait',
  ],
  [{ held: 40, limit: 40, nextAt: at }, ', which has 40 of 40 at once; 12 of its runs wait'],
  [
    { held: 1, heldBy: '5', limit: 1, nextAt: at, waiting: 1 },
    ', whose order is strict: run 5 comes first (tock show 5), until it has succeeded, is dead, or is cancelled; 1 of its runs waits',
  ],
  [{ waitsFor: 'job:load/7', nextAt: at }, ', which waits for a slot of job load for 7; 12 of its runs wait'],
  [{ nextAt: at, waiting: 1 }, ', whose next start is at 9 at the earliest; 1 of its runs waits'],
  [
    { closedUntil: at, nextAt: at, key: 'a b', waiting: 1001 },
    ", which a handler has closed: it opens at 9 (sooner: tock key open 'a b'); more than 1000 of its runs wait",
  ],
])('says what it waits for: %j', (more, text) => {
  const one = { ...turn, ...more };
  expect(holdText(one, () => 'at 9') ?? turnText(one)).toBe(text);
});

it.each([
  [{}, 'its turn, beside the other keys'],
  [{ waiting: 0 }, 'none waits'],
  [{ held: 40, limit: 40, nextAt: at }, 'it has 40 of 40 at once'],
  [{ held: 1, heldBy: '5', limit: 1 }, 'its order is strict: run 5 comes first'],
  [{ waitsFor: 'job:load' }, 'it waits for a slot of job load'],
  [{ nextAt: at }, 'its next start is at 9 at the earliest'],
  [{ waiting: 0, closedUntil: at }, 'closed by a handler: it opens at 9'],
])('says it in a table: %j', (more, text) => {
  expect(turnWords({ ...turn, ...more }, () => 'at 9')).toBe(text);
});

it('says that nobody has looked at it yet', () => {
  expect(holdText(null, () => '') ?? turnText(null)).toBe(', which the next tick looks at');
});
