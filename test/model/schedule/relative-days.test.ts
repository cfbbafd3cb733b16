// Days that depend on the month, against a plain loop over the days of years, which shares no code.
import { Cron } from 'croner';
import { describe, expect, it } from 'vitest';
import { occurrencesBetween } from '../../../src/model/schedule/occurrences.js';

const DAY = 86_400_000;
const [FROM, TO] = [Date.UTC(2000, 0, 1), Date.UTC(2028, 0, 1)];

const isWeekend = (time: number): boolean => [0, 6].includes(new Date(time).getUTCDay());
const monthOf = (time: number): string => new Date(time).toISOString().slice(0, 7);

/** The nearest day from Monday to Friday in the same month, by trying one day further at a time. */
function nearestWeekday(time: number): number {
  for (let distance = 0; ; distance++)
    for (const near of [time - distance * DAY, time + distance * DAY])
      if (!isWeekend(near) && monthOf(near) === monthOf(time)) return near;
}

/** The days that entries mean: `L`, `L-n`, `nW`, `LW`, `L-nW`, `n`. */
function expectedDays(entries: readonly string[]): string[] {
  const found = new Set<number>();
  for (let time = FROM; time < TO; time += DAY) {
    const date = new Date(time);
    const fromEnd = new Date(Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + 1, 0)).getUTCDate();
    for (const entry of entries) {
      const base = entry.replace('W', '');
      const day = base.startsWith('L') ? fromEnd - Number(base.slice(2)) : Number(base);
      if (date.getUTCDate() === day) found.add(entry.endsWith('W') ? nearestWeekday(time) : time);
    }
  }
  return [...found].sort((a, b) => a - b).map(time => new Date(time).toISOString().slice(0, 10));
}

const daysOf = (field: string): string[] =>
  occurrencesBetween({ cron: `0 0 ${field} * *` }, new Date(FROM), new Date(TO)).map(each =>
    each.toISOString().slice(0, 10),
  );

describe('days that depend on the month', () => {
  const dates = Array.from({ length: 31 }, (_, index) => `${index + 1}W`);
  const back = Array.from({ length: 30 }, (_, index) => `L-${index + 1}`);

  it('are those of the oracle, over 28 years', () => {
    for (const entry of ['L', 'LW', ...dates, ...back, ...back.map(each => `${each}W`)])
      expect(daysOf(entry), entry).toEqual(expectedDays([entry]));
  });

  it('may stand in lists, with each other and with dates', () => {
    for (const field of ['1W,15W,LW', 'L-3,L', '10,12W,L-1', '1W,1,2,3'])
      expect(daysOf(field), field).toEqual(expectedDays(field.split(',')));
  });

  it('are those of croner, where that knows them', { tags: 'check' }, () => {
    for (const entry of ['LW', ...dates]) {
      const theirs = new Cron(`0 0 ${entry} * *`, { timezone: 'UTC' }).nextRuns(60, new Date(FROM - 1000));
      expect(daysOf(entry).slice(0, 60), entry).toEqual(theirs.map(each => each.toISOString().slice(0, 10)));
    }
  });

  it('are met together with a weekday by the rule of the other dates', () => {
    const of2026 = (cron: string) =>
      occurrencesBetween({ cron }, new Date('2026-01-01T00:00Z'), new Date('2026-04-01T00:00Z')).map(each =>
        each.toISOString().slice(5, 10),
      );
    expect(of2026('0 0 15w * *')).toEqual(['01-15', '02-16', '03-16']);
    // Both fields are restricted: either of them; one begins with a star: both.
    expect(of2026('0 0 1W 3 mon')).toEqual(['03-02', '03-09', '03-16', '03-23', '03-30']);
    expect(of2026('0 0 1W * */2')).toEqual(['01-01']);
    expect(of2026('0 0 L-3 * *')).toEqual(['01-28', '02-25', '03-28']);
  });
});
