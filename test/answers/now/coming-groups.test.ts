// The lines of "coming up": many definitions of one job that are due together are one.
import { describe, expect, it } from 'vitest';
import { comingGroups } from '../../../src/answers/now/coming-groups.js';

const at = (minute: number) => new Date(Date.UTC(2026, 0, 14, 9, minute));
const due = (name: string, job: string, minute: number) => ({ name, job, nextAt: at(minute) });

describe('the next occurrences', () => {
  it('of one job at one instant are one line, in the order in which they come', () => {
    const groups = comingGroups([due('a', 'x', 1), due('b', 'y', 1), due('c', 'x', 1), due('d', 'x', 2)], 10);
    expect(groups.map(({ at: when, first, count }) => [when, first.name, count])).toEqual([
      [at(1), 'a', 2],
      [at(1), 'b', 1],
      [at(2), 'd', 1],
    ]);
  });

  it('are no more lines than asked for, whose counts are whole', () => {
    const groups = comingGroups([due('a', 'x', 1), due('b', 'y', 1), due('c', 'x', 1)], 1);
    expect(groups).toEqual([{ at: at(1), first: due('a', 'x', 1), count: 2 }]);
  });
});
