// The phases of a run's life, told from its row.
import { describe, expect, it } from 'vitest';
import { cutLife, type LivedRun, lifeOf, type Phase } from '../../../src/model/run/run-life.js';
import type { RunWait } from '../../../src/model/run/run-wait.js';
import { RUN_STATUSES } from '../../../src/model/run/states.js';
import type { DatedError } from '../../../src/model/run/stored-run.js';
import { fc } from '../../support/seed.js';

const T = Date.parse('2026-03-02T12:00:00Z');
const at = (seconds: number) => new Date(T + seconds * 1000);
const iso = (seconds: number) => at(seconds).toISOString();

const run = (more: Partial<LivedRun> = {}): LivedRun => ({
  status: 'queued',
  attempts: 0,
  createdAt: at(0),
  runAt: at(0),
  startedAt: null,
  finishedAt: null,
  worker: null,
  errors: [],
  beganAt: null,
  waits: [],
  ...more,
});
const wait = (
  kind: RunWait['kind'],
  since: number,
  until: number,
  endedAt: number | null = null,
): RunWait => ({
  kind,
  name: kind === 'snooze' ? '' : `from ${since}`,
  key: '',
  since: at(since),
  until: at(until),
  reason: null,
  outcome: endedAt === null ? null : 'time',
  endedAt: endedAt === null ? null : at(endedAt),
  runs: null,
  needsSuccess: null,
});
const error = (attempt: number, end: number, more: Partial<DatedError> = {}): DatedError => ({
  at: iso(end),
  attempt,
  name: 'Error',
  code: null,
  message: 'no',
  stack: null,
  ...more,
});
const tell = ({ kind, from, to, attempt, outcome, isOpen }: Phase) =>
  `${kind} ${attempt} ${(from - T) / 1000}-${(to - T) / 1000}${outcome === null ? '' : ` ${outcome}`}${isOpen ? ' …' : ''}`;
const story = (lived: LivedRun, now: number) => lifeOf(lived, T + now * 1000).phases.map(tell);

describe('lifeOf a run whose handler waits', () => {
  it('tells of a snooze that lasts', () => {
    const lived = run({ runAt: at(100), startedAt: at(2), beganAt: at(2), waits: [wait('snooze', 5, 100)] });
    expect(story(lived, 50)).toEqual(['wait 1 0-2', 'attempt 1 2-5 waiting', 'asleep 1 5-100 …']);
    expect(story(lived, 130)).toEqual([
      'wait 1 0-2',
      'attempt 1 2-5 waiting',
      'asleep 1 5-100',
      'wait 1 100-130 …',
    ]);
  });

  it('tells of several snoozes as one, and the last', () => {
    const waits = [wait('snooze', 65, 120)];
    const lived = run({ runAt: at(120), startedAt: at(60), beganAt: at(2), waits });
    expect(story(lived, 70)).toEqual([
      'wait 1 0-2',
      'asleep 1 2-60',
      'attempt 1 60-65 waiting',
      'asleep 1 65-120 …',
    ]);
  });

  it('tells of sleeps that are over, a failure between them, and the end', () => {
    const lived = run({
      status: 'succeeded',
      attempts: 2,
      runAt: at(50),
      startedAt: at(51),
      finishedAt: at(55),
      beganAt: at(1),
      errors: [error(1, 22, { startedAt: iso(21), dueAt: iso(20) })],
      waits: [wait('sleep', 3, 20, 21), wait('sleep', 31, 50, 51)],
    });
    expect(story(lived, 99)).toEqual([
      'wait 1 0-1',
      'attempt 1 1-3 waiting',
      'asleep 1 3-21',
      'attempt 1 21-22 failed',
      'backoff 2 22-31',
      'attempt 2 31-31 waiting',
      'asleep 2 31-51',
      'attempt 2 51-55 succeeded',
    ]);
  });
});

it('lifeOf a run that waits after a failure tells of the backoff between them', () => {
  const lived = run({
    runAt: at(100),
    startedAt: at(30),
    beganAt: at(1),
    errors: [error(1, 5, { startedAt: iso(1) })],
    waits: [wait('snooze', 35, 100)],
  });
  expect(story(lived, 50)).toEqual([
    'wait 1 0-1',
    'attempt 1 1-5 failed',
    'backoff 2 5-30',
    'attempt 2 30-35 waiting',
    'asleep 2 35-100 …',
  ]);
});

