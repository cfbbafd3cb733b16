// Random stories of deploys, roll-backs and operators: after each step nothing is unexplained, and a deploy has
// withdrawn no run that its code would have made.
import { expect, it } from 'vitest';
import { defineJob, type JobSchedule, nextOccurrence, type Tock } from '../../src/index.js';
import { windowIn } from '../../src/model/planning/window.js';
import { openForEach } from '../support/open.js';
import { rounds } from '../support/rounds.js';
import { fc } from '../support/seed.js';
import { reuseTestTock } from '../support/test-tock.js';

const MINUTE = 60_000;
const START = Date.parse('2026-03-28T18:00:00Z');
const VERSIONS: readonly (JobSchedule | null)[] = [
  // The job stays, and its schedule goes.
  null,
  { cron: '*/20 * * * *', jitter: '15m' },
  { cron: '*/20 * * * *' },
  { cron: '0 */2 * * *', jitter: '90m', timezone: 'Europe/Berlin', catchup: 'all', overlap: 'allow_all' },
  { cron: '*/30 * * * *', window: '01:00-05:00', timezone: 'Europe/Berlin', overlap: 'allow_all' },
  { every: '40m', window: '20:00-23:00', catchup: 'all', overlap: 'buffer_one' },
];
const test = openForEach(reuseTestTock, ({ setClock }) => setClock(new Date(START).toISOString()));

/** Whether the code would make such a run. */
function makes({ window, ...schedule }: JobSchedule, scheduledFor: Date, runAt: Date): boolean {
  const before = new Date(scheduledFor.getTime() - 1);
  return (
    nextOccurrence(schedule, before)?.getTime() === scheduledFor.getTime() &&
    (window === undefined || windowIn(window, schedule.timezone ?? 'UTC').isOpen(runAt.getTime()))
  );
}

const version = fc.nat(VERSIONS.length - 1);
const minutes = fc.oneof(fc.integer({ min: 0, max: 21 }), fc.integer({ min: 0, max: 300 }));
const step = fc.oneof(
  { weight: 4, arbitrary: fc.record({ do: fc.constant('tick' as const), minutes }) },
  {
    weight: 4,
    arbitrary: fc.record({ do: fc.constant('deploy' as const), version }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('backfill' as const), minutes }) },
  {
    weight: 1,
    arbitrary: fc.record({ do: fc.constant('roll back' as const), by: fc.integer({ min: 1, max: 3 }) }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ do: fc.constantFrom('pause' as const, 'resume' as const, 'resume' as const) }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constantFrom('skip' as const, 'move' as const),
      which: fc.nat(2),
      by: fc.integer({ min: -60, max: 60 }),
    }),
  },
);
type Step = typeof step extends fc.Arbitrary<infer T> ? T : never;

it('no deploy loses an occurrence or leaves one unexplained, whatever operators do meanwhile', async () => {
  interface Version {
    readonly schedule: JobSchedule | null;
    readonly tock: Tock;
  }
  const deployed: Version[] = [];
  const made = (schedule: JobSchedule | null): Version => {
    // Each has never been there before.
    const own = schedule && { schedule: { ...schedule, pauseOnFailure: 100 + deployed.length } };
    const job = defineJob({ name: 'work', priority: deployed.length, ...own, run: () => undefined });
    return { schedule, tock: test.another({ jobs: [job] }) };
  };
  let current = made({ cron: '*/20 * * * *' });
  const deploy = async (after: Version) => {
    const early = await test.sql<{ id: string; scheduled_for: Date; run_at: Date }>(
      `select id, scheduled_for, run_at from tock.job_runs_live where status = 'queued' and trigger = 'cron' and run_at > tock.now()`,
    );
    if ((await after.tock.register()).status !== 'registered') return;
    deployed.push(after);
    current = after;
    const left = await test.sql<{ id: string }>('select id from tock.job_runs_live');
    for (const { id, scheduled_for, run_at } of early) {
      const stays = left.some(run => run.id === id);
      expect(stays, `run ${id}, for ${scheduled_for.toISOString()}`).toBe(
        after.schedule !== null && makes(after.schedule, scheduled_for, run_at),
      );
      seen[stays ? 'kept' : 'withdrawn']++;
    }
  };
  const seen = { kept: 0, withdrawn: 0 };
  let now = START;
  const coming = (which: number) => {
    const { schedule } = current;
    let at = schedule && new Date(now);
    for (let n = 0; n <= which && schedule !== null && at !== null; n++) at = nextOccurrence(schedule, at);
    return at;
  };
  const play = async (each: Step) => {
    const { tock } = current;
    switch (each.do) {
      case 'tick':
        now += each.minutes * MINUTE;
        await test.setClock(new Date(now).toISOString());
        return await tock.tick();
      case 'deploy':
        return await deploy(made(VERSIONS[each.version] ?? null));
      case 'roll back':
        // By then the version in force has not been seen for five minutes.
        now += 6 * MINUTE;
        await test.setClock(new Date(now).toISOString());
        return await deploy(deployed.at(-1 - each.by) ?? current);
      case 'backfill':
        return await tock.schedules.backfill('work', {
          from: new Date(now - each.minutes * MINUTE),
          to: new Date(now),
        });
      case 'skip':
      case 'move': {
        const at = coming(each.which);
        if (at === null) return;
        if (each.do === 'skip') return await tock.schedules.skip('work', at);
        return await tock.schedules.move('work', at, new Date(at.getTime() + each.by * MINUTE));
      }
      default:
        return await tock.schedules[each.do]('work');
    }
  };
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 10, maxLength: 40 }), async steps => {
      for (const each of steps) {
        // What may not be done now, such as a move into the past, changes nothing.
        await play(each).catch((error: unknown) => {
          if (!(error instanceof Error && 'code' in error && String(error.code).startsWith('TOCK_')))
            throw error;
        });
        const { found } = await current.tock.prove({ from: new Date(START - MINUTE) });
        expect(found).toEqual([]);
      }
    }),
    { numRuns: rounds(2, 10), endOnFailure: true },
  );
  expect(seen.kept + seen.withdrawn).toBeGreaterThan(0);
});
