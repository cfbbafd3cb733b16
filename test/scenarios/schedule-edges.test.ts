// Engine: what happens rarely to a schedule: a clock far ahead, a changed jitter, the last run that remains.
import { beforeEach, describe, expect, it } from 'vitest';
import { defineJob, type JobSchedule } from '../../src/index.js';
import { openForEach } from '../support/open.js';
import { reuseTestTock } from '../support/test-tock.js';

const plain = defineJob({ name: 'plain', run: () => null });
const scheduled = (name: string, schedule: JobSchedule) => defineJob({ name, schedule, run: () => null });

const test = openForEach(() => reuseTestTock([plain]));
beforeEach(async () => {
  await test.setClock('2026-03-01T12:00:30Z');
  await test.tock.register();
});

const rows = (definition: string) =>
  test.sql<{ at: Date; delay: number | null; status: string; reason: string | null; count: number }>(
    `select r.scheduled_for as at, extract(epoch from r.run_at - r.scheduled_for)::int as delay, r.status,
       r.skip_reason as reason, r.occurrence_count as count
     from tock.job_runs r join tock.job_definitions d on d.id = r.definition_id
     where d.name = $1 order by r.scheduled_for`,
    [definition],
  );

describe('a clock that was a year ahead, and is set right', () => {
  for (const catchup of ['latest', 'none', 'all'] as const) {
    it(`makes nothing twice and nothing of the past, and goes on where it had been (catchup ${catchup})`, {
      tags: 'check',
    }, async () => {
      const tock = test.another({ jobs: [scheduled('hourly', { cron: '0 * * * *', catchup })] });
      await tock.tick();
      await test.setClock('2027-03-01T12:00:00Z');
      await tock.tick();
      const [ahead] = await tock.schedules.list({ name: 'hourly' });
      expect(ahead).toMatchObject({
        cursor: new Date('2027-03-01T12:00:00Z'),
        nextAt: new Date('2027-03-01T13:00:00Z'),
      });
      const written = await rows('hourly');
      for (const clock of ['2026-03-01T13:00:00Z', '2026-08-01T00:00:00Z', '2027-03-01T12:59:59Z']) {
        await test.setClock(clock);
        expect((await tock.tick()).materialized).toMatchObject({ definitions: 0, runs: 0, skips: 0 });
        await tock.register();
      }
      expect((await tock.schedules.list({ name: 'hourly' }))[0]).toMatchObject({ cursor: ahead?.cursor });
      expect(await rows('hourly')).toEqual(written);
      await test.setClock('2027-03-01T13:00:00Z');
      expect((await tock.tick()).materialized).toMatchObject({ runs: 1, skips: 0 });
    });
  }
});

describe('a jitter that is changed', () => {
  const hourly = { name: 'spread', job: plain, cron: '0 * * * *', overlap: 'allow_all' } as const;

  it('moves what starts from then on, and gives no occurrence a second run', { tags: 'check' }, async () => {
    await test.tock.schedules.upsert({ ...hourly, jitter: '50m' });
    await test.setClock('2026-03-01T13:00:00Z');
    await test.tock.tick();
    const [first] = await rows('spread');
    expect(first).toMatchObject({ status: 'queued', at: new Date('2026-03-01T13:00:00Z') });
    expect(first?.delay).toBeGreaterThan(0);
    await test.tock.schedules.upsert({ ...hourly, jitter: 0 });
    await test.tock.tick();
    await test.setClock('2026-03-01T14:00:00Z');
    await test.tock.tick();
    await test.tock.schedules.upsert({ ...hourly, jitter: '50m' });
    await test.tock.tick();
    await test.setClock('2026-03-01T15:00:00Z');
    await test.tock.tick();
    expect(await rows('spread')).toMatchObject([
      { at: new Date('2026-03-01T13:00:00Z'), status: 'succeeded', delay: first?.delay },
      { at: new Date('2026-03-01T14:00:00Z'), status: 'succeeded', delay: 0 },
      // The same name and the same jitter: the same delay as before.
      { at: new Date('2026-03-01T15:00:00Z'), status: 'queued', delay: first?.delay },
    ]);
    const [keys] = await test.sql<{ count: number }>(
      'select count(*)::int as count from tock.job_occurrences',
    );
    expect(keys?.count).toBe(3);
  });
});

it('remaining = 1 gives one run with two tickers, whichever comes first, in each of ten schedules', {
  tags: 'check',
}, async () => {
  const jobs = Array.from({ length: 10 }, (_, index) =>
    scheduled(`last-${index}`, { cron: '* * * * *', remaining: 1, overlap: 'allow_all' }),
  );
  const [one, two] = [test.another({ jobs }), test.another({ jobs })];
  await one.tick();
  for (const clock of ['12:01:00', '12:02:00', '12:01:00', '12:03:00']) {
    await test.setClock(`2026-03-01T${clock}Z`);
    await Promise.all([one.tick(), two.tick()]);
  }
  for (const { name } of jobs) {
    expect(await rows(name)).toMatchObject([{ status: 'succeeded', count: 1 }]);
    expect(await one.schedules.list({ name })).toMatchObject([{ remaining: 0, nextAt: null }]);
  }
});
