// Chaos: I23 and I24 in histories written by hand. They can fail, and name the key.
import { describe, expect, it } from 'vitest';
import { checkFair } from './history-fair.js';
import { instant, type Step, written } from './written-history.js';

const AT = (ms: number) => instant(ms / 1000);
const RATES = [{ prefix: '~q/fair/', stepMs: 200, burst: 3 }];
const start = (id: number, at: number, key = '~q/fair/a'): Step => [
  'live',
  { id, status: 'queued', fence: 0 },
  { id, status: 'running', fence: 1, started_at: AT(at), slot_keys: [key] },
];
const key = (until: number | null, name = '~q/fair/a'): Step => [
  'fairKey',
  null,
  { name, closed_until: until === null ? null : AT(until) },
];
const check = (...steps: readonly Step[]) => checkFair(written(steps), RATES);

describe('checkFair', () => {
  it('accepts what is saved up, and one more for each step', () => {
    const found = check(
      start(1, 0),
      start(2, 0),
      start(3, 0),
      start(4, 200),
      start(5, 400),
      start(6, 2000),
      start(7, 2000),
    );
    expect(found).toEqual({ wrong: [], starts: 7, closings: 0 });
  });

  it('finds one start too many, and none under another key', () => {
    const found = check(start(1, 0), start(2, 0), start(3, 0), start(4, 100), start(5, 100, '~q/fair/b'));
    expect(found.wrong).toEqual(['I23 key ~q/fair/a starts a run 100 ms too soon (run 4, event 4 by a)']);
  });

  it('finds a start while the key is closed, and none after that', () => {
    expect(
      check(key(1000), start(1, 1000), start(2, 1000, '~q/fair/b'), key(null), start(3, 1500)).wrong,
    ).toEqual([]);
    expect(check(key(1000), start(1, 400))).toEqual({
      wrong: ['I24 key ~q/fair/a starts a run 600 ms before it opens (run 1, event 2 by a)'],
      starts: 1,
      closings: 1,
    });
  });
});
