// Model: occurrences that are skipped or moved, among those of a schedule. Pure, so that many cases can be tried.
import { describe, expect, it } from 'vitest';
import { expectedBy } from '../../../src/model/alerts/expectations.js';
import { type Exception, nextDue, nextRun, withoutExcepted } from '../../../src/model/planning/exceptions.js';
import {
  type Plan,
  type PlannedDefinition,
  planOccurrences,
} from '../../../src/model/planning/plan-occurrences.js';
import { compileSchedule } from '../../../src/model/schedule/compile.js';
import { fc } from '../../support/seed.js';

const HOUR = 3_600_000;
const START = Date.parse('2026-03-01T00:30:00Z');
const at = (hour: number) => START - HOUR / 2 + hour * HOUR;
const hourly = compileSchedule({ cron: '0 * * * *' });
const definition: PlannedDefinition = {
  name: 'report',
  timezone: 'UTC',
  cursor_ms: START,
  overlap: 'allow_all',
  catchup: 'latest',
  catchup_window_ms: null,
  start_deadline_ms: null,
  jitter_ms: 0,
  remaining_count: null,
  active_window: null,
  outside_window: 'defer',
};
const made = { note: null, operator: 'anna', madeAt: START };
const skip = (hour: number): Exception => ({ at: at(hour), kind: 'skip', dueAt: at(hour), ...made });
const move = (hour: number, to: number): Exception => ({
  at: at(hour),
  kind: 'move',
  dueAt: at(to),
  ...made,
});

describe('a schedule with exceptions', () => {
  it('is without the excepted occurrences', () => {
    const left = withoutExcepted(hourly, [skip(2), move(3, 9.5)]);
    expect(left.next(at(1))).toBe(at(4));
    expect(left.previous(at(4))).toBe(at(1));
  });

  it('is due where an exception is decided, also before the next occurrence', () => {
    expect(nextDue(hourly, [move(3, 1.5)], at(1))).toBe(at(1.5));
    expect(nextDue(hourly, [skip(2)], at(1))).toBe(at(2));
    expect(nextDue(hourly, [move(2, 7.5)], at(1))).toBe(at(3));
    const once = compileSchedule({ at: new Date(at(2)) });
    expect(nextDue(once, [move(2, 7.5)], at(1))).toBe(at(7.5));
    expect(nextDue(once, [move(2, 7.5)], at(7.5))).toBeNull();
  });

  it('makes its next run where nothing is skipped, under the name of the occurrence', () => {
    expect(nextRun(hourly, [skip(2)], at(1))).toEqual({ at: at(3), startsAt: at(3) });
    expect(nextRun(hourly, [move(4, 1.5)], at(1))).toEqual({ at: at(4), startsAt: at(1.5) });
    expect(nextRun(compileSchedule({ at: new Date(at(2)) }), [skip(2)], at(1))).toBeNull();
  });
});

describe('what is expected of successes', () => {
  const watched = {
    withinMs: HOUR / 4,
    jitterMs: 0,
    begunAt: START,
    lastSuccess: at(1),
    endedAt: null,
    frozen: [],
    window: null,
    outsideWindow: 'defer' as const,
  };

  it('leaves out what is skipped, and follows what is moved', () => {
    expect(expectedBy(hourly, watched, [skip(2)])).toBe(at(3.25));
    expect(expectedBy(hourly, watched, [move(2, 2.5)])).toBe(at(2.75));
    expect(expectedBy(hourly, watched, [move(2, 9.5)])).toBe(at(3.25));
    // A later one has succeeded already: the moved one is known by its own time, and not waited for.
    expect(expectedBy(hourly, { ...watched, lastSuccess: at(3) }, [move(2, 4.5)])).toBe(at(4.25));
  });
});

/** Plans at each of these times, from where the plan before has left the cursor. */
function walk(
  policy: Partial<PlannedDefinition>,
  exceptions: readonly Exception[],
  ticks: readonly number[],
) {
  const plans: (Plan & { readonly now: number; readonly from: number })[] = [];
  let cursor = START;
  for (const now of ticks) {
    const relevant = exceptions.filter(each => Math.max(each.at, each.dueAt) > cursor);
    const itself = { ...definition, ...policy, cursor_ms: cursor };
    const plan = planOccurrences(hourly, itself, { count: 0, since: now }, now, relevant);
    plans.push({ ...plan, now, from: cursor });
    cursor = plan.cursor;
  }
  return plans;
}

const HOURS = 40;
const anException = fc
  .record({
    hour: fc.integer({ min: 1, max: HOURS - 1 }),
    to: fc.option(fc.integer({ min: 1, max: 60 * (HOURS - 1) }), { nil: null }),
  })
  .map(({ hour, to }) => (to === null ? skip(hour) : move(hour, 0.5 + to / 60)))
  .filter(({ at: from, dueAt, kind }) => kind === 'skip' || from !== dueAt);

it('every occurrence is accounted for once, whenever ticks come, and no tick looks at it twice', {
  tags: 'check',
}, () => {
  fc.assert(
    fc.property(
      fc.uniqueArray(anException, { selector: each => each.at, maxLength: 8 }),
      fc.array(fc.integer({ min: 31, max: HOURS * 60 }), { maxLength: 30 }),
      fc.constantFrom('latest', 'all', 'none'),
      fc.constantFrom(null, 2 * HOUR),
      fc.constantFrom('skip', 'buffer_one', 'cancel_other', 'allow_all'),
      (exceptions, minutes, catchup, catchup_window_ms, overlap) => {
        const ticks = [...minutes.sort((a, b) => a - b).map(minute => at(minute / 60)), at(HOURS)];
        const plans = walk({ catchup, catchup_window_ms, overlap }, exceptions, ticks);
        const counts = new Map<number, number>();
        const count = (instant: number) => counts.set(instant, (counts.get(instant) ?? 0) + 1);
        const excepted = new Map(exceptions.map(each => [each.at, each]));
        for (const { runs, skips, cursor, nextAt, now, from } of plans) {
          expect(cursor).toBeGreaterThanOrEqual(from);
          expect(cursor).toBeLessThanOrEqual(now);
          expect(nextAt).toBeGreaterThan(cursor);
          for (const run of runs) {
            const exception = excepted.get(run.scheduledFor);
            expect(exception?.kind).not.toBe('skip');
            expect(run.runAt).toBe(exception?.dueAt ?? run.scheduledFor);
            expect(run.runAt).toBeLessThanOrEqual(now);
            count(run.scheduledFor);
          }
          for (const { first, last, reason } of skips) {
            if (first === last && excepted.has(first)) {
              expect(reason === 'excepted').toBe(excepted.get(first)?.kind === 'skip');
              count(first);
              continue;
            }
            for (let each: number | null = first; each !== null && each <= last; each = hourly.next(each))
              if (!excepted.has(each)) count(each);
          }
        }
        // Up to the last tick; what is moved behind it is still to come.
        const expected = Array.from({ length: HOURS }, (_, index) => at(index + 1));
        const open = (instant: number) => (excepted.get(instant)?.dueAt ?? instant) > at(HOURS);
        expect([...counts.keys()].sort((a, b) => a - b)).toEqual(expected.filter(each => !open(each)));
        expect([...counts.values()].every(each => each === 1)).toBe(true);
      },
    ),
    { numRuns: 500 },
  );
});
