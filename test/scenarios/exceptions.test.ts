// Engine: single occurrences that an operator skips or moves, and what ticks make of them.
import { beforeEach, describe, expect, it } from 'vitest';
import { defineJob, type JobSchedule } from '../../src/index.js';
import { openForEach } from '../support/open.js';
import { proveAfterEach } from '../support/prove-all.js';
import { reuseTestTock } from '../support/test-tock.js';

const scheduled = (name: string, schedule: JobSchedule) => defineJob({ name, schedule, run: () => null });
const hourly = scheduled('hourly', { cron: '0 * * * *', overlap: 'allow_all' });
const plain = defineJob({ name: 'plain', run: () => null });

const test = openForEach(() => reuseTestTock([hourly, plain]));
proveAfterEach(test);
beforeEach(async () => {
  await test.setClock('2026-03-01T12:00:30Z');
  await test.tock.register();
});

const at = (time: string) => new Date(`2026-03-01T${time}:00Z`);
const tickAt = async (time: string, tock = test.tock) => {
  await test.setClock(at(time).toISOString());
  return (await tock.tick()).materialized;
};
interface Row {
  readonly at: string;
  readonly due: string;
  readonly status: string;
  readonly reason: string | null;
}
const rows = async (definition = 'hourly') =>
  (
    await test.sql<Row>(
      `select to_char(r.scheduled_for at time zone 'UTC', 'HH24:MI') as at, to_char(r.run_at at time zone 'UTC', 'HH24:MI') as due,
       r.status, r.skip_reason as reason
     from tock.job_runs r join tock.job_definitions d on d.id = r.definition_id
     where d.name = $1 order by r.scheduled_for, r.run_at`,
      [definition],
    )
  ).map(row => `${row.at} ${row.due === row.at ? '' : `at ${row.due} `}${row.reason ?? row.status}`);
const nextAt = async (name = 'hourly') => (await test.tock.schedules.list({ name }))[0]?.nextAt;
describe('an occurrence that is skipped', () => {
  it('gets no run, and a skipped row at its time, and the others run', async () => {
    const change = await test.tock.schedules.skip('hourly', at('14:00'), { note: 'stocktaking' });
    expect(change).toMatchObject({
      definition: 'hourly',
      kind: 'skip',
      occurrence: at('14:00'),
      movedTo: null,
      note: 'stocktaking',
      isChanged: true,
      replaced: null,
      isPaused: false,
      hasEffect: true,
      isDue: false,
    });
    expect(await rows()).toEqual([]);
    for (const time of ['13:00', '14:00', '15:00']) await tickAt(time);
    expect(await rows()).toEqual(['13:00 succeeded', '14:00 excepted', '15:00 succeeded']);
  });

  it('is skipped once: the same again writes nothing, another note takes its place', async () => {
    await test.tock.schedules.skip('hourly', at('14:00'), { note: 'one' });
    expect(await test.tock.schedules.skip('hourly', at('14:00'))).toMatchObject({
      isChanged: false,
      note: 'one',
    });
    expect(await test.tock.schedules.skip('hourly', at('14:00'), { note: 'two' })).toMatchObject({
      isChanged: true,
      note: 'two',
      replaced: { kind: 'skip', note: 'one' },
    });
    expect(await test.tock.audit.list({ action: 'schedules.skip' })).toHaveLength(2);
  });

  it('does not take the run of those before it with it after an outage, under latest', async () => {
    await test.tock.schedules.skip('hourly', at('15:00'));
    expect(await tickAt('15:30')).toMatchObject({ runs: 1, skips: 2 });
    expect(await rows()).toEqual(['13:00 catchup', '14:00 succeeded', '15:00 excepted']);
    const [run] = await test.tock.runs.list({ status: 'succeeded' });
    expect(run).toMatchObject({ occurrenceCount: 2 });
  });
});

