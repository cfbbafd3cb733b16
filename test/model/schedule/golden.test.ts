import { describe, expect, it } from 'vitest';
import { compileSchedule } from '../../../src/model/schedule/compile.js';
import { GOLDEN } from './golden.js';

const MODES = ['once', 'skip', 'literal'] as const;

describe('the golden cases', () => {
  for (const golden of GOLDEN) {
    for (const dst of MODES) {
      const { cron, timezone } = golden;
      const expected = golden[dst].map(text => Date.parse(text));
      const [from, to] = [Date.parse(golden.from), Date.parse(golden.to)];

      it(`${cron} in ${timezone} from ${golden.from}, ${dst}: next lists them in order`, () => {
        const { next } = compileSchedule({ cron, timezone, dst });
        const found: number[] = [];
        for (let at = next(from - 1); at !== null && at < to; at = next(at)) found.push(at);
        expect(found).toEqual(expected);
      });

      it(`${cron} in ${timezone} from ${golden.from}, ${dst}: previous lists them backwards`, () => {
        const { previous } = compileSchedule({ cron, timezone, dst });
        const found: number[] = [];
        for (let at = previous(to); at !== null && at >= from; at = previous(at)) found.unshift(at);
        expect(found).toEqual(expected);
      });
    }
  }

  it('are complete, and distinguish the three ways', () => {
    expect(GOLDEN).toHaveLength(18);
    expect(GOLDEN.some(each => each.once.length !== each.skip.length)).toBe(true);
    expect(GOLDEN.some(each => each.skip.length !== each.literal.length)).toBe(true);
  });
});
