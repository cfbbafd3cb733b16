// What ends first, on three prepared databases: a young one, a history that fills the disk, and workers that are nearly busy.
import { beforeEach, describe, expect, it } from 'vitest';
import type { CapacityReport, Resource, ResourceCode } from '../../../src/index.js';
import { openForEach } from '../../support/open.js';
import { openTestTock } from '../../support/test-tock.js';

const NOW = '2026-06-15T10:30:00.000Z';
const DAY_MS = 86_400_000;
const MIDNIGHT = '2026-06-15T00:00:00Z';

const test = openForEach(openTestTock);
beforeEach(async () => {
  await test.setClock(NOW);
  await test.sql(`update tock.figures_progress set hours_until = '2026-06-15T10:00:00Z', final_until = '2026-06-15T10:29:00Z',
    counted_until = '2026-06-15T10:29:00Z'`);
});

const installed = async (at: string) => await test.sql('update tock.migrations set applied_at = $1', [at]);

/** As many runs in each hour of `days` days before midnight, growing by as many each day; and each takes as long. */
const ended = async (days: number, perHour: number, growth: number, ms: number) =>
  await test.sql(
    `insert into tock.figures_by_hour (at, job, queue, status, reason, run_count, occurrence_count, duration_us, wait_us)
    select h.at, 'plain', 'default', 'succeeded', '', c.runs, 0, c.runs * $4 * 1000, 0
    from generate_series($5::timestamptz - $1 * interval '1 day', $5::timestamptz - interval '1 hour', interval '1 hour') h(at)
    cross join lateral (select $2::bigint + $3::bigint * extract(epoch from h.at - $5::timestamptz + $1 * interval '1 day')::bigint / 86400 as runs) c`,
    [days, perHour, growth, ms, MIDNIGHT],
  );

/** The last 24 hours by minute. */
const lastDay = async (perMinute: number, ms: number, busiest = perMinute) =>
  await test.sql(
    `insert into tock.figures_by_minute (at, job, queue, status, reason, run_count, occurrence_count, duration_us, wait_us)
    select m.at, 'plain', 'default', 'succeeded', '', c.runs, 0, c.runs * $2 * 1000, 0
    from generate_series(tock.now() - interval '24 hours', tock.now() - interval '2 minutes', interval '1 minute') m(at)
    cross join lateral (select case when m.at = '2026-06-15T03:00:00Z' then $3::bigint else $1::bigint end as runs) c`,
    [perMinute, ms, busiest],
  );

const kept = async (runs: number, total: number) => {
  await test.sql(
    `insert into tock.job_runs_finished (id, job, status, run_at, finished_at, payload)
    select -n, 'plain', 'succeeded', tock.now(), tock.now() - n * interval '1 second', '{}' from generate_series(1, $1::integer) n`,
    [runs],
  );
  await test.sql(
    `insert into tock.figures_total (job, queue, status, reason, last_at, run_count, occurrence_count, duration_us, wait_us)
    values ('plain', 'default', 'succeeded', '', tock.now(), $1, 0, 0, 0)`,
    [total],
  );
  await test.sql('analyze tock.job_runs_finished');
};

const find = (report: CapacityReport, code: ResourceCode): Resource => {
  const resource = report.resources.find(each => each.code === code);
  if (resource === undefined) throw new Error(`there is no ${code}`);
  return resource;
};
const daysUntil = (endsAt: Date | null) =>
  endsAt === null ? null : (endsAt.getTime() - Date.parse(NOW)) / DAY_MS;

describe('a young database', () => {
  beforeEach(async () => {
    await installed('2026-06-12T09:00:00Z');
    await ended(2, 50, 0, 10);
    await lastDay(1, 10, 90);
    await kept(2400, 2400);
  });

  it('gives rates and sizes, and no growth', async () => {
    const report = await test.tock.capacity();
    expect(report.at).toEqual(new Date(NOW));
    // The day of the installation is not a whole one.
    expect(report.rates).toMatchObject({ runsPerDay: 1200, growthPerDay: null, peakMinutePerSecond: 1.5 });
    expect(report.rates.peakHourPerSecond).toBeCloseTo((59 + 90) / 3600, 9);
    expect(report.history).toMatchObject({ keptRuns: 2400, keptDays: null });
    const { finished, keys, logs } = report.history.sizes;
    expect(finished).toBeGreaterThan(2400 * 100);
    expect(report.history.bytesPerRun).toBeCloseTo((finished + keys + logs) / 2400, 6);
    expect(report.endsFirst).toBeNull();
    expect(report.resources.every(({ endsAt }) => endsAt === null)).toBe(true);
    expect(find(report, 'disk').limit).toBeNull();
    expect(find(report, 'workers').limit).toBeNull();
  });

  it('counts connections as the server does', async () => {
    const [row] = await test.sql<{ max: number }>(
      `select current_setting('max_connections')::integer - current_setting('superuser_reserved_connections')::integer
        - coalesce(current_setting('reserved_connections', true)::integer, 0) as max`,
    );
    const { used, limit } = find(await test.tock.capacity(), 'connections');
    expect(limit).toBe(row?.max);
    expect(used).toBeGreaterThan(0);
    expect(used).toBeLessThanOrEqual(limit ?? 0);
  });

  it('says when a disk is full with as many runs as today', async () => {
    const { history } = await test.tock.capacity();
    const disk = history.sizes.database + 100 * 1200 * history.bytesPerRun;
    const report = await test.tock.capacity({ disk });
    expect(daysUntil(find(report, 'disk').endsAt)).toBeCloseTo(100, 0);
    expect(report.endsFirst).toBe('disk');
  });
});

