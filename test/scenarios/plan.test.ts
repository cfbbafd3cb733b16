// `tock.plan`: what other code would change, against the schedules, exceptions, calendars and runs of a database.
import { beforeEach, describe, expect, it } from 'vitest';
import { type AnyJob, defineJob, defineQueue, type JobSchedule, type PlanOptions } from '../../src/index.js';
import { openForEach } from '../support/open.js';
import { reuseTestTock } from '../support/test-tock.js';

const NOW = '2026-03-02T00:00:00Z';
const job = (name: string, schedule?: JobSchedule, more: object = {}): AnyJob =>
  defineJob({ name, run: () => null, ...(schedule && { schedule }), ...more });
const test = openForEach(() => reuseTestTock(['work', 'one'].map(name => job(name))));
beforeEach(async () => {
  await test.setClock(NOW);
});

const daily = (more: object = {}) => job('daily', { cron: '0 2 * * *', ...more });
const register = async (...jobs: AnyJob[]) => await test.another({ jobs }).register();
const plan = async (jobs: readonly AnyJob[], options: PlanOptions = {}) =>
  await test.another({ jobs }).plan(options);
const changes = async (...jobs: AnyJob[]) =>
  (await plan(jobs)).changes.map(
    ({ definition, change, options, appear, vanish, move, examples: [first] }) => {
      const time = (at: Date | null | undefined) => at?.toISOString().slice(5, 16) ?? '';
      const example = first && `${first.kind} ${time(first.at)} ${time(first.to)}`.trim();
      return [definition, change, options.join(), appear, vanish, move, example];
    },
  );

/** Runs of a definition that have ended, one an hour, the last an hour ago. */
async function ran(
  definition: string,
  durations: readonly number[],
  more: { from?: string; wait?: string } = {},
) {
  const { from = NOW, wait = '0' } = more;
  await test.sql(
    `
insert into tock.job_runs_finished (id, definition_id, job, status, attempts, fence, trigger, run_at, scheduled_for, created_at, started_at, finished_at, idempotency_key)
select nextval('tock.job_runs_id_seq'), d.id, d.job, 'succeeded', 1, 1, 'cron', t.at, t.at, t.at, t.at + $4::interval, t.at + $4::interval + t.minutes * interval '1 minute',
  'cron:' || d.id || ':' || extract(epoch from t.at)
from tock.job_definitions d cross join lateral (
  select $3::timestamptz - m.place * interval '1 hour' as at, m.minutes from unnest($2::float8[]) with ordinality as m(minutes, place)) t
where d.name = $1`,
    [definition, durations, from, wait],
  );
}

describe('what other code changes', () => {
  it('is nothing for the same code, and nothing is written', async () => {
    await register(daily());
    const before = await test.sql('select fingerprint, seen_at from tock.registrations');
    const { changes: none, before: was, after, appear, vanish, move } = await plan([daily()]);
    expect([none, appear, vanish, move]).toEqual([[], 0, 0, 0]);
    expect(was).toEqual(after);
    expect(after).toMatchObject({ definitions: 1, starts: 7 });
    expect(await test.sql('select fingerprint, seen_at from tock.registrations')).toEqual(before);
  });

  it('is told for an edit of cron and of the zone, a new job, and one that is removed', async () => {
    await register(daily(), job('old', { every: '1d', phase: '4h' }));
    expect(await changes(daily({ cron: '0 3 * * *' }), job('new', { cron: '30 6 * * 1' }))).toEqual([
      ['daily', 'edited', 'cron', 0, 0, 7, 'move 03-02T02:00 03-02T03:00'],
      ['new', 'added', '', 1, 0, 0, 'appear 03-02T06:30'],
      ['old', 'removed', '', 0, 7, 0, 'vanish 03-02T04:00'],
    ]);
    expect(
      await changes(daily({ timezone: 'Europe/Berlin' }), job('old', { every: '1d', phase: '4h' })),
    ).toEqual([['daily', 'edited', 'timezone', 0, 0, 7, 'move 03-02T02:00 03-02T01:00']]);
  });

  it('is not said of what an option changes that has no part in when it runs', async () => {
    await register(daily());
    const [change] = await changes(daily({ overlap: 'buffer_one' }));
    expect(change).toEqual(['daily', 'edited', 'overlap', 0, 0, 0, undefined]);
  });

  it('follows a job to its new name', async () => {
    await register(job('old', { cron: '0 2 * * *' }));
    const { changes: found } = await plan([job('new', { cron: '0 3 * * *' }, { aliases: ['old'] })]);
    expect(found).toMatchObject([{ definition: 'new', renamedFrom: 'old', change: 'edited', move: 7 }]);
  });

  it('leaves what was made at run time as it is, and what is paused', async () => {
    await register(daily(), job('work'), job('held', { cron: '0 5 * * *' }));
    await test.tock.schedules.upsert({ name: 'tenant', job: 'work', cron: '0 7 * * *' });
    await test.tock.schedules.pause('held');
    const found = await plan([daily(), job('work'), job('held', { cron: '0 6 * * *' })]);
    expect(found.changes).toMatchObject([
      { definition: 'held', appear: 0, vanish: 0, move: 0, reason: 'paused' },
    ]);
    expect(found.leftOut).toEqual([{ name: 'held', reason: 'paused' }]);
    expect(found.after).toMatchObject({ definitions: 2, starts: 14 });
  });

  it('knows what an operator has skipped and moved', async () => {
    await register(daily());
    await test.tock.schedules.skip('daily', '2026-03-04');
    await test.tock.schedules.move('daily', '2026-03-05', '2026-03-05T11:30:00Z');
    const same = await plan([daily()]);
    expect([same.changes, same.after.starts]).toEqual([[], 6]);
    const starts = same.after.hours
      .filter(({ count }) => count > 0)
      .map(({ start }) => start.toISOString().slice(5, 13));
    expect(starts).toEqual(['03-02T02', '03-03T02', '03-05T11', '03-06T02', '03-07T02', '03-08T02']);
    // An edit takes away the occurrences that the exceptions are of.
    expect(await changes(daily({ cron: '0 3 * * *' }))).toEqual([
      ['daily', 'edited', 'cron', 1, 0, 6, 'move 03-02T02:00 03-02T03:00'],
    ]);
  });

  it('knows the dates of calendars, and says which one is missing', { tags: 'check' }, async () => {
    await register(daily());
    await test.tock.calendars.set('holidays', { dates: ['2026-03-04', '2026-03-05'] });
    expect(await changes(daily({ exclude: [{ calendar: 'holidays' }] }))).toEqual([
      ['daily', 'edited', 'exclude', 0, 2, 0, 'vanish 03-04T02:00'],
    ]);
    const { leftOut, vanish } = await plan([daily({ exclude: [{ calendar: 'hollidays' }] })]);
    expect(leftOut).toEqual([{ name: 'daily', reason: 'its calendar hollidays is not known' }]);
    expect(vanish).toBe(7);
  });
});

