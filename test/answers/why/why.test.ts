// Engine: why a definition did, or did not, run at a time; each verdict on a real ledger.
import { describe, expect, it } from 'vitest';
import { Dead, defineJob, type JobSchedule, type Tock, type Why } from '../../../src/index.js';
import { openForEach } from '../../support/open.js';
import { reuseTestTock } from '../../support/test-tock.js';

const scheduled = (name: string, schedule?: JobSchedule, run: () => unknown = () => null) =>
  defineJob({ name, ...(schedule === undefined ? {} : { schedule }), retry: { maxAttempts: 1 }, run });

const test = openForEach(reuseTestTock, ({ setClock }) => setClock('2026-03-01T12:00:30Z'));

/** A tick registers, then another one at `clock` does what is due. */
async function tickAt(tock: Tock, clock: string): Promise<void> {
  await tock.tick();
  await test.setClock(clock);
  await tock.tick();
}
const told = ({ sentences }: Why) => sentences.join('\n');

describe('a time that is an occurrence', () => {
  it('has its run, with attempts, times and worker', async () => {
    const tock = test.another({ jobs: [scheduled('hourly', { cron: '0 * * * *' })] });
    await tickAt(tock, '2026-03-01T13:00:00Z');
    const why = await tock.why('hourly', '2026-03-01T13:00:00Z');
    expect(why).toMatchObject({
      definition: 'hourly',
      timezone: 'UTC',
      instant: new Date('2026-03-01T13:00:00Z'),
      local: '2026-03-01 13:00',
      verdict: 'succeeded',
      run: { status: 'succeeded', attempts: 1, trigger: 'cron' },
      occurrences: [],
    });
    expect(why.sentences[0]).toBe('2026-03-01T13:00:00Z is an occurrence');
    expect(why.sentences[1]).toMatch(
      /^run \d+: it succeeded: attempt 1 of 1 ran from 2026-03-01T13:00:00Z and took .* on worker [\da-f-]+, which/,
    );
  });

  it('is found by local time, by a Date, and by the time alone for today', { tags: 'check' }, async () => {
    const tock = test.another({
      jobs: [scheduled('berlin', { cron: '0 14 * * *', timezone: 'Europe/Berlin' })],
    });
    await tickAt(tock, '2026-03-01T13:00:00Z');
    const times = ['2026-03-01T14:00', '2026-03-01 14:00', '14:00', new Date('2026-03-01T13:00:00.400Z')];
    for (const time of times) {
      expect(await tock.why('berlin', time)).toMatchObject({
        local: '2026-03-01 14:00',
        verdict: 'succeeded',
      });
    }
  });

  it('tells of a run that is dead, with its error, or cancelled, or waits', { tags: 'check' }, async () => {
    const die = () => {
      throw new Dead('no paper');
    };
    const tock = test.another({
      jobs: [
        scheduled('doomed', { cron: '0 * * * *' }, die),
        scheduled('later', { cron: '0 * * * *', jitter: '50m' }),
      ],
    });
    await tickAt(tock, '2026-03-01T13:00:00Z');
    const dead = await tock.why('doomed', '13:00');
    expect(dead.verdict).toBe('dead');
    expect(told(dead)).toContain('Dead: no paper');
    const waiting = await tock.why('later', '13:00');
    expect(waiting.verdict).toBe('queued');
    expect(told(waiting)).toMatch(
      /it is queued, due 2026-03-01T13:\d\d:\d\dZ, and waits for its first attempt/,
    );
    await tock.runs.cancel(waiting.run?.id ?? '', { reason: 'not today' });
    const cancelled = await tock.why('later', '13:00');
    expect(cancelled.verdict).toBe('cancelled');
    expect(told(cancelled)).toContain('not today');
  });

  it('names the outage in which nothing ticked', { tags: 'check' }, async () => {
    const tock = test.another({ jobs: [scheduled('minutely', { cron: '* * * * *', catchup: 'latest' })] });
    await tock.tick();
    for (const minute of ['01', '02', '03']) {
      await test.setClock(`2026-03-01T12:${minute}:17Z`);
      await tock.tick();
    }
    await test.setClock('2026-03-01T12:06:15Z');
    await tock.tick();
    const heir = await tock.why('minutely', '12:06');
    const missed = await tock.why('minutely', '12:04');
    expect(missed.run?.skipReason).toBe('catchup');
    expect(told(missed)).toContain('nothing ticked from 2026-03-01T12:03:17Z to 2026-03-01T12:06:15Z');
    expect(told(missed)).toContain(`run ${heir.run?.id ?? ''}, of 2026-03-01T12:06:00Z, stands for it`);
    expect(told(await tock.why('minutely', '12:03'))).not.toContain('nothing ticked');
    // Another host went on: then it was no outage.
    await test.sql(
      `insert into tock.ticks (host, folder, kind, first_at, at, version, node, zone_data, clock_ms)
       values ('other', '/', 'tick', '2026-03-01T11:00:00Z', '2026-03-01T12:06:20Z', '0', '24', '2025c', 0)`,
    );
    expect(told(await tock.why('minutely', '12:04'))).not.toContain('nothing ticked');
  });

  it('begins the outage with the last run that ended, not with the beat before it', async () => {
    const tock = test.another({ jobs: [scheduled('hourly', { cron: '0 * * * *', catchup: 'none' })] });
    for (const minute of ['01', '02', '03']) {
      await test.setClock(`2026-03-01T12:${minute}:17Z`);
      await tock.tick();
    }
    const endedAt = (at: string) =>
      test.sql(
        `insert into tock.job_runs (job, payload, trigger, status, created_at, finished_at)
         values ('hourly', '{}', 'api', 'succeeded', '${at}', '${at}')`,
      );
    await endedAt('2026-03-01T12:03:50Z');
    // Nothing of the process that ticked.
    await endedAt('2026-03-01T12:40:00Z');
    await test.setClock('2026-03-01T13:10:15Z');
    await tock.tick();
    expect(told(await tock.why('hourly', '13:00'))).toContain('nothing ticked from 2026-03-01T12:03:50Z to');
  });

  it('says how late a run was materialized, and how many occurrences it stands for', {
    tags: 'check',
  }, async () => {
    const tock = test.another({ jobs: [scheduled('hourly', { cron: '0 * * * *' })] });
    await tickAt(tock, '2026-03-01T16:30:00Z');
    const why = await tock.why('hourly', '2026-03-01T16:00:00Z');
    expect(told(why)).toContain('it was materialized 30m late');
    expect(told(why)).toContain('it stands for 4 occurrences');
  });

  it('inside a span finds the row for the span, and the run that stands for it', {
    tags: 'check',
  }, async () => {
    const tock = test.another({ jobs: [scheduled('hourly', { cron: '0 * * * *' })] });
    await tickAt(tock, '2026-03-01T16:30:00Z');
    for (const time of ['13:00', '14:00', '15:00']) {
      const why = await tock.why('hourly', time);
      expect(why).toMatchObject({ verdict: 'skipped', run: { skipReason: 'catchup', occurrenceCount: 3 } });
      expect(told(why)).toContain('it was missed, and the catch-up policy or window left it out');
      expect(told(why)).toContain(
        'one row for 3 occurrences, from 2026-03-01T13:00:00Z to 2026-03-01T15:00:00Z',
      );
      expect(told(why)).toMatch(/run \d+, of 2026-03-01T16:00:00Z, stands for it and is succeeded/);
    }
  });

  it('names the run that was in the way of an overlap', { tags: 'check' }, async () => {
    const jobs = [scheduled('hourly', { cron: '0 * * * *', jitter: '59m' })];
    const tock = test.another({ jobs });
    await tickAt(tock, '2026-03-01T13:00:00Z');
    const first = await tock.why('hourly', '13:00');
    await test.sql(`update tock.job_runs_live set run_at = '2026-03-02'`);
    await test.setClock('2026-03-01T14:00:00Z');
    await tock.tick();
    const why = await tock.why('hourly', '14:00');
    expect(why).toMatchObject({ verdict: 'skipped', run: { skipReason: 'overlap' } });
    expect(told(why)).toContain(`the run that was live then: ${first.run?.id}`);
  });

  it('names a start deadline that was missed', { tags: 'check' }, async () => {
    const tock = test.another({ jobs: [scheduled('prompt', { cron: '0 * * * *', startDeadline: '5m' })] });
    await tickAt(tock, '2026-03-01T13:20:00Z');
    const why = await tock.why('prompt', '13:00');
    expect(why).toMatchObject({ verdict: 'skipped', run: { skipReason: 'deadline' } });
    expect(told(why)).toContain('it could not start before its start deadline');
    // Its interval began at 12:00; the row stands for 13:00 alone.
    expect((await tock.why('prompt', '12:00')).verdict).toBe('before-definition');
  });

  it('is still to come, or due and not materialized', async () => {
    const tock = test.another({ jobs: [scheduled('hourly', { cron: '0 * * * *' })] });
    await tock.tick();
    const ahead = await tock.why('hourly', '13:00');
    expect(ahead.verdict).toBe('upcoming');
    expect(told(ahead)).toContain('it is still to come, in 59m 30s');
    await test.setClock('2026-03-01T13:10:00Z');
    const due = await tock.why('hourly', '13:00');
    expect(due).toMatchObject({ verdict: 'due', run: null });
    expect(told(due)).toBe(
      '2026-03-01T13:00:00Z is an occurrence\nit has been due for 10m and is not materialized yet: the cursor is at 2026-03-01T12:00:30Z, and a tick was last seen at 2026-03-01T12:00:30Z (tock tick)',
    );
  });

  it('has no record before the definition was made, and after run and key were pruned', {
    tags: 'check',
  }, async () => {
    const tock = test.another({ jobs: [scheduled('hourly', { cron: '0 * * * *' })] });
    await tickAt(tock, '2026-03-01T13:00:00Z');
    const before = await tock.why('hourly', '11:00');
    expect(before.verdict).toBe('before-definition');
    expect(told(before)).toContain('the definition was made at 2026-03-01T12:00:30Z, after it');
    const { run } = await tock.why('hourly', '13:00');
    await test.sql('delete from tock.job_runs_finished');
    const pruned = await tock.why('hourly', '13:00');
    expect(pruned.verdict).toBe('pruned');
    expect(told(pruned)).toContain(
      `run ${run?.id} was made for it at 2026-03-01T13:00:00Z and has been pruned`,
    );
    await test.sql('delete from tock.job_occurrences');
    expect((await tock.why('hourly', '13:00')).verdict).toBe('no-record');
  });
});