it('a history that is never removed fills the disk on the day that a sum by days gives', async () => {
  await installed('2026-01-01T00:00:00Z');
  await ended(56, 1000, 10, 5);
  await lastDay(26, 5);
  await kept(5000, 5000);
  const room = 50_000_000_000;
  const { history } = await test.tock.capacity();
  const report = await test.tock.capacity({ disk: history.sizes.database + room, cores: 64 });
  expect(report.rates.growthPerDay).toBeCloseTo(240, -1);
  expect(report.rates.runsPerDay).toBeCloseTo(24 * (1000 + 10 * 56), -3);
  let [days, bytes] = [0, 0];
  while (bytes < room) {
    bytes += (24 * (1000 + 10 * (56 + days)) + 120) * report.history.bytesPerRun;
    days++;
  }
  const found = daysUntil(find(report, 'disk').endsAt) ?? 0;
  expect(Math.abs(found - days) / days).toBeLessThan(0.02);
  expect(report.endsFirst).toBe('disk');
  expect(report.resources[0]?.code).toBe('disk');
});

describe('a history that is pruned, and workers that are nearly busy', () => {
  beforeEach(async () => {
    await installed('2026-05-17T12:00:00Z');
    await ended(28, 3000, 20, 9000);
    await lastDay(60, 9000);
    await kept(3600, 2_000_000);
    await test.sql(`insert into tock.workers (id, kind, host, pid, capacity, seen_at)
      values (gen_random_uuid(), 'daemon', 'web-1', 1, 10, tock.now()), (gen_random_uuid(), 'daemon', 'web-2', 1, 2, tock.now()),
        (gen_random_uuid(), 'daemon', 'gone', 1, 500, tock.now() - interval '1 hour'), (gen_random_uuid(), 'tick', 'web-1', 2, 24, tock.now())`);
  });

  it('names the slots of the workers, and when they are all taken', async () => {
    const report = await test.tock.capacity({ disk: '100GB', cores: 8 });
    const workers = find(report, 'workers');
    // 60 runs a minute of 9 seconds are 9 at once.
    expect(workers).toMatchObject({ used: 9, limit: 12 });
    expect(report.endsFirst).toBe('workers');
    const runsPerDay = 24 * (3000 + 20 * 27.5);
    expect(Math.abs((daysUntil(workers.endsAt) ?? 0) - (runsPerDay * (12 / 9 - 1)) / 480)).toBeLessThan(1);
  });

  it('takes the history for as long as it is', async () => {
    const { history } = await test.tock.capacity();
    expect(history.keptDays).toBeCloseTo(3600 / (24 * (3000 + 20 * 27.5)), 3);
    // It grows with the runs of a day only.
    const report = await test.tock.capacity({ disk: '1TB' });
    expect(find(report, 'disk').endsAt).toBeNull();
  });

  it('says that what is used up has ended now', async () => {
    await test.sql(`update tock.workers set capacity = 1`);
    const report = await test.tock.capacity();
    expect(report.endsFirst).toBe('workers');
    expect(daysUntil(find(report, 'workers').endsAt)).toBe(0);
  });
});

it('refuses options that it does not know, and sizes that it cannot read', async () => {
  await expect(test.tock.capacity({ disc: '1GB' } as never)).rejects.toThrow(/"disc".*disk/);
  await expect(test.tock.capacity({ disk: 'much' })).rejects.toMatchObject({ code: 'TOCK_BAD_OPTION' });
});

it('works for an empty database', async () => {
  const report = await test.tock.capacity();
  expect(report.rates).toMatchObject({ lastDayRuns: 0, runsPerDay: 0, growthPerDay: null });
  expect(report.endsFirst).toBeNull();
});
