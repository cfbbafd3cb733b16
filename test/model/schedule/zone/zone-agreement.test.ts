import { describe, expect, it } from 'vitest';
import { zoneDifferences } from '../../../../src/model/schedule/zone/zone-agreement.js';

const DAY = 86_400;
const START = Date.UTC(2026, 2, 1) / 1000;
const WINTER = 3600;
const SUMMER = 7200;
/** Berlin's offsets for the days of March and April 2026: summer time begins on the 29th of March. */
const berlin = (firstSummerDay: number) =>
  Array.from({ length: 61 }, (_, day) => (day < firstSummerDay ? WINTER : SUMMER));
const dayOf = (seconds: number) => new Date(seconds * 1000).toISOString().slice(0, 10);

describe('zoneDifferences', () => {
  it('finds none if both agree', () => {
    // Probed at midnight UTC: the change at 01:00 is seen the day after.
    expect(zoneDifferences('Europe/Berlin', START, DAY, berlin(29))).toEqual([]);
    expect(zoneDifferences('UTC', START, DAY, [0, 0, 0])).toEqual([]);
  });

  it('finds the span between two beginnings of summer time', () => {
    const found = zoneDifferences('Europe/Berlin', START, DAY, berlin(20));
    expect(found).toEqual([
      {
        timezone: 'Europe/Berlin',
        from: START + 20 * DAY,
        to: START + 29 * DAY,
        here: WINTER,
        there: SUMMER,
      },
    ]);
    expect([dayOf(found[0]?.from ?? 0), dayOf(found[0]?.to ?? 0)]).toEqual(['2026-03-21', '2026-03-30']);
  });

  it('separates spans with different offsets, or with a gap between them', () => {
    const found = zoneDifferences('Europe/Berlin', START, DAY, [0, 0, WINTER, 0, 60]);
    expect(found.map(({ from, to, there }) => [(from - START) / DAY, (to - START) / DAY, there])).toEqual([
      [0, 2, 0],
      [3, 4, 0],
      [4, 5, 60],
    ]);
  });
});