describe('an occurrence that is moved', () => {
  it('runs later under its own name, once, and holds nothing back', { tags: 'check' }, async () => {
    await test.tock.schedules.move('hourly', at('13:00'), at('15:30'), { note: 'late data' });
    expect(await nextAt()).toEqual(at('14:00'));
    await tickAt('13:00');
    await tickAt('14:00');
    expect(await rows()).toEqual(['14:00 succeeded']);
    await tickAt('15:00');
    expect(await nextAt()).toEqual(at('15:30'));
    await tickAt('15:29');
    expect(await rows()).toEqual(['14:00 succeeded', '15:00 succeeded']);
    await tickAt('15:30');
    await tickAt('16:00');
    expect(await rows()).toEqual([
      '13:00 at 15:30 succeeded',
      '14:00 succeeded',
      '15:00 succeeded',
      '16:00 succeeded',
    ]);
    const keys = await test.sql<{ key: string }>(
      `select idempotency_key as key from tock.job_runs where scheduled_for = $1`,
      [at('13:00')],
    );
    expect(keys).toEqual([{ key: expect.stringMatching(/^cron:\d+:2026-03-01T13:00:00Z$/) }]);
  });

  it('is not among those for which the run after an outage stands', async () => {
    await test.tock.schedules.move('hourly', at('14:00'), at('14:10'));
    await tickAt('15:30');
    expect(await rows()).toEqual(['13:00 catchup', '14:00 at 14:10 succeeded', '15:00 succeeded']);
    expect((await test.tock.runs.list()).map(({ occurrenceCount }) => occurrenceCount)).toContain(2);
  });

  it('is moved again until it is due, also when its own time has passed', { tags: 'check' }, async () => {
    await test.tock.schedules.move('hourly', at('13:00'), at('14:30'));
    await tickAt('14:00');
    expect(await test.tock.schedules.move('hourly', at('13:00'), at('14:40'))).toMatchObject({
      replaced: { movedTo: at('14:30') },
    });
    await tickAt('14:30');
    expect(await rows()).toEqual(['14:00 succeeded']);
    await tickAt('14:40');
    expect(await rows()).toEqual(['13:00 at 14:40 succeeded', '14:00 succeeded']);
    await expect(test.tock.schedules.move('hourly', at('13:00'), at('16:30'))).rejects.toThrow(
      /moved to 2026-03-01T14:40:00Z, has had its run: run \d+ succeeded/,
    );
  });

  it('may be skipped once its own time has passed, but not put back', { tags: 'check' }, async () => {
    await test.tock.schedules.move('hourly', at('13:00'), at('14:30'));
    await tickAt('14:00');
    await expect(test.tock.schedules.restore('hourly', at('13:00'))).rejects.toThrow(
      /has passed, and its run is due at 2026-03-01T14:30:00Z: it cannot be put back .*tock skip hourly 2026-03-01T13:00:00Z/,
    );
    await test.tock.schedules.skip('hourly', at('13:00'));
    await tickAt('15:00');
    expect(await rows()).toEqual(['13:00 excepted', '14:00 succeeded', '15:00 succeeded']);
  });

  it('has neither jitter nor a start deadline that counts from its own time', async () => {
    const tock = test.another({
      jobs: [hourly, plain, scheduled('jittery', { cron: '0 * * * *', jitter: '50m', startDeadline: '5m' })],
    });
    await tock.tick();
    await tock.schedules.move('jittery', at('13:00'), at('13:30'));
    await tickAt('13:30', tock);
    expect(await rows('jittery')).toEqual(['13:00 at 13:30 succeeded']);
  });

  it('is decided by the overlap policy when its new time has come', async () => {
    await test.tock.schedules.upsert({ name: 'single', job: plain, cron: '0 * * * *' });
    await test.tock.schedules.move('single', at('14:00'), at('13:30'));
    await test.sql(`insert into tock.job_runs_live (definition_id, job, scheduled_for, run_at, trigger, status, max_attempts)
      select id, 'plain', '2026-03-01T11:00Z', '2026-03-02T00:00Z', 'cron', 'queued', 1 from tock.job_definitions where name = 'single'`);
    await tickAt('13:30');
    expect(await rows('single')).toEqual(['11:00 at 00:00 queued', '13:00 overlap', '14:00 overlap']);
    // Made by hand: no tick would have it.
    await test.sql(`delete from tock.job_runs_live where scheduled_for = '2026-03-01T11:00Z'`);
  });

  it('counts as one of those that remain', { tags: 'check' }, async () => {
    const tock = test.another({ jobs: [plain, scheduled('two', { cron: '0 * * * *', remaining: 2 })] });
    await tock.tick();
    await tock.schedules.move('two', at('15:00'), at('12:30'));
    await tickAt('12:30', tock);
    await tickAt('13:00', tock);
    await tickAt('16:00', tock);
    expect(await rows('two')).toEqual(['13:00 succeeded', '15:00 at 12:30 succeeded']);
    await expect(tock.schedules.skip('two', at('18:00'))).rejects.toThrow(/has made all the runs/);
  });
});

