// Model: what becomes of occurrences that have come due. Pure, so that every case can be tried.
import { describe, expect, it } from 'vitest';
import {
  MAX_COUNTED,
  MAX_RUNS_PER_PLAN,
  occurrencesText,
  type Plan,
  type PlannedDefinition,
  planOccurrences,
} from '../../../src/model/planning/plan-occurrences.js';
import { type CompiledSchedule, compileSchedule } from '../../../src/model/schedule/compile.js';
import { fc } from '../../support/seed.js';

const at = (text: string) => Date.parse(`2026-03-${text}Z`);
const hourly = compileSchedule({ cron: '0 * * * *' });
/** A definition, and its live runs. */
interface Case extends PlannedDefinition {
  readonly liveRuns: number;
  readonly liveSince: number;
}
const definition: Case = {
  name: 'report',
  timezone: 'UTC',
  cursor_ms: at('01T00:30:00'),
  overlap: 'skip',
  catchup: 'latest',
  catchup_window_ms: null,
  start_deadline_ms: null,
  jitter_ms: 0,
  remaining_count: null,
  liveRuns: 0,
  liveSince: Number.NEGATIVE_INFINITY,
  active_window: null,
  outside_window: 'defer',
};
const planCase = (schedule: CompiledSchedule, each: Case, now: number) =>
  planOccurrences(schedule, each, { count: each.liveRuns, since: each.liveSince }, now);
const plan = (change: Partial<Case>, now: string, schedule = hourly) =>
  planCase(schedule, { ...definition, ...change }, at(now));
const instants = ({ runs }: Plan) => runs.map(run => new Date(run.scheduledFor).toISOString().slice(8, 16));