describe('a definition that makes no runs', () => {
  it('is paused: since when, and with which note', async () => {
    const tock = test.another({ jobs: [scheduled('hourly', { cron: '0 * * * *' })] });
    await tock.tick();
    await test.sql(`update tock.job_definitions set paused_at = tock.now(), pause_reason = 'stocktaking'`);
    expect((await tock.why('hourly', '13:00')).verdict).toBe('paused');
    await test.setClock('2026-03-01T13:10:00Z');
    await tock.tick();
    const why = await tock.why('hourly', '13:00');
    expect(why.verdict).toBe('paused');
    expect(told(why)).toContain('paused since 2026-03-01T12:00:30Z (stocktaking)');
  });

  it('has one skipped row for what a pause left out', { tags: 'check' }, async () => {
    const tock = test.another({ jobs: [scheduled('hourly', { cron: '0 * * * *' })] });
    await tock.tick();
    await tock.schedules.pause('hourly');
    await test.setClock('2026-03-01T15:10:00Z');
    await tock.schedules.resume('hourly');
    const why = await tock.why('hourly', '14:00');
    expect(why).toMatchObject({ verdict: 'skipped', run: { skipReason: 'paused', occurrenceCount: 3 } });
    expect(told(why)).toContain('the definition was paused');
  });

  it('is broken, with the reason', async () => {
    const tock = test.another({ jobs: [scheduled('hourly', { cron: '0 * * * *' })] });
    await tock.tick();
    await test.sql(`update tock.job_definitions set broken_at = tock.now(), broken_reason = 'out of order'`);
    expect(told(await tock.why('hourly', '13:00'))).toContain('out of order');
    await test.sql(`update tock.job_definitions set cron = '61 * * * *'`);
    const why = await tock.why('hourly', '13:00');
    expect(why.verdict).toBe('broken');
    expect(told(why)).toContain('its schedule cannot be read');
  });

  it('has vanished from code, has made all its runs, or has no schedule', { tags: 'check' }, async () => {
    const jobs = [
      scheduled('hourly', { cron: '0 * * * *' }),
      scheduled('twice', { cron: '0 * * * *', remaining: 0 }),
      scheduled('manual'),
    ];
    await test.another({ jobs }).tick();
    const tock = test.another({ jobs: jobs.slice(1) });
    await tock.tick();
    expect((await tock.why('hourly', '13:00')).verdict).toBe('vanished');
    expect((await tock.why('twice', '13:00')).verdict).toBe('used-up');
    expect((await tock.why('manual', '13:00')).verdict).toBe('no-schedule');
  });
});
