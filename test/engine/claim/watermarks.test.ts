// Engine: from where claims start, as pure functions of what they were answered.
import { describe, expect, it } from 'vitest';
import { type Sent, Watermarks } from '../../../src/engine/claim/watermarks.js';
import type { Claim, ClaimedLane } from '../../../src/store/runs/claim/claim.js';

const at = (second: number) => new Date(Date.parse('2026-03-02T12:00:00Z') + second * 1000).toISOString();
const A = { queue: 'a', priority: 0 };
const B = { queue: 'b', priority: 0 };

/** A lane that gave its runs up to this second; null: it was not visited. */
const lane = (second: number | null, more: Partial<ClaimedLane> = {}): ClaimedLane => ({
  ...A,
  at: second === null ? null : at(second),
  id: second === null ? null : `${second}`,
  hasMore: false,
  isLimited: false,
  needsAdmission: false,
  ...more,
});
const claimOf = (...lanes: readonly ClaimedLane[]): Claim => ({
  runs: [],
  needsAdmission: [],
  lanes,
  hasMore: lanes.some(each => each.hasMore),
});
const answer = (marks: Watermarks, ...lanes: readonly ClaimedLane[]) =>
  marks.claimed(claimOf(...lanes), marks.everywhere());
const startsOf = (sent: Sent | null) => sent?.watermarks.map(each => `${each.queue} ${each.at} ${each.id}`);
const known = (marks: Watermarks) => marks.known.map(each => each.at);

describe('where a lane has more', () => {
  it('claims continue after the last run, and everywhere too', () => {
    const marks = new Watermarks();
    answer(marks, lane(10, { hasMore: true }));
    expect(startsOf(marks.whereMore())).toEqual([`a ${at(10)} 10`]);
    expect(startsOf(marks.everywhere())).toEqual([`a ${at(10)} 10`]);
    expect(startsOf(marks.in(A))).toEqual([`a ${at(10)} 10`]);
    expect([marks.hasMore, marks.haveFallen]).toEqual([true, false]);
  });

  it('that was not visited, they start where they would have', () => {
    const marks = new Watermarks();
    answer(marks, lane(10));
    answer(marks, lane(null, { hasMore: true }), lane(null, { ...B, hasMore: true }));
    expect(startsOf(marks.whereMore())).toEqual([`a ${at(9)} 0`, 'b -infinity 0']);
    expect(known(marks)).toEqual([at(9)]);
  });

  it('they stay after that run until the lane came up short', () => {
    const marks = new Watermarks();
    answer(marks, lane(10, { hasMore: true }));
    answer(marks, lane(null, { hasMore: true }));
    expect(startsOf(marks.whereMore())).toEqual([`a ${at(10)} 10`]);
    answer(marks);
    expect([marks.whereMore(), marks.hasMore]).toEqual([null, false]);
    expect(startsOf(marks.everywhere())).toEqual([`a ${at(9)} 0`]);
  });

  it('what was served last comes last, and what was not visited first', () => {
    const marks = new Watermarks();
    const names = () => marks.whereMore()?.watermarks.map(each => each.queue);
    const gave = (queue: string) => lane(10, { queue, hasMore: true });
    const waits = (queue: string) => lane(null, { queue, hasMore: true });
    answer(marks, gave('a'), gave('b'), waits('c'), waits('d'));
    expect(names()).toEqual(['c', 'd', 'a', 'b']);
    answer(marks, gave('c'), waits('d'), waits('a'), waits('b'));
    expect(names()).toEqual(['d', 'a', 'b', 'c']);
  });

  it('and some of what it gave needs a slot, only claims everywhere go on', () => {
    const marks = new Watermarks();
    answer(marks, lane(10, { hasMore: true, needsAdmission: true }), lane(10, { ...B, hasMore: true }));
    expect([marks.whereMore(), marks.hasMore]).toEqual([null, true]);
    answer(marks, lane(11, { hasMore: true }), lane(11, { ...B, hasMore: true }));
    expect(marks.whereMore()).not.toBeNull();
  });

  it.each([
    [100, 0, 100],
    [300, 0, 100],
    [60, 60, 100],
    [1600, 9, 200],
  ])('of %d lanes, and %d that are less urgent, %d are asked', (urgent, others, asked) => {
    const marks = new Watermarks();
    const named = (count: number, priority: number) =>
      Array.from({ length: count }, (_, n) => lane(10, { queue: `q${n}`, priority, hasMore: true }));
    answer(marks, ...named(others, 5), ...named(urgent, 0));
    const priorities = marks.whereMore()?.watermarks.map(each => each.priority) ?? [];
    expect(priorities).toHaveLength(asked);
    expect(priorities.filter(priority => priority === 0)).toHaveLength(Math.min(urgent, asked));
  });
});

