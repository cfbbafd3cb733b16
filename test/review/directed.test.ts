// Review: directed suspicions.
import { beforeEach, describe, expect, it } from 'vitest';
import { defineJob, nextOccurrence } from '../../src/index.js';
import { openForEach } from '../support/open.js';
import { reuseTestTock } from '../support/test-tock.js';

const plain = defineJob({ name: 'plain', run: () => null });
const test = openForEach(() => reuseTestTock([plain]));
const T = (time: string) => new Date(`2026-03-01T${time}:00Z`);
const rows = async (definition: string) =>
  (
    await test.sql<{ at: string; due: string; status: string; reason: string | null; n: number }>(
      `select to_char(r.scheduled_for at time zone 'UTC', 'MM-DD HH24:MI') as at, to_char(r.run_at at time zone 'UTC', 'MM-DD HH24:MI') as due,
       r.status, r.skip_reason as reason, occurrence_count as n
     from tock.job_runs r join tock.job_definitions d on d.id = r.definition_id
     where d.name = $1 order by r.scheduled_for, r.run_at`,
      [definition],
    )
  ).map(
    row =>
      `${row.at} ${row.due === row.at ? '' : `at ${row.due} `}${row.reason ?? row.status}${row.n === 1 ? '' : ` x${row.n}`}`,
  );
const prove = async (names?: string[]) => {
  const p = await test.tock.prove({ from: '2026-01-01T00:00:00Z', ...(names ? { names } : {}) });
  return p.found.map(f => `${f.definition} ${f.kind} ${f.at?.toISOString()} ${f.text}`);
};

beforeEach(() => test.setClock('2026-03-01T00:00:30Z'));

describe('rename', () => {
  it('a renamed job with H loses no occurrence that was due by its old name', async () => {
    const schedule = { cron: 'H H * * *' };
    const due = nextOccurrence(schedule, T('00:01'), 'old')!;
    const v1 = test.another({ jobs: [defineJob({ name: 'old', schedule, run: () => null })] });
    await v1.register();
    await test.setClock(new Date(due.getTime() + 30_000).toISOString());
    const v2 = test.another({
      jobs: [defineJob({ name: 'new', aliases: ['old'], schedule, run: () => null })],
    });
    console.log(due, nextOccurrence(schedule, T('00:01'), 'new'));
    await v2.tick();
    console.log(await rows('new'), await prove());
    const runs = await test.sql<{ at: Date }>('select scheduled_for as at from tock.job_runs');
    expect(runs.map(r => r.at)).toContainEqual(due);
  });
});

describe('a moved occurrence whose own time has passed', () => {
  const hourly = { cron: '0 * * * *', overlap: 'allow_all' } as const;
  it('is on record though its code vanished before its new time, and came back after it', async () => {
    const job = (priority: number) =>
      defineJob({ name: 'hourly', schedule: hourly, priority, run: () => null });
    const v1 = test.another({ jobs: [job(0), plain] });
    await v1.tick();
    await v1.schedules.move('hourly', T('10:00'), T('12:30'));
    await test.setClock(T('11:00').toISOString());
    await v1.tick();
    await test.setClock(T('11:30').toISOString());
    await test.another({ jobs: [plain] }).register();
    console.log('vanished', await prove(['hourly']));
    await test.setClock(T('13:10').toISOString());
    const v3 = test.another({ jobs: [job(1), plain] });
    await v3.tick();
    const why = await v3.why('hourly', T('10:00'));
    console.log('back', await prove(['hourly']), await rows('hourly'), why.verdict, why.sentences);
    expect(await prove(['hourly'])).toEqual([]);
    expect(why.verdict).not.toBe('no-record');
  });
  it('is on record though its definition was broken at its new time, and is repaired after it', async () => {
    await test.tock.schedules.upsert({ name: 'own', job: plain, ...hourly });
    await test.tock.schedules.move('own', T('10:00'), T('12:30'));
    await test.setClock(T('11:00').toISOString());
    await test.tock.tick();
    await test.sql(
      `update tock.job_definitions set broken_at = tock.now(), broken_reason = 'x' where name = 'own'`,
    );
    await test.setClock(T('13:10').toISOString());
    await test.tock.tick();
    await test.tock.schedules.upsert({ name: 'own', job: plain, ...hourly, priority: 1 });
    const why = await test.tock.why('own', T('10:00'));
    console.log('repaired', await prove(['own']), await rows('own'), why.verdict);
    expect(await prove(['own'])).toEqual([]);
    expect(why.verdict).not.toBe('no-record');
  });
});

describe('jitter and a window', () => {
  it('with outsideWindow skip, no run is put off to the next day', async () => {
    await test.tock.schedules.upsert({
      name: 'a',
      job: plain,
      cron: '55 6 * * *',
      jitter: '30m',
      window: '06:00-07:00',
      outsideWindow: 'skip',
    });
    await test.setClock(T('06:55').toISOString());
    await test.tock.tick();
    console.log(await rows('a'));
    const late = await test.sql(`select run_at from tock.job_runs_live where run_at > '2026-03-01T07:00Z'`);
    expect(late).toEqual([]);
  });
});

