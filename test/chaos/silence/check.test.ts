// Chaos: the judge of silence, in histories written by hand. It finds what is passed over, and accuses nobody wrongly.
import { describe, expect, it } from 'vitest';
import { type Asker, type Change, judge, type QueueRow, type RunRow, readQuestions } from './check.js';

/** Transactions are numbered by their seconds, so that what is written in a second is seen from the next one on. */
const seenBefore = (second: number) => ({
  xmin: BigInt(second),
  xmax: BigInt(second),
  underWay: new Set<bigint>(),
});
const asker = (...seconds: readonly number[]): Asker => ({
  app: 'daemon',
  id: 'worker',
  concurrency: 2,
  jobs: ['known'],
  questions: seconds.map(second => ({ at: second * 1000, snapshot: seenBefore(second), isPartial: false })),
  endedAt: null,
});
const made = (second: number, app: string) => ({ xid: BigInt(second), at: second * 1000, app });
const run = (
  second: number,
  more: Partial<RunRow> | null = {},
  { id = '1', app = 'client' } = {},
): Change => ({
  ...made(second, app),
  place: 'run',
  id,
  row: more && {
    job: 'known',
    queue: 'q',
    status: 'queued',
    blockedOn: null,
    runAt: 0,
    lockedBy: null,
    ...more,
  },
});
const queue = (second: number, more: Partial<QueueRow>): Change => ({
  ...made(second, 'client'),
  place: 'queue',
  id: 'q',
  row: { isPaused: false, concurrency: null, ...more },
});
const slot = (second: number, isHeld: boolean, number = 1): Change => ({
  ...made(second, 'daemon'),
  place: 'slot',
  id: `queue:q ${number}`,
  row: isHeld ? { key: 'queue:q' } : null,
});
const claimed = { status: 'running', lockedBy: 'worker' };
const wrongIn = (changes: readonly Change[], by = asker(5, 10, 15)) => judge(changes, [by], 0).wrong;
const PASSED = ['run 1 of known in q (queued) is passed over by daemon, which has room'];

describe('judge finds', () => {
  it('a run that waits through two questions', () => {
    expect(wrongIn([run(1)])).toEqual(PASSED);
    expect(judge([run(1)], [asker(5, 10)], 0)).toMatchObject({ wrong: [], chances: 0 });
  });

  it('a run that is taken only after the claim', () => {
    expect(wrongIn([run(1), run(16, claimed, { app: 'daemon' })])).toEqual(PASSED);
  });

  it('a run that waits for code, and one that the worker must give back', () => {
    expect(wrongIn([run(1, { blockedOn: 'code:known' })])).toHaveLength(1);
    expect(wrongIn([run(1, { job: 'new' })])).toHaveLength(1);
  });

  it('a run in a queue with a limit, whose slots are free', () => {
    expect(wrongIn([queue(1, { concurrency: 1 }), slot(2, true), slot(3, false), run(3)])).toEqual(PASSED);
  });

  it('a run that failed, and is due again; in a queue that was paused', () => {
    const changes = [queue(1, { isPaused: true }), queue(2, {}), run(3, { status: 'failed', runAt: 5000 })];
    expect(wrongIn(changes)).toHaveLength(1);
  });

  it('a worker that holds others, and has room all the while', () => {
    expect(wrongIn([run(1, claimed, { id: '2' }), run(2)])).toEqual(PASSED);
  });

  it('one that asks all the time though nothing changes', () => {
    const often = asker(...Array.from({ length: 20 }, () => 5));
    expect(judge([], [often], 0).wrong).toEqual(['daemon asks all the time, and nothing changes']);
    expect(judge([run(5)], [often], 0).wrong).toEqual([]);
  });

  it('one that asks no more, unless it has ended', () => {
    expect(judge([], [asker(1, 2)], 17_000).wrong).toEqual([]);
    expect(judge([], [asker(1, 2)], 18_000).wrong).toEqual(['daemon has not asked for 16000 ms']);
    expect(judge([], [{ ...asker(1, 2), endedAt: 3000 }], 18_000).wrong).toEqual([]);
  });
});

