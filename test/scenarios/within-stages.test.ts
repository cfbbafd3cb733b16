// Runs whose data interval is not complete yet: what looks at them again, what does not, and what lets them start.
import { beforeEach, describe, expect, it } from 'vitest';
import { type AnyJob, defineJob, type JobSchedule } from '../../src/index.js';
import type { Logger } from '../../src/model/logger.js';
import { openForEach } from '../support/open.js';
import { openTestTock, reuseTestTock } from '../support/test-tock.js';

const timezone = 'Europe/Berlin';
const hourly = (more: JobSchedule = {}): AnyJob =>
  defineJob({
    name: 'hourly',
    queue: 'hours',
    schedule: { cron: '0 * * * *', timezone, catchup: 'all', overlap: 'allow_all', ...more },
    run: () => null,
  });
const daily = (more: JobSchedule = {}): AnyJob =>
  defineJob({
    name: 'daily',
    schedule: { cron: '0 0 * * *', timezone, after: { all: 'hourly', within: 'dataInterval' }, ...more },
    async run(ctx) {
      let count = 0;
      for await (const { status } of ctx.group.results()) if (status === 'succeeded') count++;
      return count;
    },
  });
const chained = defineJob({ name: 'chained', schedule: { after: 'hourly' }, run: () => null });
const MIDNIGHT = '2026-05-02T22:00:00Z';
const outbox = `select kind from tock.job_outbox`;
let logged: unknown[];
const note = (fields: unknown) => void logged.push(fields);
const logger: Logger = { debug: () => {}, info: () => {}, warn: note, error: note, child: () => logger };
beforeEach(() => {
  logged = [];
});