describe('a roll-back', () => {
  it('lets no cursor fall, and runs a nightly job once', async () => {
    const at = (cron: string) =>
      test.another({
        jobs: [plain, defineJob({ name: 'r', schedule: { cron, overlap: 'allow_all' }, run: () => null })],
      });
    const [v1, v2] = [at('0 2 * * *'), at('30 2 * * *')];
    await v1.tick();
    await test.setClock('2026-03-01T00:10:00Z');
    await v2.tick();
    await test.setClock('2026-03-01T01:50:00Z');
    await v2.tick();
    await test.setClock('2026-03-01T02:30:00Z');
    const cursor = async () =>
      (await test.sql<{ c: Date }>(`select cursor as c from tock.job_definitions where name = 'r'`))[0]!.c;
    await v1.tick();
    await v1.tick();
    console.log(await rows('r'), await prove(['r']), await cursor());
    expect(await rows('r')).toHaveLength(1);
  });
});

describe('a roll-back of remaining', () => {
  it('leaves nothing unexplained', async () => {
    const at = (schedule: object) =>
      test.another({
        jobs: [
          plain,
          defineJob({ name: 'r', schedule: { overlap: 'allow_all', ...schedule } as never, run: () => null }),
        ],
      });
    const [v1, v2] = [at({ cron: '*/15 * * * *' }), at({ every: '1h', remaining: 6 })];
    await v1.tick();
    await test.setClock('2026-03-01T00:10:00Z');
    await v2.tick();
    await test.setClock('2026-03-01T02:20:00Z');
    await v1.tick();
    expect(await prove(['r'])).toEqual([]);
  });
});

describe('a zone that only newer hosts have', () => {
  it('is left to them: a tick of an older host breaks no definition', async () => {
    await test.tock.schedules.upsert({ name: 'z', job: plain, cron: '0 1 * * *', timezone: 'Europe/Berlin' });
    // As a host with newer time zone data would have left them: the offsets are in the database.
    await test.sql(
      `insert into tock.zones select (jsonb_populate_record(z, '{"timezone": "Europe/Newtown", "zone_data": "2099a"}')).* from tock.zones z where timezone = 'Europe/Berlin'`,
    );
    await test.sql(`update tock.job_definitions set timezone = 'Europe/Newtown' where name = 'z'`);
    await test.setClock('2026-03-01T00:00:31Z');
    await test.setClock('2026-03-02T00:00:31Z');
    await test.tock.tick();
    const [row] = await test.sql<{ r: string | null }>(
      `select broken_reason as r from tock.job_definitions where name = 'z'`,
    );
    console.log(row, await rows('z'));
    expect(row?.r).toBe(null);
  });
});

describe('a name that a removed schedule had', () => {
  it('begins in code without its pause and its exceptions, as at run time', async () => {
    await test.tock.schedules.upsert({ name: 'x', job: plain, cron: '0 * * * *' });
    await test.tock.schedules.skip('x', T('05:00'), { note: 'old' });
    await test.tock.schedules.pause('x');
    await test.tock.schedules.remove('x');
    await test.setClock(T('01:30').toISOString());
    const v2 = test.another({
      jobs: [plain, defineJob({ name: 'x', schedule: { cron: '0 * * * *' }, run: () => null })],
    });
    await v2.tick();
    const [is] = await v2.schedules.list({ name: 'x' });
    console.log(is?.pausedAt, await v2.schedules.exceptions('x'));
    expect(is?.pausedAt ?? null).toBe(null);
    expect(await v2.schedules.exceptions('x')).toEqual([]);
  });
});

describe('remaining', () => {
  const left = async () =>
    (
      await test.sql<{ n: number }>(`select remaining_count as n from tock.job_definitions where name = 'x'`)
    )[0]?.n;
  it('is not restarted by a deploy that changes something else', async () => {
    const job = (priority: number) =>
      defineJob({ name: 'x', priority, schedule: { cron: '0 * * * *', remaining: 1 }, run: () => null });
    const v1 = test.another({ jobs: [plain, job(0)] });
    await v1.tick();
    await test.setClock(T('01:00').toISOString());
    await v1.tick();
    expect(await left()).toBe(0);
    const v2 = test.another({ jobs: [plain, job(1)] });
    await v2.tick();
    await test.setClock(T('02:00').toISOString());
    await v2.tick();
    console.log(await rows('x'));
    expect(await rows('x')).toHaveLength(1);
  });
  it('is not restarted by an edit of a calendar that the schedule names', async () => {
    await test.tock.calendars.set('cal', { dates: ['2027-01-01'] });
    await test.tock.schedules.upsert({
      name: 'x',
      job: plain,
      cron: '0 * * * *',
      remaining: 2,
      exclude: [{ calendar: 'cal' }],
    });
    await test.setClock(T('01:00').toISOString());
    await test.tock.tick();
    expect(await left()).toBe(1);
    await test.tock.calendars.set('cal', { dates: ['2027-01-02'] });
    expect(await left()).toBe(1);
    await test.setClock(T('02:00').toISOString());
    await test.tock.calendars.set('cal', { dates: ['2027-01-03'] });
    expect(await left()).toBe(0);
    expect(await prove()).toEqual([]);
  });
});