describe('where a lane came up short', () => {
  it('claims start a second before its last run, and never earlier by themselves', () => {
    const marks = new Watermarks();
    answer(marks, lane(10));
    expect(startsOf(marks.everywhere())).toEqual([`a ${at(9)} 0`]);
    answer(marks, lane(4));
    expect(known(marks)).toEqual([at(9)]);
    answer(marks, lane(12));
    expect(known(marks)).toEqual([at(11)]);
    expect(marks.whereMore()).toBeNull();
  });

  it.each(['-infinity', '0001-01-01T00:00:00Z', 'a date of another style'])(
    'after a run that was due at %s they start where they did',
    due => {
      const marks = new Watermarks();
      answer(marks, lane(10, { at: due }));
      expect(startsOf(marks.in(A))).toEqual(['a -infinity 0']);
      answer(marks, lane(10));
      answer(marks, lane(11, { at: due }));
      expect(known(marks)).toEqual([at(9)]);
    },
  );

  it('a tick starts at the beginning, as it ends when nothing is left', () => {
    const marks = new Watermarks(false);
    answer(marks, lane(10, { hasMore: true }));
    expect(startsOf(marks.everywhere())).toEqual([`a ${at(10)} 10`]);
    answer(marks, lane(11));
    expect([startsOf(marks.everywhere()), marks.known]).toEqual([[], []]);
  });
});

it('a queue with a limit has none: its runs start when it lets them', () => {
  const marks = new Watermarks();
  answer(marks, lane(10, { hasMore: true }));
  answer(marks, lane(10, { isLimited: true, hasMore: true }));
  expect([marks.whereMore(), marks.known]).toEqual([null, []]);
});

it('of more than a thousand lanes, those that have no more are forgotten', () => {
  const marks = new Watermarks();
  const many = (hasMore: boolean) =>
    Array.from({ length: 600 }, (_, n) => lane(10, { queue: `${hasMore} ${n}`, hasMore }));
  answer(marks, ...many(true));
  answer(marks, ...many(false), ...many(true));
  expect(marks.known).toHaveLength(600);
});

describe('runs that have become claimable below', () => {
  it('lower the watermark, for another claim everywhere', () => {
    const marks = new Watermarks();
    answer(marks, lane(10, { hasMore: true }), lane(10, B));
    marks.lower([
      { ...A, at: at(5) },
      { ...B, at: at(5) },
    ]);
    expect(marks.haveFallen).toBe(true);
    const before5 = new Date(Date.parse(at(5)) - 1).toISOString();
    expect(startsOf(marks.everywhere())?.toSorted()).toEqual([`a ${before5} 0`, `b ${before5} 0`]);
    expect(marks.haveFallen).toBe(false);
  });

  it('above it, or in a lane that has none, lower nothing', () => {
    const marks = new Watermarks();
    answer(marks, lane(10));
    marks.lower([
      { ...A, at: at(10) },
      { ...B, at: at(1) },
    ]);
    expect([known(marks), marks.haveFallen]).toEqual([[at(9)], false]);
  });

  it('at the same instant as the last run lower it, as ids may lie on either side', () => {
    const marks = new Watermarks();
    answer(marks, lane(10, { hasMore: true }));
    marks.lower([{ ...A, at: at(10) }]);
    expect(marks.haveFallen).toBe(true);
  });

  it('are not passed over by a claim that was sent before: its answer moves nothing there', () => {
    const marks = new Watermarks();
    answer(marks, lane(10), lane(10, B));
    const sent = marks.everywhere();
    marks.lower([{ ...A, at: at(5) }]);
    marks.claimed(claimOf(lane(20), lane(20, B)), sent);
    expect(known(marks)[1]).toBe(at(19));
    expect(Date.parse(known(marks)[0] ?? '')).toBe(Date.parse(at(5)) - 1);
    expect(marks.haveFallen).toBe(true);
  });

  it.each([
    ['in a lane that has no watermark yet', B, at(1)],
    ['above that of their lane', A, at(12)],
  ])('%s are not passed over by a claim that was sent before', (_where, where, when) => {
    const marks = new Watermarks();
    answer(marks, lane(10));
    const before = known(marks);
    const sent = marks.everywhere();
    marks.lower([{ ...where, at: when }]);
    // So far nothing is missed.
    expect(marks.haveFallen).toBe(false);
    marks.claimed(claimOf(lane(20, where)), sent);
    expect(known(marks)).toEqual(before);
    expect(marks.haveFallen).toBe(true);
    answer(marks, lane(21, where));
    expect(known(marks)).toContain(at(20));
    expect(marks.haveFallen).toBe(false);
  });

  it('in a lane whose watermark is forgotten, since there are too many, are not passed over either', () => {
    const marks = new Watermarks();
    const sent = marks.everywhere();
    marks.lower([{ ...A, at: at(5) }]);
    const others = Array.from({ length: 1001 }, (_, n) => lane(10, { queue: `other ${n}` }));
    answer(marks, ...others);
    marks.claimed(claimOf(lane(20)), sent);
    expect(known(marks)).toEqual([]);
  });

  it('are found by a complete claim, which starts nowhere and leaves the marks where they are', () => {
    const marks = new Watermarks();
    answer(marks, lane(10), lane(10, B));
    const before = known(marks);
    const sent = marks.everywhere(true);
    expect([startsOf(sent), sent.lanes.length]).toEqual([[], 2]);
    marks.claimed(claimOf(lane(5)), sent);
    expect([known(marks), marks.haveFallen]).toEqual([before, false]);
    // While a lane has more of what lies below, claims go on there.
    marks.claimed(claimOf(lane(5, { hasMore: true })), marks.everywhere(true));
    expect([known(marks), marks.hasMore]).toEqual([expect.arrayContaining([at(5)]), true]);
    marks.claimed(claimOf(), marks.everywhere());
    expect([known(marks), marks.hasMore]).toEqual([before, false]);
  });
});