describe('planOccurrences', () => {
  it('does nothing while nothing is due, and says when something will be', () => {
    expect(plan({}, '01T00:59:59')).toEqual({
      runs: [],
      skips: [],
      displaces: null,
      cursor: definition.cursor_ms,
      nextAt: at('01T01:00:00'),
      remaining: null,
    });
  });

  it('makes the run of an occurrence in its very second', () => {
    expect(plan({}, '01T01:00:00')).toMatchObject({
      runs: [
        {
          scheduledFor: at('01T01:00:00'),
          runAt: at('01T01:00:00'),
          intervalStart: at('01T00:00:00'),
          occurrenceCount: 1,
          startBy: null,
        },
      ],
      skips: [],
      displaces: null,
      cursor: at('01T01:00:00'),
      nextAt: at('01T02:00:00'),
    });
  });

  it('does nothing when the clock was set back behind the cursor', () => {
    expect(plan({}, '01T00:10:00')).toMatchObject({ runs: [], skips: [], cursor: definition.cursor_ms });
  });

  it('latest: one run stands for all that were missed, and one row tells of the others', () => {
    const made = plan({}, '04T00:10:00');
    expect(instants(made)).toEqual(['04T00:00']);
    expect(made.runs[0]?.occurrenceCount).toBe(72);
    expect(made.skips).toEqual([
      { first: at('01T01:00:00'), last: at('03T23:00:00'), occurrenceCount: 71, reason: 'catchup' },
    ]);
    expect(made.cursor).toBe(at('04T00:00:00'));
  });

  it('latest with a window: a monthly run survives a long outage only without one', () => {
    const monthly = compileSchedule({ cron: '0 0 2 * *' });
    expect(instants(plan({}, '09T12:00:00', monthly))).toEqual(['02T00:00']);
    expect(plan({ catchup_window_ms: 86_400_000 }, '09T12:00:00', monthly)).toMatchObject({
      runs: [],
      skips: [{ occurrenceCount: 1, reason: 'catchup' }],
      cursor: at('02T00:00:00'),
    });
  });

  it('all: a run for each within the window, one row for the older ones', () => {
    const made = plan({ catchup: 'all', catchup_window_ms: 3 * 3_600_000 }, '01T12:00:00');
    expect(instants(made)).toEqual(['01T09:00', '01T10:00', '01T11:00', '01T12:00']);
    expect(made.skips).toEqual([
      { first: at('01T01:00:00'), last: at('01T08:00:00'), occurrenceCount: 8, reason: 'catchup' },
    ]);
  });

  it('none: what is not late still gives its run; what is late gives a row', () => {
    expect(instants(plan({ catchup: 'none' }, '01T01:01:59'))).toEqual(['01T01:00']);
    expect(plan({ catchup: 'none' }, '01T01:02:01')).toMatchObject({
      runs: [],
      skips: [{ occurrenceCount: 1, reason: 'catchup' }],
    });
  });

  it('overlap: skip records what it leaves out, allow_all does not care', () => {
    expect(plan({ liveRuns: 1 }, '01T01:00:00')).toMatchObject({
      runs: [],
      skips: [{ reason: 'overlap', occurrenceCount: 1 }],
      cursor: at('01T01:00:00'),
    });
    expect(instants(plan({ liveRuns: 1, overlap: 'allow_all' }, '01T01:00:00'))).toEqual(['01T01:00']);
  });

  it('overlap: skip keeps what had come due before the live runs were made: the rest of a catch-up', () => {
    const caughtUp = { catchup: 'all', liveRuns: 1000, liveSince: at('01T02:30:00') } as const;
    const made = plan(caughtUp, '01T04:00:00');
    expect(instants(made)).toEqual(['01T01:00', '01T02:00']);
    expect(made.runs.every(run => run.isSerial)).toBe(true);
    expect(made.skips).toMatchObject([{ first: at('01T03:00:00'), occurrenceCount: 2, reason: 'overlap' }]);
    expect(instants(plan({ ...caughtUp, overlap: 'buffer_all' }, '01T04:00:00'))).toEqual([]);
  });

  it('remaining: counts runs, not skips, and ends the schedule at 0', () => {
    expect(plan({ remaining_count: 1 }, '01T01:00:00')).toMatchObject({
      remaining: 0,
      nextAt: null,
      runs: [{}],
    });
    expect(plan({ remaining_count: 3, liveRuns: 1 }, '01T01:00:00')).toMatchObject({
      remaining: 3,
      nextAt: at('01T02:00:00'),
    });
    expect(instants(plan({ remaining_count: 2, catchup: 'all' }, '01T09:00:00'))).toEqual([
      '01T01:00',
      '01T02:00',
    ]);
    expect(plan({ remaining_count: 0 }, '01T01:00:00')).toMatchObject({ runs: [], nextAt: null });
  });

  it('jitter: moves the start and the deadline, not the occurrence, and stays below the gap', () => {
    const made = plan({ jitter_ms: 10 * 3_600_000, start_deadline_ms: 60_000 }, '01T01:00:00');
    const [run] = made.runs;
    expect(run?.scheduledFor).toBe(at('01T01:00:00'));
    expect(run?.runAt).toBeGreaterThanOrEqual(at('01T01:00:00'));
    expect(run?.runAt).toBeLessThan(at('01T02:00:00'));
    expect(run?.startBy).toBe((run?.runAt ?? 0) + 60_000);
  });

  it('a million missed occurrences: bounded, and reported as a minimum', () => {
    const everySecond = compileSchedule({ every: '1s' });
    const latest = plan({}, '13T00:00:00', everySecond);
    expect(latest.runs).toHaveLength(1);
    expect(latest.skips[0]?.occurrenceCount).toBe(MAX_COUNTED);
    expect(occurrencesText(MAX_COUNTED + 1)).toBe('at least 100000 occurrences');
    expect(occurrencesText(1)).toBe('1 occurrence');
    const all = plan({ catchup: 'all', catchup_window_ms: null }, '13T00:00:00', everySecond);
    expect(all.runs).toHaveLength(MAX_RUNS_PER_PLAN);
    expect(all.cursor).toBe(definition.cursor_ms + MAX_RUNS_PER_PLAN * 1000);
  });

  const schedules = fc
    .constantFrom('* * * * *', '*/7 * * * *', '0 */3 * * *', '30 2 * * *', '0 0 1 * *')
    .map(cron => compileSchedule({ cron, timezone: 'America/New_York' }));
  const minutes = fc.integer({ min: 0, max: 3 * 24 * 60 });

  it('under `all`, in however many steps it is planned, the same runs come out', { tags: 'check' }, () => {
    fc.assert(
      fc.property(schedules, fc.array(minutes, { minLength: 1, maxLength: 6 }), (schedule, steps) => {
        const all: Case = { ...definition, catchup: 'all', overlap: 'allow_all' };
        const ends = [...steps].sort((a, b) => a - b).map(minute => definition.cursor_ms + minute * 60_000);
        const whole: number[] = [];
        const stepped: number[] = [];
        const collect = (into: number[], stops: readonly number[]) => {
          let cursor = definition.cursor_ms;
          for (const now of stops) {
            for (;;) {
              const { runs, cursor: moved } = planCase(schedule, { ...all, cursor_ms: cursor }, now);
              into.push(...runs.map(run => run.scheduledFor));
              expect(moved).toBeGreaterThanOrEqual(cursor);
              if (moved === cursor) break;
              cursor = moved;
            }
          }
        };
        collect(whole, ends.slice(-1));
        collect(stepped, ends);
        expect(stepped).toEqual(whole);
        expect(new Set(whole).size).toBe(whole.length);
      }),
    );
  });

  it('accounts for every occurrence once: by a run that stands for it, or in a row with the reason', () => {
    fc.assert(
      fc.property(
        schedules,
        minutes,
        fc.constantFrom('latest', 'all', 'none' as const),
        fc.nat(3),
        fc.option(minutes),
        (schedule, minute, catchup, liveRuns, window) => {
          const now = definition.cursor_ms + minute * 60_000;
          let expected = 0;
          for (
            let next = schedule.next(definition.cursor_ms);
            next !== null && next <= now;
            next = schedule.next(next)
          )
            expected++;
          const change: Partial<Case> = {
            catchup: catchup,
            liveRuns,
            catchup_window_ms: window === null ? null : window * 60_000,
          };
          const { runs, skips, cursor } = planCase(schedule, { ...definition, ...change }, now);
          const told = runs.length + skips.reduce((sum, skip) => sum + skip.occurrenceCount, 0);
          // A plan of `all` may be full before it is through; the cursor says how far it came.
          const isThrough = (schedule.next(cursor) ?? Number.POSITIVE_INFINITY) > now;
          expect(isThrough ? told : expected).toBe(expected);
        },
      ),
    );
  });
});