it('a pause leaves out what is moved into it, and what is moved behind it runs', {
  tags: 'check',
}, async () => {
  await test.tock.schedules.move('hourly', at('13:00'), at('14:30'));
  await test.tock.schedules.move('hourly', at('14:00'), at('17:30'));
  await test.tock.schedules.skip('hourly', at('15:00'));
  expect(await test.tock.schedules.pause('hourly')).toBeDefined();
  expect(await test.tock.schedules.skip('hourly', at('18:00'))).toMatchObject({ isPaused: true });
  await tickAt('14:30');
  await test.setClock(at('16:30').toISOString());
  expect((await test.tock.schedules.resume('hourly')).skipped).toMatchObject({ count: 1 });
  await tickAt('16:31');
  expect(await rows()).toEqual(['13:00 paused', '15:00 excepted', '16:00 paused']);
  expect(await nextAt()).toEqual(at('17:00'));
  await tickAt('17:30');
  expect((await rows()).slice(1, 2)).toEqual(['14:00 at 17:30 succeeded']);
  await tickAt('18:00');
  expect((await rows()).at(-1)).toBe('18:00 excepted');
});

describe('an edit', () => {
  const upsert = (cron: string) => test.tock.schedules.upsert({ name: 'own', job: plain, cron });

  it('keeps an exception whose occurrence stays, and takes the effect of one whose occurrence goes', {
    tags: 'check',
  }, async () => {
    await upsert('0 * * * *');
    await test.tock.schedules.skip('own', at('14:00'));
    await test.tock.schedules.move('own', at('15:00'), at('15:10'));
    await test.tock.schedules.move('own', at('17:00'), at('15:20'));
    await upsert('0 */2 * * *');
    expect(await test.tock.schedules.exceptions('own')).toMatchObject([
      { kind: 'skip', hasEffect: true },
      { kind: 'move', hasEffect: false },
      { kind: 'move', hasEffect: false },
    ]);
    for (const time of ['14:00', '15:00', '15:10', '15:30', '16:00']) await tickAt(time);
    expect(await rows('own')).toEqual(['14:00 excepted', '16:00 succeeded']);
  });

  it('records what was moved past it, where it takes the occurrence away', { tags: 'check' }, async () => {
    await upsert('0 * * * *');
    await test.tock.schedules.move('own', at('13:00'), at('18:00'));
    await test.tock.schedules.move('own', at('14:00'), at('18:30'));
    await test.tock.schedules.skip('own', at('14:00'));
    await tickAt('14:10');
    await upsert('30 9 * * *');
    expect((await rows('own')).filter(row => !row.endsWith('succeeded'))).toEqual([
      '13:00 edited',
      '14:00 excepted',
    ]);
    await tickAt('18:30');
    expect(await rows('own')).toHaveLength(2);
  });

  it('of a calendar too, and what is moved to a time before the next occurrence comes at that', {
    tags: 'check',
  }, async () => {
    await test.tock.calendars.set('days', { dates: ['2026-03-09'] });
    const exclude = [{ calendar: 'days' }];
    await test.tock.schedules.upsert({ name: 'own', job: plain, cron: '0 13,20 * * *', exclude });
    await test.tock.schedules.move('own', at('13:00'), at('18:00'));
    await test.tock.schedules.move('own', new Date('2026-03-02T13:00:00Z'), at('19:00'));
    await tickAt('14:00');
    await test.tock.calendars.set('days', { dates: ['2026-03-01', '2026-03-09'] });
    expect(await rows('own')).toEqual(['13:00 edited']);
    expect(await nextAt('own')).toEqual(at('18:00'));
    await tickAt('18:00');
    await tickAt('19:00');
    expect(await rows('own')).toEqual(['13:00 edited', '13:00 at 19:00 succeeded']);
  });

  it('first makes what was due by the schedule as it was, exceptions too', async () => {
    await upsert('0 * * * *');
    await test.tock.schedules.move('own', at('15:00'), at('12:30'));
    await test.tock.schedules.skip('own', at('13:00'));
    await test.setClock(at('13:10').toISOString());
    await upsert('30 * * * *');
    expect(await rows('own')).toEqual(['13:00 excepted', '15:00 at 12:30 queued']);
    expect(await nextAt('own')).toEqual(at('13:30'));
    await tickAt('15:40');
    expect(await rows('own')).toContain('15:00 at 12:30 succeeded');
  });

  it('gives a moved occurrence back that another edit had taken, and its run is explained', async () => {
    await upsert('0 * * * *');
    await test.tock.schedules.move('own', at('13:00'), at('18:00'));
    await upsert('30 9 * * *');
    await tickAt('13:30');
    await upsert('0 * * * *');
    await tickAt('18:00');
    await tickAt('19:00');
    expect((await rows('own'))[0]).toBe('13:00 at 18:00 succeeded');
  });

  it('does not lose the time of a move that lies before the next occurrence', { tags: 'check' }, async () => {
    await upsert('0 * * * *');
    await test.tock.schedules.move('own', at('14:00'), at('12:30'));
    await upsert('0 14 * * *');
    expect(await nextAt('own')).toEqual(at('12:30'));
    await tickAt('12:30');
    expect(await rows('own')).toEqual(['14:00 at 12:30 succeeded']);
  });
});