describe('lifeOf a run that waits for others from the start', () => {
  const joins = (endedAt: number | null) => ({
    ...wait('group', 0.1, 0, endedAt),
    until: null,
  });
  const never = new Date('9999-12-31T00:00:00Z');

  it('tells of no attempt before', () => {
    expect(story(run({ runAt: never, waits: [joins(null)] }), 50)).toEqual(['asleep 1 0-50 …']);
    const ended = {
      status: 'succeeded',
      attempts: 1,
      runAt: at(20),
      startedAt: at(22),
      finishedAt: at(25),
    } as const;
    expect(story(run({ ...ended, waits: [joins(20)] }), 50)).toEqual([
      'asleep 1 0-20',
      'wait 1 20-22',
      'attempt 1 22-25 succeeded',
    ]);
  });

  it('tells of its cancel', () => {
    const lived = run({ status: 'cancelled', runAt: never, finishedAt: at(9), waits: [joins(null)] });
    expect(story(lived, 50)).toEqual(['asleep 1 0-9']);
  });
});

describe('lifeOf', () => {
  it('tells of a success at the first attempt', () => {
    const lived = run({
      status: 'succeeded',
      attempts: 1,
      runAt: at(60),
      startedAt: at(62),
      finishedAt: at(70),
      worker: 'db-7 pid 42',
    });
    expect(story(lived, 100)).toEqual(['delay 1 0-60', 'wait 1 60-62', 'attempt 1 62-70 succeeded']);
    expect(lifeOf(lived, T)).toMatchObject({ from: T, to: T + 70_000, workedMs: 8000, waitedMs: 2000 });
    expect(lifeOf(lived, T).phases.at(-1)?.worker).toBe('db-7 pid 42');
  });

  it('tells of failures, each with its wait, its worker and its backoff', () => {
    const errors = [
      error(1, 5, { dueAt: iso(0), startedAt: iso(1), worker: 'a pid 1' }),
      error(2, 80, { dueAt: iso(15), startedAt: iso(20), code: 'TOCK_LEASE_LOST', worker: 'b pid 2' }),
    ];
    const lived = run({
      status: 'succeeded',
      attempts: 3,
      runAt: at(90),
      startedAt: at(91),
      finishedAt: at(92),
      errors,
    });
    expect(story(lived, 100)).toEqual([
      'wait 1 0-1',
      'attempt 1 1-5 failed',
      'backoff 2 5-15',
      'wait 2 15-20',
      'attempt 2 20-80 lost',
      'backoff 3 80-90',
      'wait 3 90-91',
      'attempt 3 91-92 succeeded',
    ]);
    expect(lifeOf(lived, T).phases.map(phase => phase.worker)).toContain('b pid 2');
    expect(lifeOf(lived, T).phases.map(phase => phase.error)).toEqual([
      null,
      0,
      null,
      null,
      1,
      null,
      null,
      null,
    ]);
  });

  it('ends with the last error of a dead run, and counts its attempt once', () => {
    const errors = [error(1, 5, { dueAt: iso(0), startedAt: iso(0) })];
    const lived = run({ status: 'dead', attempts: 1, startedAt: at(0), finishedAt: at(5), errors });
    expect(story(lived, 100)).toEqual(['attempt 1 0-5 failed']);
  });

  it('goes on to now, or to when it is due', () => {
    expect(story(run({ runAt: at(60) }), 10)).toEqual(['delay 1 0-60 …']);
    expect(story(run({ runAt: at(60) }), 61)).toEqual(['delay 1 0-60', 'wait 1 60-61 …']);
    const running = run({ status: 'running', attempts: 1, startedAt: at(3) });
    expect(story(running, 10)).toEqual(['wait 1 0-3', 'attempt 1 3-10 running …']);
    const failed = run({
      status: 'failed',
      attempts: 1,
      startedAt: at(0),
      runAt: at(30),
      errors: [error(1, 5, { startedAt: iso(0) })],
    });
    expect(story(failed, 10)).toEqual(['attempt 1 0-5 failed', 'backoff 2 5-30 …']);
    expect(story(failed, 40)).toEqual(['attempt 1 0-5 failed', 'backoff 2 5-30', 'wait 2 30-40 …']);
  });

  it('tells of a run that never began', () => {
    expect(story(run({ status: 'skipped', finishedAt: at(0) }), 10)).toEqual([]);
    expect(story(run({ status: 'cancelled', runAt: at(5), finishedAt: at(20) }), 30)).toEqual([
      'delay 1 0-5',
      'wait 1 5-20',
    ]);
    expect(story(run({ status: 'cancelled', runAt: at(50), finishedAt: at(20) }), 30)).toEqual([
      'delay 1 0-20',
    ]);
  });

  it('says that a worker gave it back', () => {
    const lived = run({ startedAt: at(4) });
    expect(story(lived, 10)).toEqual(['wait 1 0-4', 'attempt 1 4-4 released', 'wait 1 4-10 …']);
  });

  it('says that early attempts are not on record, and does without what old entries lack', () => {
    const errors = [error(51, 500), error(52, 600)];
    const lived = run({ status: 'dead', attempts: 52, startedAt: at(590), finishedAt: at(600), errors });
    expect(story(lived, 700)).toEqual([
      'lost 50 0-500',
      'attempt 51 500-500 failed',
      'wait 52 500-600',
      'attempt 52 600-600 failed',
    ]);
  });

  it('has no gap and never goes back, whatever a row holds', () => {
    const second = fc.integer({ min: -100, max: 100 });
    const entry = fc.record({
      attempt: fc.integer({ min: 0, max: 9 }),
      end: second,
      due: second,
      start: second,
      has: fc.boolean(),
    });
    const lived = fc
      .record({
        status: fc.constantFrom(...RUN_STATUSES),
        attempts: fc.integer({ min: 0, max: 9 }),
        run: second,
        start: fc.option(second),
        end: second,
        errors: fc.array(entry, { maxLength: 5 }),
      })
      .map(({ status, attempts, run: due, start, end, errors }) =>
        run({
          status,
          attempts,
          runAt: at(due),
          startedAt: start === null ? null : at(start),
          finishedAt: ['queued', 'running', 'failed'].includes(status) ? null : at(end),
          errors: errors.map(each =>
            error(
              each.attempt,
              each.end,
              each.has ? { dueAt: iso(each.due), startedAt: iso(each.start) } : {},
            ),
          ),
        }),
      );
    fc.assert(
      fc.property(lived, second, (each, now) => {
        const { phases, from } = lifeOf(each, T + now * 1000);
        let end = from;
        for (const phase of phases) {
          expect(phase.from).toBe(end);
          expect(phase.to).toBeGreaterThanOrEqual(phase.from);
          end = phase.to;
        }
      }),
    );
    expect(() => lifeOf(run({ errors: [error(1, 0, { at: 'never', dueAt: 'x' })] }), T)).not.toThrow();
  });
});

it('cutLife keeps the first and the last phases', () => {
  const { phases } = lifeOf(
    run({
      status: 'dead',
      attempts: 9,
      finishedAt: at(90),
      errors: Array.from({ length: 9 }, (_, n) => error(n + 1, n * 10 + 5, { startedAt: iso(n * 10) })),
    }),
    T,
  );
  const { first, hidden, last } = cutLife(phases, 6);
  expect([first.length, hidden, last.length]).toEqual([2, phases.length - 6, 4]);
  expect(last.at(-1)).toBe(phases.at(-1));
  expect(cutLife(phases, 100)).toEqual({ first: phases, hidden: 0, last: [] });
});

it('a run that waits for no time is asleep until now, and its life has no end', () => {
  const event: RunWait = { ...wait('sleep', 20, 0), kind: 'event', until: null };
  const life = lifeOf(
    run({
      status: 'queued',
      attempts: 0,
      runAt: new Date('9999-12-31'),
      startedAt: at(10),
      beganAt: at(10),
      waits: [event],
    }),
    at(90).getTime(),
  );
  expect(life.phases.at(-1)).toMatchObject({ kind: 'asleep', to: at(90).getTime(), isOpen: true });
  expect(life.to).toBe(at(90).getTime());
});
