// The spans of a backfill of what was missed.
import { describe, expect, it } from 'vitest';
import { countIn, joinSpans, spansBetween } from '../../../src/model/occurrences/missed.js';
import { compileSchedule } from '../../../src/model/schedule/compile.js';

const hourly = compileSchedule({ cron: '0 * * * *' });
const at = (hour: number) => Date.UTC(2026, 2, 10, hour);
const span = (from: number, to: number) => ({ from: at(from), to: at(to) + 1000 });

describe('the spans of what was missed', () => {
  it('are without what an operator has skipped or moved', () => {
    expect(spansBetween(at(3), at(6), [])).toEqual([span(3, 6)]);
    expect(spansBetween(at(3), at(6), [at(3), at(5), at(6)])).toEqual([
      { from: at(3) + 1000, to: at(5) },
      { from: at(5) + 1000, to: at(6) },
    ]);
    expect(spansBetween(at(3), at(3), [at(3)])).toEqual([]);
  });

  it('become one where no occurrence is between them', () => {
    const singles = [span(3, 3), span(4, 4), span(6, 6), span(7, 9), span(8, 8)];
    expect(joinSpans(hourly, singles)).toEqual([span(3, 4), span(6, 9)]);
  });

  it('are counted up to a bound', () => {
    expect(countIn(hourly, [span(3, 4), span(6, 9)], 100)).toBe(6);
    expect(countIn(hourly, [span(3, 4), span(6, 9)], 5)).toBe(5);
  });
});
