// From where claims begin, once walks over what has ended are slow.
import { describe, expect, it } from 'vitest';
import { type ClaimFloors, createClaimFloors } from '../../../src/engine/claim/claim-floors.js';
import type { Claim, ClaimPosition } from '../../../src/store/runs/claim/claim.js';
import type { ClaimFloor } from '../../../src/store/runs/claim/queue-priorities.js';

const PLACE = { queue: 'default', priority: 0 };
const position = (more: Partial<ClaimPosition> = {}): ClaimPosition => ({
  ...PLACE,
  at: '2026-03-01T12:00:10.000007+00:00',
  id: '7',
  hasMore: false,
  isLimited: false,
  needSlots: 'none',
  ...more,
});
const claim = (walkMs: number | null, ...positions: ClaimPosition[]): Claim => ({
  runs: [],
  limited: [],
  positions,
  hasMore: false,
  walkMs,
});
const later = (second: number) => position({ at: `2026-03-01T12:00:${second}+00:00` });
/** Where a run has become claimable. */
const at = (time: string, more: Partial<ClaimFloor> = {}): ClaimFloor => ({ ...PLACE, at: time, ...more });
const FLOOR = { ...PLACE, at: '2026-03-01T12:00:09.000Z' };
const NOTHING = { hasRuns: false, walkMs: 30 };

/** A claim everywhere that took this long, and ended there. */
const claimed = (floors: ClaimFloors, walkMs: number, ...positions: ClaimPosition[]) =>
  floors.claimed(claim(walkMs, ...(positions.length === 0 ? [position()] : positions)), floors.begin());

/** After three slow claims from the beginning. */
function slow(...positions: ClaimPosition[]): ClaimFloors {
  const floors = createClaimFloors();
  for (let n = 0; n < 3; n++) claimed(floors, 2.1, ...positions);
  return floors;
}