it('a schedule that is removed and made again has no exceptions', { tags: 'check' }, async () => {
  const upsert = () => test.tock.schedules.upsert({ name: 'own', job: plain, cron: '0 * * * *' });
  await upsert();
  await test.tock.schedules.skip('own', at('14:00'));
  await test.tock.schedules.move('own', at('15:00'), at('12:30'));
  await tickAt('12:30');
  await test.tock.schedules.remove('own');
  await upsert();
  expect(await test.tock.schedules.exceptions('own')).toMatchObject([{ kind: 'move', isDue: true }]);
  for (const time of ['13:00', '14:00', '15:00']) await tickAt(time);
  // What had its run keeps its place.
  expect(await rows('own')).toEqual(['13:00 succeeded', '14:00 succeeded', '15:00 at 12:30 succeeded']);
});

it('a definition that is broken while a moved occurrence is due has that on record once it is repaired', {
  tags: 'check',
}, async () => {
  const own = { name: 'own', job: plain, cron: '0 * * * *' };
  await test.tock.schedules.upsert(own);
  await test.tock.schedules.move('own', at('13:00'), at('15:30'));
  await tickAt('14:00');
  await test.sql(
    `update tock.job_definitions set broken_at = tock.now(), broken_reason = 'x' where name = 'own'`,
  );
  await tickAt('16:10');
  await test.tock.schedules.upsert({ ...own, priority: 1 });
  await tickAt('17:00');
  expect(await rows('own')).toEqual(['13:00 edited', '14:00 succeeded', '17:00 succeeded']);
});

it('a schedule that is removed after an occurrence was moved past it has that on record', {
  tags: 'check',
}, async () => {
  const upsert = () => test.tock.schedules.upsert({ name: 'own', job: plain, cron: '0 13 * * *' });
  await upsert();
  await test.tock.schedules.move('own', at('13:00'), at('18:00'));
  await tickAt('14:00');
  await test.tock.schedules.remove('own');
  expect(await rows('own')).toEqual(['13:00 edited']);
  await upsert();
  await tickAt('18:00');
  expect(await rows('own')).toEqual(['13:00 edited']);
});

it('a backfill runs what was skipped, and what was moved to a later time now and not again', {
  tags: 'check',
}, async () => {
  await test.tock.schedules.skip('hourly', at('13:00'));
  await test.tock.schedules.move('hourly', at('14:00'), at('15:30'));
  await tickAt('14:10');
  const span = { from: at('13:00'), to: at('14:01') };
  expect(await test.tock.schedules.backfill('hourly', span)).toMatchObject({ made: 2 });
  for (const time of ['14:10', '15:00', '15:30']) await tickAt(time);
  expect(await rows()).toEqual([
    '13:00 excepted',
    '13:00 at 14:10 succeeded',
    '14:00 at 14:10 succeeded',
    '15:00 succeeded',
  ]);
});

it('a clock that was ahead, and is set right records a skip again, and makes a moved run once', {
  tags: 'check',
}, async () => {
  await test.tock.schedules.skip('hourly', at('14:00'));
  await test.tock.schedules.move('hourly', at('15:00'), at('13:30'));
  await tickAt('20:30');
  await test.setClock(at('12:10').toISOString());
  await test.tock.schedules.resetCursors();
  for (const time of ['13:00', '13:30', '14:00', '15:00', '16:00']) await tickAt(time);
  const made = await rows();
  expect(made.filter(row => row.startsWith('14:00'))).toContain('14:00 excepted');
  expect(made.filter(row => row.startsWith('15:00'))).toEqual(['15:00 at 13:30 succeeded']);
});