describe('what the runs would do', () => {
  it('is simulated with the durations of the last runs: overlap skips, before and after', async () => {
    const often = (more: object = {}) => job('often', { cron: '*/10 * * * *', ...more });
    await register(often());
    await ran(
      'often',
      Array.from({ length: 5 }, () => 25),
    );
    const found = await plan([often({ cron: '*/5 * * * *' })], { days: 1 });
    expect(found.before).toMatchObject({ starts: 48, skips: { overlap: 96 } });
    expect(found.after).toMatchObject({
      skips: { overlap: 288 - found.after.starts },
      overlaps: [{ definition: 'often', skips: 288 - found.after.starts }],
    });
    expect(found.withoutDurations).toBe(0);
  });

  it('waits for a limit of the job, of a queue in code, and of the workers', { tags: 'check' }, async () => {
    const jobs = (more: object = {}) => ['a', 'b'].map(name => job(name, { cron: '0 * * * *' }, more));
    await register(...jobs());
    for (const name of ['a', 'b']) await ran(name, [10, 10, 10]);
    expect((await plan(jobs(), { days: 1 })).after.late.runs).toBe(0);
    const queues = [defineQueue({ name: 'default', concurrency: 1 })];
    const found = await test.another({ jobs: jobs(), queues }).plan({ days: 1 });
    expect(found.before.late.runs).toBe(0);
    expect(found.after.lateFor).toEqual([
      { cause: 'queue:default', runs: 24, p95Ms: 600_000, maxMs: 600_000 },
    ]);
    await test.tock.queues.set('default', { rate: { count: 1, per: '5m' } });
    expect((await plan(jobs(), { days: 1 })).before.lateFor).toMatchObject([
      { cause: 'queue:default', runs: 24 },
    ]);

    const one = job('one', { cron: '0 * * * *' }, { concurrency: { limit: 1 } });
    await test.another({ jobs: [one], allowVanishing: true }).register();
    await test.tock.schedules.upsert({ name: 'two', job: 'one', cron: '0 * * * *' });
    await test.tock.queues.remove('default');
    await ran('one', [10]);
    // The second one has had no run: its durations are those of its job.
    expect((await plan([one], { days: 1 })).after.lateFor).toMatchObject([
      { cause: 'job:one', runs: 24, p95Ms: 600_000 },
    ]);
  });

  it('has what runs after others start when they have ended', async () => {
    const jobs = [daily(), job('report', { after: 'daily' })];
    await register(...jobs);
    await ran('daily', [30]);
    const { after, changes: none } = await plan(jobs, { days: 1 });
    expect(none).toEqual([]);
    expect(
      after.busiest.map(({ minute, definitions }) => [minute.toISOString().slice(11, 16), definitions]),
    ).toEqual([
      ['02:00', [{ name: 'daily', count: 1 }]],
      ['02:30', [{ name: 'report', count: 1 }]],
    ]);
  });

  it('breaks conditions, with what to do', { tags: 'check' }, async () => {
    await register(daily());
    const crowd = Array.from({ length: 5 }, (_, index) => job(`d${index}`, { cron: '0 2 * * *' }));
    const { broken } = await plan(crowd, { maxStartsPerMinute: 4, noVanishing: true });
    expect(broken).toEqual([
      {
        condition: 'max-starts-per-minute',
        text: '5 runs start in the minute of 2026-03-02T02:00Z, and at most 4 may: add jitter to what starts then, or move it',
      },
      {
        condition: 'no-vanishing',
        text: '7 occurrences vanish of daily: keep them in code, or leave --no-vanishing out',
      },
    ]);
    expect((await plan(crowd, { maxStartsPerMinute: 5 })).broken).toEqual([]);
    // Also one that would have come only after the window.
    const yearly = job('yearly', { cron: '0 0 1 1 *' });
    await register(daily(), yearly);
    expect((await plan([daily()], { noVanishing: true })).broken).toMatchObject([
      { condition: 'no-vanishing' },
    ]);
    expect((await plan([daily(), yearly], { noVanishing: true })).broken).toEqual([]);
  });
});

