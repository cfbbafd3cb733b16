// Review: random stories with exceptions, calendars, shift, anchors, remaining; proof after each step.
import { expect, it } from 'vitest';
import { defineJob } from '../../src/index.js';
import { openForEach } from '../support/open.js';
import { fc } from '../support/seed.js';
import { reuseTestTock } from '../support/test-tock.js';

const work = defineJob({ name: 'work', run: async () => undefined });
const test = openForEach(() => reuseTestTock([work]));
const MINUTE = 60_000;
const zones = ['UTC', 'Europe/Berlin', 'Australia/Lord_Howe', 'Asia/Kathmandu', 'America/New_York'] as const;
const timing = fc.constantFrom<object>(
  { cron: '*/10 * * * *' },
  { cron: '*/7 * * * *' },
  { cron: '0 * * * *' },
  { cron: '30 2 * * *' },
  { cron: '15 */2 * * *' },
  { cron: '0 9,15 * * *', shift: 'next' },
  { cron: '0 */3 * * *', shift: 'previous' },
  { cron: '*/20 1-5 * * *', shift: 'next' },
  { every: '45m' },
  { every: '1d', anchor: '2026-03-20T02:30' },
);
const step = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.record({ do: fc.constant('pass' as const), minutes: fc.integer({ min: 1, max: 200 }) }),
  },
  { weight: 5, arbitrary: fc.record({ do: fc.constant('tick' as const) }) },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant('write' as const),
      timing,
      timezone: fc.constantFrom(...zones),
      exclude: fc.constantFrom<object[]>(
        [],
        [],
        [{ calendar: 'cal' }],
        [{ calendar: 'cal' }, { cron: '* 3-4 * * *' }],
        [{ weekend: ['sat'] }, { calendar: 'cal' }],
      ),
      catchup: fc.constantFrom('latest' as const, 'all' as const, 'none' as const),
      catchupWindow: fc.constantFrom(undefined, undefined, '1h'),
      overlap: fc.constantFrom(
        ...(['skip', 'allow_all', 'buffer_one', 'buffer_all', 'cancel_other', 'terminate_other'] as const),
      ),
      remaining: fc.constantFrom(undefined, undefined, undefined, ...(process.env['REMAIN'] ? [2, 5] : [])),
      jitter: fc.constantFrom('0s', '9m'),
      window: fc.constantFrom(undefined, undefined, '01:00-05:00'),
      outsideWindow: fc.constantFrom('skip' as const, 'defer' as const),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ do: fc.constantFrom('pause' as const, 'resume' as const, 'remove' as const) }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      do: fc.constant('pauseUntil' as const),
      minutes: fc.integer({ min: 1, max: 200 }),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ do: fc.constant('backfill' as const), minutes: fc.integer({ min: 1, max: 600 }) }),
  },
  {
    weight: 3,
    arbitrary: fc.record({ do: fc.constantFrom('skip' as const, 'restore' as const), which: fc.nat(4) }),
  },
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constant('move' as const),
      which: fc.nat(4),
      minutes: fc.integer({ min: -200, max: 300 }),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      do: fc.constant('calendar' as const),
      days: fc.subarray(['2026-03-28', '2026-03-29', '2026-03-30', '2026-03-31', '2026-04-01']),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ do: fc.constant('freeze' as const), minutes: fc.integer({ min: 1, max: 200 }) }),
  },
);
type Step = typeof step extends fc.Arbitrary<infer T> ? T : never;
let name = '';
let now = 0;
const why: string[] = [];
const play = async (each: Step) => {
  const { tock } = test;
  switch (each.do) {
    case 'pass':
      now += each.minutes * MINUTE;
      return await test.setClock(new Date(now).toISOString());
    case 'tick':
      return await tock.tick();
    case 'write': {
      const { do: _, timing: t, remaining, window, outsideWindow, catchupWindow, jitter, ...more } = each;
      return await tock.schedules.upsert({
        name,
        job: 'work',
        ...t,
        ...more,
        jitter,
        ...(catchupWindow === undefined ? {} : { catchupWindow }),
        ...(remaining === undefined ? {} : { remaining }),
        ...(window === undefined ? {} : { window, outsideWindow }),
      } as never);
    }
    case 'backfill':
      return await tock.schedules.backfill(name, {
        from: new Date(now - each.minutes * MINUTE),
        to: new Date(now),
      });
    case 'pauseUntil':
      return await tock.schedules.pause(name, { until: new Date(now + each.minutes * MINUTE) });
    case 'calendar':
      return await tock.calendars.set('cal', { dates: ['2026-01-01', ...each.days] });
    case 'freeze':
      return process.env['FREEZE']
        ? await tock.freeze({ until: new Date(now + each.minutes * MINUTE), note: 'x' })
        : undefined;
    case 'skip':
    case 'restore':
    case 'move': {
      const known = await tock.schedules.exceptions(name);
      const day = (await tock.schedules.list({ name }))[0] as any;
      let at: Date | undefined;
      if (each.which > 2 && known.length > 0) at = known[each.which % known.length]!.occurrence;
      else {
        const next = await upcoming(each.which + 1);
        at = next.at(-1);
      }
      if (at === undefined || day === undefined) return;
      if (each.do === 'skip') return await tock.schedules.skip(name, at);
      if (each.do === 'restore') return await tock.schedules.restore(name, at);
      return await tock.schedules.move(
        name,
        at,
        new Date(Math.max(now + MINUTE, at.getTime() + each.minutes * MINUTE)),
      );
    }
    default:
      return await (tock.schedules as any)[each.do](name);
  }
};