describe('judge accepts', () => {
  it.each<[string, readonly Change[]]>([
    ['is taken in time', [run(1), run(12, claimed)]],
    ['is blocked in time', [run(1), run(14, { blockedOn: 'queue:q' })]],
    ['is gone', [run(1), run(14, null)]],
    ['is not visible to the first question', [run(5)]],
    ['is not due at the first question', [run(1, { runAt: 5001 })]],
    ['waits for a slot', [run(1, { blockedOn: 'job:known' })]],
    ['waits for code that the worker lacks', [run(1, { job: 'new', blockedOn: 'code:new' })]],
    ['executes elsewhere', [run(1, { ...claimed, lockedBy: 'another' })]],
    ['is in a queue that is paused', [queue(1, { isPaused: true }), run(2)]],
    ['is in a queue that is paused for a while', [run(1), queue(7, { isPaused: true }), queue(8, {})]],
    ['is in a full queue', [queue(1, { concurrency: 1 }), slot(2, true), run(2)]],
    [
      'is in a queue that is full for a while',
      [queue(1, { concurrency: 1 }), run(2), slot(7, true), slot(8, false)],
    ],
  ])('that a run %s', (_what, changes) => {
    expect(wrongIn(changes)).toEqual([]);
  });

  it('that the worker claims in some lanes first', () => {
    const partly = ({ questions, ...rest }: Asker, index: number): Asker => ({
      ...rest,
      questions: questions.map((each, other) => ({ ...each, isPartial: other === index })),
    });
    expect(wrongIn([run(1)], partly(asker(5, 10, 15), 0))).toEqual([]);
    expect(wrongIn([run(1)], partly(asker(5, 10, 15), 1))).toEqual([]);
    expect(wrongIn([run(1)], partly(asker(5, 10, 15), 2))).toEqual(PASSED);
    expect(wrongIn([run(1)], partly(asker(5, 10, 15, 20), 1))).toEqual(PASSED);
  });

  it('that another transaction holds its row, which commits late', () => {
    expect(wrongIn([run(1), { ...run(14, { runAt: 1 }), xid: 99n }])).toEqual([]);
  });

  it('that the worker is full, if only for a moment', () => {
    const two = [run(1, claimed, { id: '2' }), run(7, claimed, { id: '3' })];
    expect(wrongIn([run(1), ...two, run(8, null, { id: '3', app: 'daemon' })])).toEqual([]);
  });

  it('that it executes what others took away from it', () => {
    const lost = (id: string) => [
      run(1, claimed, { id, app: 'daemon' }),
      run(2, null, { id, app: 'reaper' }),
    ];
    expect(wrongIn([run(1), ...lost('2'), ...lost('3')])).toEqual([]);
  });
});

describe('readQuestions', () => {
  it('reads snapshots as PostgreSQL writes them', () => {
    const [one, other] = readQuestions([
      { worker: 'a' },
      { at: 1, snapshot: '10:20:12,15', isComplete: true },
      { at: 2, snapshot: '20:20:', isComplete: true },
    ]);
    const none = new Set<bigint>();
    expect(one?.snapshot).toEqual({ xmin: 10n, xmax: 20n, underWay: new Set([12n, 15n]) });
    expect(other?.snapshot).toEqual({ xmin: 20n, xmax: 20n, underWay: none });
  });

  it('knows which are not complete: above watermarks, or where the worker claims in some lanes until the next one', () => {
    const poll = { at: 1, snapshot: '1:1:', isComplete: true };
    const claims = (...where: readonly ('everywhere' | 'some')[]) => where.map(each => ({ claims: each }));
    const said = [
      poll,
      ...claims('some'),
      poll,
      ...claims('some', 'everywhere'),
      poll,
      poll,
      ...claims('everywhere'),
      { ...poll, isComplete: false },
      ...claims('everywhere'),
    ];
    expect(readQuestions(said).map(each => each.isPartial)).toEqual([true, false, false, false, true]);
  });
});
