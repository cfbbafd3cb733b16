// Model: what a queue does at a moment.
import { describe, expect, it } from 'vitest';
import { parseDuration } from '../../../src/model/duration.js';
import {
  type ObservedQueue,
  parseRate,
  queueState,
  rateText,
} from '../../../src/model/explain/queue-state.js';

const NOON = new Date('2026-03-08T12:00:00Z');
const free: ObservedQueue = {
  concurrency: null,
  rate: null,
  window: null,
  timezone: 'UTC',
  pausedAt: null,
  closedUntil: null,
  held: 0,
  waiting: 3,
  blocked: 0,
  oldestAt: NOON,
  claimers: 1,
  rateNextAt: null,
};
const morning = new Date('2026-03-08T08:00:00Z');
const night = { window: '23:00-06:00', timezone: 'Europe/Berlin' };

it.each<[string, Partial<ObservedQueue>, string, string | null]>([
  ['without limits', {}, 'open', null],
  ['with free slots', { concurrency: 3, held: 2 }, 'open', null],
  ['without a free slot', { concurrency: 3, held: 3 }, 'full', null],
  ['after its limit was lowered', { concurrency: 1, held: 3 }, 'full', null],
  ['with a concurrency of 0', { concurrency: 0 }, 'shut', null],
  ['outside of its window', night, 'closed', '2026-03-08T22:00:00.000Z'],
  ['inside its window', { window: '09:00-17:00' }, 'open', null],
  ['that is paused, whatever else', { ...night, concurrency: 0, pausedAt: NOON }, 'paused', null],
  [
    'outside of its window and full',
    { ...night, concurrency: 1, held: 1 },
    'closed',
    '2026-03-08T22:00:00.000Z',
  ],
  [
    'whose rate lets none start yet',
    { rate: { count: 1, perMs: 60_000 }, rateNextAt: new Date('2026-03-08T12:00:30Z') },
    'held-back',
    '2026-03-08T12:00:30.000Z',
  ],
  [
    'whose rate has nothing to hold back',
    { rate: { count: 1, perMs: 60_000 }, rateNextAt: new Date('2026-03-08T12:00:30Z'), waiting: 0 },
    'open',
    null,
  ],
  ['whose oldest run has waited for hours', { oldestAt: morning }, 'behind', null],
  ['from which no worker claims', { oldestAt: morning, claimers: 0 }, 'unserved', null],
  ['between two ticks of cron', { claimers: 0 }, 'open', null],
  ['whose runs all wait for other limits', { waiting: 0, oldestAt: null, blocked: 5000 }, 'blocked', null],
  ['that is full and late', { concurrency: 1, held: 1, oldestAt: morning }, 'full', null],
  ['with a zone that is not known here', { window: '01:00-02:00', timezone: 'Mars/Phobos' }, 'open', null],
])('queueState says of a queue %s: %j is %s', (_what, queue, state, until) => {
  const verdict = queueState({ ...free, ...queue }, NOON);
  expect(verdict).toEqual({ state, until: until === null ? null : new Date(until) });
});

it('rateText writes a rate as it is typed', () => {
  expect(rateText({ count: 100, perMs: 60_000 })).toBe('100/1m');
  expect(rateText({ count: 5, perMs: 90_000 })).toBe('5/1m30s');
  expect(rateText({ count: 5, perMs: 90_061_001 })).toBe('5/1d1h1m1s1ms');
  expect(rateText(null)).toBe('');
});

describe('parseRate', () => {
  it.each(['100/1m', '5/1d1h1m1s1ms', '1/30s'])('reads %s as it is written', text => {
    const { count, per } = parseRate(text);
    expect(rateText({ count, perMs: parseDuration(per) })).toBe(text);
  });

  it('allows spaces and words', () => {
    expect(parseRate(' 100 per 1m ')).toEqual({ count: 100, per: '1m' });
  });

  it.each([
    ['', 'TOCK_BAD_OPTION'],
    ['100', 'TOCK_BAD_OPTION'],
    ['-1/1m', 'TOCK_BAD_OPTION'],
    ['1e30/1m', 'TOCK_BAD_OPTION'],
    ['100/soon', 'TOCK_BAD_DURATION'],
  ])('refuses %j', (text, code) => {
    expect(() => parseRate(text)).toThrow(expect.objectContaining({ code }));
  });
});