describe('the check', () => {
  it('predicts days that are over from what was known before them, and shows what came', async () => {
    await test.setClock('2026-02-27T00:00:00Z');
    const jobs = ['a', 'b'].map(name => job(name, { cron: '0 * * * *' }, { queue: 'slow' }));
    await register(...jobs, daily());
    await test.tock.queues.set('slow', { concurrency: 1 });
    for (const name of ['a', 'b']) await ran(name, [10, 10], { from: '2026-02-28T00:00:00Z' });
    await test.setClock(NOW);
    // What came: 20 of the runs of `b` waited for 9 minutes.
    await ran(
      'a',
      Array.from({ length: 24 }, () => 10),
    );
    await ran(
      'b',
      Array.from({ length: 20 }, () => 10),
      { wait: '9 minutes' },
    );
    await test.sql(`update tock.job_definitions set cursor = $1`, [NOW]);
    const { check } = await test.another({ jobs: [...jobs, daily()] }).plan({ days: 1, check: true });
    expect(check).toEqual({
      from: new Date('2026-03-01T00:00:00Z'),
      to: new Date(NOW),
      definitions: 2,
      leftOut: 1,
      predicted: { starts: 48, overlapSkips: 0, late: { runs: 24, p95Ms: 600_000, maxMs: 600_000 } },
      real: { starts: 44, overlapSkips: 0, late: { runs: 20, p95Ms: 540_000, maxMs: 540_000 } },
    });
  });

  it('leaves out what was edited or paused since', { tags: 'check' }, async () => {
    await test.setClock('2026-02-27T00:00:00Z');
    await register(daily());
    await ran('daily', [1], { from: '2026-02-28T00:00:00Z' });
    await test.setClock('2026-03-01T12:00:00Z');
    await test.tock.schedules.pause('daily');
    await test.tock.schedules.resume('daily');
    await test.setClock(NOW);
    expect((await plan([daily()], { check: true, days: 1 })).check).toMatchObject({
      definitions: 0,
      leftOut: 1,
    });
    expect((await plan([daily()])).check).toBeNull();
  });
});

describe('bad input', () => {
  it.each([
    [{ to: '2026-03-01T00:00:00Z' }, 'TOCK_BAD_TIME', 'is not after from'],
    [{ to: '2027-04-01T00:00:00Z' }, 'TOCK_BAD_TIME', 'longer than a year'],
    [{ from: 'yesterday' }, 'TOCK_BAD_TIME', 'from'],
    [{ days: 0 }, 'TOCK_BAD_OPTION', 'days 0 is not a whole number from 1 to 366'],
    [{ days: 2, to: '2026-03-05T00:00:00Z' }, 'TOCK_BAD_OPTION', 'days and to are both given'],
    [{ maxStartsPerMinute: 1.5 }, 'TOCK_BAD_OPTION', 'maxStartsPerMinute 1.5'],
    [{ timezone: 'Mars/Base' }, 'TOCK_BAD_SCHEDULE', 'Mars/Base'],
    [{ horizon: 3 } as never, 'TOCK_BAD_OPTION', 'horizon'],
  ] as const)('%j is refused: %s', { tags: 'check' }, async (options, code, message) => {
    const refused = plan([daily()], options);
    await expect(refused).rejects.toMatchObject({
      code,
      message: expect.stringContaining(message) as string,
    });
  });

  it('more than five million occurrences are refused, with the remedy', { tags: 'check' }, async () => {
    const jobs = Array.from({ length: 9 }, (_, index) => job(`s${index}`, { every: '1s' }));
    await expect(plan(jobs)).rejects.toThrow('simulate a shorter window');
  });
});