describe('before all occurrences have a run', () => {
  const test = openForEach(reuseTestTock);
  const open = async (at: string, ...jobs: AnyJob[]) => {
    await test.setClock(at);
    const tock = test.another({ jobs, logger });
    await tock.tick();
    return tock;
  };
  type Opened = Awaited<ReturnType<typeof open>>;
  const tickAt = async (tock: Opened, at: string, queues?: readonly string[]) => {
    await test.setClock(at);
    await tock.tick(queues === undefined ? {} : { queues: [...queues] });
  };
  const dailyRuns = async () => (await test.tock.runs.list({ definition: 'daily' })).toReversed();
  /** Of 19:00 and 20:00 UTC there are only skipped rows then. */
  const pauseTwoHours = async (tock: Opened) => {
    await tickAt(tock, '2026-05-02T18:30:00Z');
    await tock.schedules.pause('hourly', { note: 'maintenance' });
    await test.setClock('2026-05-02T20:30:00Z');
    await tock.schedules.resume('hourly');
  };

  it('waits for a definition that is broken for want of a calendar, and is found when that is made', async () => {
    const tock = await open('2026-05-01T22:30:00Z', hourly({ exclude: [{ calendar: 'holidays' }] }), daily());
    await tickAt(tock, MIDNIGHT);
    await tock.tick();
    expect(await dailyRuns()).toMatchObject([{ status: 'queued', waits: [] }]);
    expect((await tock.why('daily', MIDNIGHT)).sentences.join()).toContain(
      'hourly: 0 of 0 have succeeded; it is broken',
    );
    await test.setClock('2026-05-02T22:10:00Z');
    await tock.calendars.set('holidays', { dates: ['2026-12-25'] });
    await tock.tick();
    await tock.tick();
    // What it would have had while it was broken, nobody knows.
    expect(await dailyRuns()).toMatchObject([{ status: 'succeeded', output: 0 }]);
  });

  it('cancelled and retried, it waits on, or starts where all of them have come meanwhile', {
    tags: 'check',
  }, async () => {
    const tock = await open('2026-05-01T22:30:00Z', hourly(), daily());
    await pauseTwoHours(tock);
    await tickAt(tock, MIDNIGHT);
    const id = (await dailyRuns())[0]?.id ?? '';
    const again = async (meanwhile = async () => {}) => {
      await tock.runs.cancel(id);
      await meanwhile();
      await tock.runs.retry(id);
      await tock.tick();
      return await tock.runs.get(id);
    };
    expect(await again()).toMatchObject({ status: 'queued', attempts: 0, waits: [] });
    expect(await test.sql(outbox)).toEqual([]);
    const backfilled = async () => {
      await tock.schedules.backfill('hourly', { from: '2026-05-02T19:00:00Z', to: '2026-05-02T20:00:01Z' });
      await tock.tick();
    };
    expect(await again(backfilled)).toMatchObject({ status: 'succeeded', output: 23 });
  });

  it('continued by an operator, it is the join of the runs that there are, and waits for their ends', {
    tags: 'check',
  }, async () => {
    const tock = await open('2026-05-01T22:30:00Z', hourly(), daily());
    await pauseTwoHours(tock);
    await tickAt(tock, MIDNIGHT, ['default']);
    const [run] = await dailyRuns();
    expect(run).toMatchObject({ status: 'queued', waits: [] });
    expect(await tock.continueGroup(run?.id ?? '')).toBe(true);
    await tock.tick({ queues: ['default'] });
    expect(await dailyRuns()).toMatchObject([
      { status: 'queued', waits: [{ needsSuccess: false, runs: { count: 21, left: 1 } }] },
    ]);
    await tock.tick();
    await tock.tick();
    expect(await dailyRuns()).toMatchObject([{ status: 'succeeded', output: 21 }]);
    expect(await tock.continueGroup(run?.id ?? '')).toBe(false);
  });

  it('is not looked at again for what ends after its interval, or is backfilled outside of it', {
    tags: 'check',
  }, async () => {
    const tock = await open('2026-05-01T22:30:00Z', hourly(), daily());
    await pauseTwoHours(tock);
    await tickAt(tock, MIDNIGHT);
    await tock.tick();
    const [run] = await dailyRuns();
    expect(run).toMatchObject({ status: 'queued', waits: [] });
    const lockedBy = async () =>
      (await test.sql(`select xmax::text from tock.job_runs_live where id = ${run?.id ?? ''}`))[0]?.['xmax'];
    const before = await lockedBy();
    await tickAt(tock, '2026-05-03T05:00:00Z');
    await tock.schedules.backfill('hourly', { from: '2026-05-01T10:00:00Z', to: '2026-05-01T12:00:01Z' });
    await tock.tick();
    await tock.tick();
    expect(await lockedBy()).toBe(before);
    await tock.schedules.backfill('hourly', { from: '2026-05-02T19:00:00Z', to: '2026-05-02T20:00:01Z' });
    await tock.tick();
    await tock.tick();
    expect(await dailyRuns()).toMatchObject([{ status: 'succeeded', output: 23 }]);
  });

  it('is looked at again for what came before its interval, and was not considered by then', {
    tags: 'check',
  }, async () => {
    const fridays = hourly({ cron: '0 12 * * 5' });
    const tock = await open('2026-04-29T22:30:00Z', fridays, daily());
    await tock.schedules.pause('hourly', { note: 'maintenance' });
    await tickAt(tock, '2026-05-01T22:00:00Z');
    await tickAt(tock, MIDNIGHT);
    // Friday's, of 10:00 UTC, is the next one still, also for Saturday.
    const statuses = async () => (await dailyRuns()).map(({ status }) => status);
    expect(await statuses()).toEqual(['skipped', 'queued', 'queued']);
    await test.setClock('2026-05-03T08:00:00Z');
    await tock.schedules.resume('hourly');
    await tock.tick();
    await tock.tick();
    expect(await statuses()).toEqual(['skipped', 'queued', 'succeeded']);
  });

  it('moved to before the end of its interval, it is in the outbox for no longer than what is due', {
    tags: 'check',
  }, async () => {
    const tock = await open('2026-05-01T22:30:00Z', hourly(), daily());
    await tock.schedules.move('daily', MIDNIGHT, '2026-05-02T20:15:00Z', { note: 'early' });
    await tickAt(tock, '2026-05-02T20:15:00Z');
    expect(await dailyRuns()).toMatchObject([{ status: 'queued', waits: [] }]);
    expect(await test.sql(outbox)).toEqual([]);
    await tickAt(tock, '2026-05-02T21:00:00Z');
    await tock.tick();
    expect(await test.sql(outbox)).toEqual([]);
    // The last of them, and the next one is of the next day.
    expect(await dailyRuns()).toMatchObject([{ status: 'succeeded', output: 23 }]);
  });

  it('is not in the outbox while everything is frozen, and found by what is made after that', {
    tags: 'check',
  }, async () => {
    const tock = await open('2026-05-01T22:30:00Z', hourly(), daily());
    await tickAt(tock, '2026-05-02T20:30:00Z');
    await tock.freeze({ until: new Date('2026-05-02T22:30:00Z'), note: 'maintenance' });
    await test.setClock('2026-05-02T22:10:00Z');
    await tock.schedules.backfill('daily', { from: MIDNIGHT, to: '2026-05-02T22:00:01Z' });
    await tock.tick();
    expect(await dailyRuns()).toMatchObject([{ status: 'queued', waits: [] }]);
    expect(await test.sql(outbox)).toEqual([]);
    await tickAt(tock, '2026-05-02T22:30:00Z');
    await tock.tick();
    await tock.tick();
    expect(await dailyRuns()).toMatchObject([{ status: 'succeeded', output: 23 }]);
  });
});

describe('where it cannot be joined', () => {
  const test = openForEach(openTestTock);

  it('holds up nothing else, is tried again, and is logged', { tags: 'check' }, async () => {
    await test.setClock('2026-05-01T22:30:00Z');
    const tock = test.another({ jobs: [hourly(), daily(), chained], logger });
    await tock.tick();
    await test.sql(
      `create function tock.refuse() returns trigger language plpgsql as $$ begin raise 'refused'; end $$`,
    );
    await test.sql(
      `create trigger refuse before insert on tock.job_waits for each row execute function tock.refuse()`,
    );
    await test.setClock(MIDNIGHT);
    await tock.tick();
    await tock.tick();
    const count = async (definition: string) =>
      (await tock.runs.list({ definition, status: ['succeeded'] })).length;
    expect(await count('chained')).toBe(24);
    expect(await count('daily')).toBe(0);
    expect(await test.sql(outbox)).toEqual([{ kind: 'interval' }]);
    expect(logged).toContainEqual(
      expect.objectContaining({ event: 'interval.failed', reason: 'refused (P0001)' }),
    );
    await test.sql('drop trigger refuse on tock.job_waits');
    await tock.tick();
    expect(await count('daily')).toBe(1);
  });
});
