// Chaos: I10 and I22 by what was asked for, in what is written by hand. Each line can fail, and names itself.
import { describe, expect, it } from 'vitest';
import { type Step, written } from '../written-history.js';
import { checkWishes } from './check.js';
import type { Told } from './clients.js';
import { checkFamilies, type Family } from './families.js';

const ends = (id: number, status: string): Step => ['finished', null, { id, status }];
const begins: Step = ['live', { id: 9, status: 'queued' }, { id: 9, status: 'running' }];
const isCancelled: Step = [
  'finished',
  null,
  { id: 9, status: 'cancelled', skip_reason: 'parent wish-2 (run 2) is dead' },
];
const family = (ifParentFails: Family['ifParentFails']): Family => ({
  name: 'run 9 of heir',
  child: 9,
  parents: [1, 2],
  ifParentFails,
});
const check = (policy: Family['ifParentFails'], steps: readonly Step[], continued: readonly number[] = []) =>
  checkFamilies(written(steps), [family(policy)], new Set(continued));

describe('checkFamilies', () => {
  it('accepts what begins after its parents, and what is cancelled with one', () => {
    const well = [ends(1, 'succeeded'), ends(2, 'succeeded'), begins, ends(9, 'succeeded')];
    for (const policy of ['wait', 'cancel', 'run'] as const) expect(check(policy, well).wrong).toEqual([]);
    const badly = [ends(1, 'succeeded'), ends(2, 'dead')];
    expect(check('run', [...badly, begins, ends(9, 'dead')])).toEqual({
      wrong: [],
      counts: { begun: 1, despite: 1, cancelled: 0 },
    });
    expect(check('wait', [...badly, begins, ends(9, 'succeeded')], [9]).wrong).toEqual([]);
    expect(check('cancel', [...badly, isCancelled])).toEqual({
      wrong: [],
      counts: { begun: 0, despite: 0, cancelled: 1 },
    });
  });

  it('asks for no more of the parents once the child has begun', () => {
    const retried: Step[] = [
      ends(1, 'succeeded'),
      ends(2, 'succeeded'),
      begins,
      ends(9, 'dead'),
      ['live', { id: 9, status: 'queued' }, { id: 9, status: 'running' }],
      ends(9, 'succeeded'),
    ];
    expect(check('wait', retried)).toEqual({ wrong: [], counts: { begun: 1, despite: 0, cancelled: 0 } });
  });

  const [first, second, failed] = [ends(1, 'succeeded'), ends(2, 'succeeded'), ends(2, 'dead')];
  it.each<[string, Family['ifParentFails'], readonly Step[], RegExp]>([
    ['begins too soon', 'run', [first, begins, second], /before run 2 had ended/],
    ['begins after a failure', 'wait', [first, failed, begins], /though run 2 is dead/],
    ['is cancelled against its policy', 'wait', [first, failed, isCancelled], /was cancelled: /],
    ['is cancelled for nothing', 'cancel', [first, isCancelled], /its parents have not failed/],
    [
      'is not cancelled',
      'cancel',
      [first, failed, ends(9, 'skipped')],
      /is skipped, and was to be cancelled/,
    ],
  ])('finds a child that %s', (_what, policy, steps, named) => {
    const { wrong } = check(policy, steps);
    expect(wrong).toHaveLength(1);
    expect(wrong[0]).toMatch(/^I22 /);
    expect(wrong[0]).toMatch(named);
  });
});

describe('checkWishes', () => {
  /** Two runs of one statement, and which are there. */
  const wrong = (told: Told, runId: string | null, ...there: readonly string[][]) =>
    checkWishes(
      [0, 1].map(n => {
        const wanted = { n, job: 'plain', key: null, payload: { n, key: 'a' }, queue: null } as const;
        return { wanted, told, runId: n === 0 ? runId : null, older: null, call: 1 };
      }),
      new Map(there.map((ids, n) => [n, ids])),
    );

  it('accepts what was confirmed and is there, what was refused and is not, and either where nobody knows', () => {
    expect(wrong('ok', '7', ['7'], ['8'])).toEqual([]);
    expect(wrong('fail', null)).toEqual([]);
    expect(wrong('unknown', null)).toEqual([]);
    expect(wrong('unknown', null, ['7'], ['8'])).toEqual([]);
  });

  it.each<[string, string[], RegExp]>([
    ['is lost', wrong('ok', '7', [], ['8']), /confirmed as run 7, and is lost/],
    ['is another run', wrong('ok', '7', ['9'], ['8']), /confirmed as run 7, and run 9 is there/],
    ['is there twice', wrong('ok', '7', ['7', '9'], ['8']), /gave 2 runs: 7, 9/],
    ['was refused', wrong('fail', null, ['7']), /was refused, and run 7 is there/],
    ['is there in part', wrong('unknown', null, ['7']), /1 of 2 runs of one statement/],
  ])('finds what %s', (_what, lines, named) => {
    expect(lines.some(line => line.startsWith('I10 ') && named.test(line))).toBe(true);
  });
});
