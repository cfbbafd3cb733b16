// What people read of a run that waits for others.
import { describe, expect, it } from 'vitest';
import {
  type AwaitedRuns,
  currentWait,
  type RunWait,
  remedyOf,
  waitWords,
} from '../../../src/model/run/run-wait.js';

const wait = (runs: Partial<AwaitedRuns>, more: Partial<RunWait> = {}): RunWait => ({
  kind: 'group',
  name: '',
  key: '',
  since: new Date(0),
  until: null,
  reason: null,
  outcome: null,
  endedAt: null,
  needsSuccess: true,
  runs: { count: 3, left: 0, failed: 0, next: [], names: null, ...runs },
  ...more,
});

it.each<[string, Partial<AwaitedRuns>]>([
  ['a parent: fetch (run 41)', { count: 1, left: 1, next: ['41'], names: ['fetch'] }],
  ['3 parents: a (run 1), b (run 2), run 3', { left: 3, next: ['1', '2', '3'], names: ['a', 'b', '3'] }],
  ['1 of 3 parents: b (run 2)', { left: 1, next: ['2'], names: ['b'] }],
  [
    '2 of 3 parents: b (run 2); did not succeed: a (run 1)',
    { left: 1, failed: 1, next: ['2', '1'], names: ['b', 'a'] },
  ],
  ['1 of 3 parents, which did not succeed: a (run 1)', { failed: 1, next: ['1'], names: ['a'] }],
  ['3 parents', { next: [], names: [] }],
  [
    '8 of 9 parents: n1 (run 1), n2 (run 2), …; 1 did not succeed',
    { count: 9, left: 7, failed: 1, next: ['1', '2'], names: ['n1', 'n2'] },
  ],
])('the words of a wait for parents %s', (words, runs) => {
  expect(waitWords(wait(runs))).toBe(words);
});

it.each([
  ['snooze', 5000, true],
  ['snooze', 0, false],
  ['sleep', 5000, true],
  ['sleep', 0, true],
] as const)('a %s lasts until its time, of a run that is due in %i ms: %s', (kind, dueIn, isCurrent) => {
  const lasting = wait({}, { kind, until: new Date(9000) });
  const waiting = { status: 'queued', runAt: new Date(1000 + dueIn), waits: [lasting] } as const;
  expect(currentWait(waiting, new Date(1000))).toBe(isCurrent ? lasting : undefined);
});

describe('what lets it go on', () => {
  const failed = { failed: 1, next: ['41'], names: ['fetch'] };

  it('is the success of what did not succeed, or an operator', () => {
    const text = `tock retry 41; or tock.continueGroup('43'), by which it runs without their success`;
    expect(remedyOf('queued', wait(failed), '43')).toBe(text);
    expect(remedyOf('queued', wait({ ...failed, names: null }), '43')).toBe(text);
    expect(remedyOf('queued', wait({ left: 5, failed: 1, next: ['1', '2', '3', '4', '5'] }), '43')).toMatch(
      /^a retry of what did not succeed; or/,
    );
  });

  it('is a retry of both where it was cancelled for its parent', () => {
    expect(remedyOf('cancelled', wait(failed), '43')).toBe('tock retry 41 43');
    expect(remedyOf('cancelled', wait({ ...failed, names: null }), '43')).toBeNull();
  });

  it('is nothing where nothing has failed, or all have only to end', () => {
    expect(remedyOf('queued', wait({ left: 1, next: ['41'] }), '43')).toBeNull();
    expect(remedyOf('queued', wait(failed, { needsSuccess: false }), '43')).toBeNull();
    expect(remedyOf('queued', wait(failed, { kind: 'runs' }), '43')).toBeNull();
    expect(remedyOf('queued', wait(failed, { outcome: 'ended' }), '43')).toBeNull();
    expect(remedyOf('dead', wait(failed), '43')).toBeNull();
    expect(remedyOf('queued', undefined, '43')).toBeNull();
  });
});