import { scheduleOfColumns } from '../../src/model/planning/definition.js';
import { compileSchedule } from '../../src/model/schedule/compile.js';

const compiledNow = async () => {
  const [row] = await test.sql<any>(`select * from tock.job_definitions where name = $1`, [name]);
  const spec = row
    ? scheduleOfColumns({
        ...row,
        every_ms: row.every_ms === null ? null : Number(row.every_ms),
        phase_ms: Number(row.phase_ms),
      })
    : null;
  return spec === null ? null : compileSchedule(spec, name);
};
const upcoming = async (count: number): Promise<Date[]> => {
  const c = await compiledNow();
  const found: Date[] = [];
  for (let at = c?.next(now) ?? null; at !== null && found.length < count; at = c!.next(at))
    found.push(new Date(at));
  return found;
};

it('holds after whatever operators and outages do', async () => {
  let count = 0;
  const errors = new Map<string, number>();
  await fc
    .assert(
      fc.asyncProperty(
        fc.array(step, { minLength: 8, maxLength: Number(process.env['LEN'] ?? 30) }),
        async steps => {
          name = `s${count++}`;
          now = Date.parse('2026-03-28T18:00:00Z');
          await test.setClock(new Date(now).toISOString());
          await test.tock.thaw().catch(() => undefined);
          await test.tock.calendars.set('cal', { dates: ['2026-01-01'] });
          await test.tock.schedules.upsert({ name, job: 'work', cron: '*/10 * * * *' });
          let cursor = 0;
          for (const each of steps) {
            await play(each).catch((error: any) => {
              if (typeof error.code !== 'string' || /^\d/.test(error.code)) throw error;
              const k = `${each.do} ${error.code} ${String(error.message).replace(/\d/g, 'n').slice(0, 60)}`;
              errors.set(k, (errors.get(k) ?? 0) + 1);
            });
            const proof = await test.tock.prove({
              from: '2026-03-28T00:00:00Z',
              to: '2026-04-08T00:00:00Z',
              names: [name],
            });
            expect(proof.found).toEqual([]);
            const [row] = await test.sql<{ c: number; broken: string | null }>(
              `select extract(epoch from cursor)::float8 as c, broken_reason as broken from tock.job_definitions where name = $1`,
              [name],
            );
            expect(row!.broken).toBe(null);
            expect(row!.c).toBeGreaterThanOrEqual(cursor);
            cursor = row!.c;
          }
          await test.tock.schedules.remove(name).catch(() => undefined);
        },
      ),
      {
        numRuns: Number(process.env['RUNS'] ?? 25),
        seed: Number(process.env['SEED'] ?? 1),
        endOnFailure: process.env['SHRINK'] === undefined,
      },
    )
    .finally(() => console.log([...errors].sort((a, b) => b[1] - a[1]).slice(0, 15)));
});