describe('createClaimFloors', () => {
  it('uses none while a walk from the beginning is cheap', () => {
    const floors = createClaimFloors();
    for (const walkMs of [50, 50, 2, 50, 50]) claimed(floors, walkMs);
    expect([floors.used, floors.begin().floors, floors.beginIn(PLACE).floors]).toEqual([[], [], []]);
  });

  it('begins a second before the last run that was taken, once three walks in a row were slow', () => {
    const floors = slow();
    expect([floors.used, floors.begin().floors, floors.beginIn(PLACE).floors]).toEqual([
      [FLOOR],
      [FLOOR],
      [FLOOR],
    ]);
    expect(floors.beginIn({ ...PLACE, priority: 1 }).floors).toEqual([]);
    expect(floors.beginIn({ ...PLACE, queue: 'mail' }).floors).toEqual([]);
    expect(floors.goOn().floors).toEqual([]);
  });

  it('takes no claim for slow because it took many runs', () => {
    const floors = createClaimFloors();
    const many = { runs: Array.from({ length: 2000 }, () => ({}) as never), positions: [position()] };
    for (let n = 0; n < 5; n++) floors.claimed({ ...claim(11), ...many }, floors.begin());
    expect(floors.used).toEqual([]);
    for (let n = 0; n < 3; n++) floors.claimed({ ...claim(13), ...many }, floors.begin());
    expect(floors.used).toEqual([FLOOR]);
  });

  it('rises with each claim, wherever that began, and never falls', () => {
    const floors = slow();
    claimed(floors, 0.1, later(20));
    expect(floors.used).toEqual([{ ...PLACE, at: '2026-03-01T12:00:19.000Z' }]);
    floors.claimed(claim(null, later(30)), floors.goOn());
    floors.claimed(claim(0.1, later(31)), floors.beginIn(PLACE));
    expect(floors.used).toEqual([{ ...PLACE, at: '2026-03-01T12:00:30.000Z' }]);
    claimed(floors, 0.1, position({ at: '2026-03-01T11:00:00+00:00' }));
    claimed(floors, 0.1, position({ at: null, id: null }));
    expect(floors.used).toEqual([{ ...PLACE, at: '2026-03-01T12:00:30.000Z' }]);
  });

  it('has none in a queue with a limit, where it took nothing, or for a time that is no date', () => {
    const floors = slow(
      position({ queue: 'limited', isLimited: true }),
      position({ queue: 'empty', at: null, id: null }),
      position({ queue: 'ever', at: '-infinity' }),
      position(),
    );
    expect(floors.used).toEqual([FLOOR]);
    claimed(floors, 3, position({ isLimited: true }));
    expect(floors.used).toEqual([]);
  });

  it('starts anew where there are too many', () => {
    const floors = slow(...Array.from({ length: 100 }, (_, priority) => position({ priority })));
    expect(floors.used).toHaveLength(100);
    claimed(floors, 3, position({ priority: 100 }));
    expect(floors.used).toEqual([]);
    claimed(floors, 3);
    expect(floors.used).toEqual([FLOOR]);
  });

  it('pauses between looks for sixty times as long as one takes: half a second to five, or ten times as long', () => {
    const floors = slow();
    expect(floors.pauseMs).toBe(500);
    const pauses = [5, 20, 100, 500, 700].map(tookMs => {
      floors.lookedBelow(NOTHING, 1000, 1000 + tookMs);
      return floors.pauseMs;
    });
    expect(pauses).toEqual([500, 1200, 5000, 5000, 7000]);
  });

  it('must begin at the beginning after a look has found runs below, once, and has floors again from there', () => {
    const floors = slow();
    floors.lookedBelow({ hasRuns: true, walkMs: 0.1 }, 0, 30);
    expect([floors.mustBegin, floors.used, floors.beginIn(PLACE).floors]).toEqual([true, [], []]);
    // Where claims continue, or in one place, they do not look everywhere.
    floors.goOn();
    expect(floors.mustBegin).toBe(true);
    const from = floors.begin();
    expect([from.floors, floors.mustBegin]).toEqual([[], false]);
    floors.claimed(claim(30, position()), from);
    expect([floors.used, floors.mustBegin]).toEqual([[FLOOR], false]);
  });

  it.each([
    ['everywhere', (floors: ClaimFloors) => floors.begin()],
    ['in a place', (floors: ClaimFloors) => floors.beginIn(PLACE)],
    ['that continued', (floors: ClaimFloors) => floors.goOn()],
  ])('has no floor of a claim %s that was sent before they were forgotten', (_what, begin) => {
    const floors = slow();
    const from = begin(floors);
    floors.forget();
    expect(floors.mustBegin).toBe(true);
    floors.claimed(claim(0.1, later(20)), from);
    expect([floors.mustBegin, floors.used]).toEqual([true, []]);
    floors.begin();
    expect(floors.used).toEqual([]);
  });

  it('begins no later than where runs have become claimable, until a later run is taken there', () => {
    const floors = slow();
    expect(floors.mustBegin).toBe(false);
    floors.lower([at('2026-03-01T11:00:00.000007+00:00')]);
    floors.lower([at('2026-03-01T11:30:00+00:00'), at('2026-03-01T12:00:40+00:00', { priority: 1 })]);
    const lowered = [{ ...PLACE, at: '2026-03-01T10:59:59.999Z' }];
    expect([floors.mustBegin, floors.used, floors.beginIn(PLACE).floors]).toEqual([true, lowered, lowered]);
    expect(floors.begin().floors).toEqual(lowered);
    // That claim failed, or came to nothing there.
    expect([floors.mustBegin, floors.used]).toEqual([false, lowered]);
    claimed(floors, 30, later(30));
    expect(floors.used).toEqual([{ ...PLACE, at: '2026-03-01T12:00:29.000Z' }]);
  });

  it.each(['goOn', 'begin'] as const)(
    'is not raised by a claim that was sent before runs became claimable: %s',
    sent => {
      const floors = slow();
      const underWay = floors[sent]();
      floors.lower([at('2026-03-01T11:00:00+00:00'), at('2026-03-01T12:00:05+00:00', { priority: 1 })]);
      // Nor is a floor made by one that goes on, and has not looked since.
      const goesOn = floors.goOn();
      for (const from of [underWay, goesOn])
        floors.claimed(claim(null, later(30), position({ ...later(30), priority: 1 })), from);
      expect(floors.used).toEqual([{ ...PLACE, at: '2026-03-01T10:59:59.999Z' }]);
      floors.begin();
      floors.claimed(claim(null, later(30)), floors.goOn());
      expect(floors.used).toEqual([{ ...PLACE, at: '2026-03-01T12:00:29.000Z' }]);
    },
  );

  it('stays where what has become claimable lies above, and while walks are fast', () => {
    const floors = slow();
    floors.lower([at('2026-03-01T12:00:10+00:00')]);
    floors.lower([]);
    expect([floors.mustBegin, floors.used]).toEqual([false, [FLOOR]]);
    const fast = createClaimFloors();
    claimed(fast, 50);
    fast.lower([at('2026-03-01T11:00:00+00:00')]);
    expect([fast.mustBegin, fast.used]).toEqual([false, []]);
  });

  it.each([
    ['the first year', '0001-01-01T00:00:00+00:00'],
    ['a time that is no date here, as offsets with seconds make', '1880-01-01T00:53:28+00:53:28'],
  ])('must begin at the beginning where runs of %s have become claimable', (_what, time) => {
    const floors = slow();
    floors.lower([at(time)]);
    expect([floors.mustBegin, floors.used, floors.begin().floors]).toEqual([true, [], []]);
    floors.claimed(claim(30, position({ at: time })), floors.begin());
    expect(floors.used).toEqual([]);
  });

  it('need not begin at the beginning where it does so anyway', () => {
    const floors = createClaimFloors();
    floors.forget();
    expect(floors.mustBegin).toBe(false);
  });

  it('ends when looking below is cheap again, or a walk from the beginning', () => {
    const looked = slow();
    looked.lookedBelow({ hasRuns: false, walkMs: 2 }, 0, 40);
    claimed(looked, 1);
    expect(looked.used).toEqual([]);
    const walked = slow();
    walked.forget();
    claimed(walked, 1);
    expect(walked.used).toEqual([]);
  });

  it('does not end because a claim was fast in a place that has none', () => {
    const floors = slow();
    floors.claimed(claim(0.1), floors.beginIn({ ...PLACE, queue: 'other' }));
    expect(floors.used).toEqual([FLOOR]);
  });

  it('says when a claim leaves floors in use', () => {
    let uses = 0;
    const floors = createClaimFloors(true, () => uses++);
    for (let n = 0; n < 2; n++) claimed(floors, 3);
    expect(uses).toBe(0);
    claimed(floors, 3);
    floors.claimed(claim(0.1, later(20)), floors.beginIn(PLACE));
    expect(uses).toBe(2);
    floors.forget();
    floors.claimed(claim(null, later(20)), floors.goOn());
    expect(uses).toBe(2);
  });

  it('keeps none for a tick', () => {
    const floors = createClaimFloors(false);
    for (let n = 0; n < 5; n++) claimed(floors, 50);
    floors.forget();
    expect([floors.used, floors.mustBegin]).toEqual([[], false]);
  });
});
