// The database's clock, six hours ahead for a while and then right again: who says so, and how everything goes on.
import { beforeEach, describe, expect, it } from 'vitest';
import { defineJob, type JobSchedule } from '../../src/index.js';
import { openForEach } from '../support/open.js';
import { reuseTestTock } from '../support/test-tock.js';

const lines: { event?: string; message: string | undefined }[] = [];
const note = (fields: { event?: string }, message?: string) =>
  void lines.push({ ...(fields.event === undefined ? {} : { event: fields.event }), message });
const logger = { debug: note, info: note, warn: note, error: note, child: () => logger };
const job = (name: string, schedule?: JobSchedule) =>
  defineJob({ name, ...(schedule ? { schedule } : {}), run: () => null });

const test = openForEach(() =>
  reuseTestTock(
    [
      job('latest', { cron: '*/30 * * * *' }),
      job('all', { cron: '*/30 * * * *', catchup: 'all' }),
      job('none', { cron: '*/30 * * * *', catchup: 'none' }),
      job('plain'),
    ],
    { logger },
  ),
);
beforeEach(async () => {
  lines.length = 0;
  await test.setClock('2026-03-01T11:59:00Z');
  await test.tock.tick();
});

const at = async (time: string) => {
  await test.setClock(`2026-03-01T${time}Z`);
  return await test.tock.tick();
};
/** Runs of a definition that were executed, as `12:30`, in the order of their occurrences. */
const executed = async (name: string) => {
  const rows = await test.sql<{ time: string }>(
    `select to_char(r.scheduled_for at time zone 'UTC', 'HH24:MI') as time
     from tock.job_runs r join tock.job_definitions d on d.id = r.definition_id
     where d.name = $1 and r.status = 'succeeded' order by r.scheduled_for, r.id`,
    [name],
  );
  return rows.map(row => row.time);
};
const HALF_HOURS = Array.from(
  { length: 13 },
  (_, n) => `${12 + Math.floor(n / 2)}:${n % 2 === 0 ? '00' : '30'}`,
);
/** Six hours ahead at 12:01, right again at 12:02. */
const leap = async () => {
  await at('12:00:00');
  await at('18:01:00');
};

describe('a clock that was set back', () => {
  it('is said once in the log, with the command, and in the status as long as it lasts', async () => {
    await leap();
    expect((await test.tock.status()).definitions).toMatchObject({ ahead: 0, aheadMs: 0 });
    for (const minute of ['12:02:00', '12:03:00']) await at(minute);
    expect(lines.filter(line => line.event === 'clock.set_back')).toEqual([
      {
        event: 'clock.set_back',
        message: expect.stringMatching(
          /3 definitions get no runs .* for up to 5h 58m; .*tock reset-cursor --all/,
        ),
      },
    ]);
    expect((await test.tock.status()).definitions).toMatchObject({ ahead: 3, aheadMs: 357 * 60_000 });
  });

  it('stops schedules until cursors are reset; then each occurrence comes once, at its time', async () => {
    await leap();
    expect((await at('12:35:00')).materialized).toMatchObject({ definitions: 0 });
    const resets = await test.tock.schedules.resetCursors();
    expect(resets).toEqual(
      ['all', 'latest', 'none'].map(definition => ({
        definition,
        from: new Date('2026-03-01T18:00:00Z'),
        to: new Date('2026-03-01T12:00:00Z'),
        nextAt: new Date('2026-03-01T12:30:00Z'),
      })),
    );
    expect(await test.tock.schedules.resetCursors()).toEqual([]);
    await at('12:35:01');
    for (const time of HALF_HOURS.slice(2)) await at(`${time}:01`);
    await at('18:30:00');
    // Those that were made while the clock was wrong do not come twice; those that it skipped come after all.
    expect(await executed('latest')).toEqual([...HALF_HOURS, '18:30']);
    expect(await executed('all')).toEqual([...HALF_HOURS, '18:30']);
    // What was late at 12:35 is skipped, as the policy says, and on record.
    expect(await executed('none')).toEqual([...HALF_HOURS.filter(time => time !== '12:30'), '18:30']);
  });

  it('does not let an occurrence that has had its run displace another one', async () => {
    await test.tock.schedules.upsert({
      name: 'displacing',
      job: 'plain',
      cron: '*/30 * * * *',
      overlap: 'cancel_other',
      queue: 'held',
    });
    await leap();
    await test.tock.queues.pause('held');
    await at('12:02:00');
    await test.tock.schedules.resetCursors();
    await at('17:45:00');
    const waiting = () => test.tock.runs.list({ definition: 'displacing', status: 'queued' });
    expect(await waiting()).toMatchObject([{ scheduledFor: new Date('2026-03-01T17:30:00Z') }]);
    await at('18:00:01');
    expect(await waiting()).toMatchObject([{ scheduledFor: new Date('2026-03-01T17:30:00Z') }]);
    await at('18:30:01');
    expect(await waiting()).toMatchObject([{ scheduledFor: new Date('2026-03-01T18:30:00Z') }]);
  });

  it('leaves the cursor of a definition that was edited by the wrong clock at now', async () => {
    await leap();
    await test.tock.schedules.upsert({ name: 'late', job: 'plain', cron: '*/10 * * * *' });
    await test.tock.schedules.pause('late');
    await test.tock.schedules.resume('late');
    await test.setClock('2026-03-01T12:25:00Z');
    expect(await test.tock.schedules.resetCursors({ names: ['late'] })).toMatchObject([
      { to: new Date('2026-03-01T12:25:00Z'), nextAt: new Date('2026-03-01T12:30:00Z') },
    ]);
    // Else dead runs would not count towards pauseOnFailure for six hours.
    expect(await test.sql(`select from tock.job_definitions where resumed_at > tock.now()`)).toEqual([]);
  });

  it('does not hold back a queue with a rate', async () => {
    await test.tock.queues.set('mail', { rate: { count: 2, per: '1h' } });
    /** Ticks, and counts the runs of the queue that have been executed until then. */
    const started = async (time: string) => {
      await at(time);
      return (await test.tock.runs.list({ job: 'plain', status: 'succeeded' })).length;
    };
    for (let n = 0; n < 4; n++) await test.tock.enqueue('plain', {}, { queue: 'mail' });
    expect(await started('18:01:00')).toBe(1);
    expect(await started('12:02:00')).toBe(2);
    // And the rate holds again: one each half hour.
    expect(await started('12:31:59')).toBe(2);
    expect(await started('12:32:00')).toBe(3);
  });

  it('does not keep a newer version in force that has gone', async () => {
    const jobs = [job('latest', { cron: '*/30 * * * *' })];
    const newer = test.another({ jobs, allowVanishing: true });
    await test.setClock('2026-03-01T18:01:00Z');
    await newer.register();
    expect((await at('12:02:00')).registered.status).toBe('superseded');
    expect(lines.filter(line => line.event === 'clock.set_back')).toHaveLength(1);
    expect((await at('12:06:00')).registered.status).toBe('superseded');
    expect((await at('12:08:00')).registered.status).toBe('registered');
  });

  it('shows workers that were last seen by the wrong clock as silent', async () => {
    await test.setClock('2026-03-01T18:01:00Z');
    await test.sql(
      `insert into tock.workers (id, kind, host, pid, capacity, heartbeat_ms) values (gen_random_uuid(), 'daemon', 'h', 1, 1, 15000)`,
    );
    expect((await test.tock.status()).workers).toMatchObject([{ silent: false }]);
    await test.setClock('2026-03-01T12:02:00Z');
    expect((await test.tock.status()).workers).toMatchObject([{ silent: true }]);
  });
});
