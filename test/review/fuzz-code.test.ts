// Review: random deploys, roll-backs, vanishing, renames, with operators beside them; proof after each step.
import { expect, it } from 'vitest';
import { defineJob, type Tock } from '../../src/index.js';
import { openForEach } from '../support/open.js';
import { fc } from '../support/seed.js';
import { reuseTestTock } from '../support/test-tock.js';

const run = () => null;
const others = ['a', 'b', 'c'].map(name => defineJob({ name, run }));
const x = (schedule: object, name = 'x', more: object = {}) =>
  defineJob({ name, schedule: { overlap: 'allow_all', ...schedule } as never, run, ...more });
const VERSIONS = [
  [...others, x({ cron: '*/10 * * * *', catchup: 'all' })],
  [...others, x({ cron: '*/15 * * * *', overlap: 'skip' })],
  [...others, x({ cron: '0 */2 * * *', timezone: 'Europe/Berlin', exclude: [{ calendar: 'cal' }] })],
  [...others],
  [...others, x({ cron: '*/10 * * * *', catchup: 'all' }, 'y', { aliases: ['x'] })],
  [...others, x({ cron: '*/10 * * * *', catchup: 'none', overlap: 'cancel_other' })],
  [...others, x({ every: '1h' })],
];
const test = openForEach(() => reuseTestTock(others));
const MINUTE = 60_000;
const step = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.record({
      do: fc.constant('pass' as const),
      minutes: fc.constantFrom(1, 2, 7, 20, 60, 130),
    }),
  },
  { weight: 5, arbitrary: fc.record({ do: fc.constant('tick' as const) }) },
  {
    weight: 3,
    arbitrary: fc.record({ do: fc.constant('deploy' as const), version: fc.nat(VERSIONS.length - 1) }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constantFrom('pause' as const, 'resume' as const) }) },
  {
    weight: 1,
    arbitrary: fc.record({ do: fc.constant('backfill' as const), minutes: fc.integer({ min: 1, max: 300 }) }),
  },
  {
    weight: 2,
    arbitrary: fc.record({ do: fc.constant('except' as const), ahead: fc.integer({ min: 0, max: 60 }) }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      do: fc.constant('calendar' as const),
      days: fc.subarray(['2026-03-28', '2026-03-29']),
    }),
  },
);
it('holds', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 10, maxLength: 30 }), async steps => {
      let now = Date.parse('2026-03-28T18:00:00Z');
      await test.setClock(new Date(now).toISOString());
      await test.sql(`truncate tock.job_definitions cascade`).catch(() => undefined);
      await test.sql(`delete from tock.registrations`).catch(() => undefined);
      const tocks: Tock[] = VERSIONS.map(jobs => test.another({ jobs, allowVanishing: true }));
      try {
        let version = 0;
        await tocks[0]!.tick();
        const log: string[] = [];
        for (const each of steps) {
          const tock = tocks[version]!;
          log.push(JSON.stringify(each));
          const name =
            (
              await test.sql<{ name: string }>(
                `select name from tock.job_definitions where name in ('x', 'y') order by vanished_at is not null, cron is null and every_ms is null limit 1`,
              )
            )[0]?.name ?? 'x';
          try {
            if (each.do === 'pass')
              await test.setClock(new Date((now += each.minutes * MINUTE)).toISOString());
            else if (each.do === 'tick') await tock.tick();
            else if (each.do === 'deploy') {
              version = each.version;
              await tocks[version]!.tick();
            } else if (each.do === 'backfill')
              await tock.schedules.backfill(name, {
                from: new Date(now - each.minutes * MINUTE),
                to: new Date(now),
              });
            else if (each.do === 'calendar')
              await tock.calendars.set('cal', { dates: ['2026-01-01', ...each.days] });
            else if (each.do === 'except') {
              const next = (await tock.schedules.list({ name }))[0]?.nextAt;
              if (next && each.ahead === 0) await tock.schedules.skip(name, next);
              else if (next && next.getTime() - each.ahead * MINUTE > now)
                await tock.schedules.move(name, next, new Date(next.getTime() - each.ahead * MINUTE));
            } else await tock.schedules[each.do](name);
          } catch (error: any) {
            if (typeof error.code !== 'string' || /^\d/.test(error.code)) throw error;
          }
          const proof = await test.tock.prove({ from: '2026-03-28T00:00:00Z', to: '2026-04-08T00:00:00Z' });
          if (proof.found.length)
            console.log(
              log.length,
              await test.sql(
                'select id::int, definition_id::int, status, scheduled_for, trigger, skip_reason from tock.job_runs order by 4',
              ),
              await test.sql('select * from tock.job_occurrences order by 2'),
              await test.sql(
                'select number, change, since, written_at, stop, stated->>$$cron$$ as cron from tock.definition_versions order by 1',
              ),
            );
          if (proof.found.length)
            throw new Error(
              `${log.join(' ')} -> ${proof.found
                .map(f => `${f.definition} ${f.kind} ${f.at?.toISOString()} ${f.text}`)
                .slice(0, 3)
                .join('; ')}`,
            );
        }
      } finally {
        for (const t of tocks) await t.close().catch(() => undefined);
      }
    }),
    {
      ...(process.env['FCPATH'] ? { path: process.env['FCPATH'] } : {}),
      numRuns: Number(process.env['RUNS'] ?? 20),
      seed: Number(process.env['SEED'] ?? 1),
      endOnFailure: process.env['SHRINK'] === undefined,
    },
  );
});
