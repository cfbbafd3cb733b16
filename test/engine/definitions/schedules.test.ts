// Engine: schedules that are made and edited at run time.
import { describe, expect, it } from 'vitest';
import { defineJob, type ScheduleInput } from '../../../src/index.js';
import { mail, minutely, plain, schedulesTest } from './schedules-kit.js';

const { test, rows, find } = schedulesTest();

describe('upsert', () => {
  it('makes a schedule with its own payload, which begins now and is run', async () => {
    const made = await test.tock.schedules.upsert({
      ...minutely,
      timezone: 'Europe/Berlin',
      exclude: ['2026-12-25'],
      startAt: '2026-01-01T00:00:00Z',
      jitter: 0,
    });
    expect(made).toMatchObject({
      name: 'tenant-7',
      job: 'mail',
      origin: 'runtime',
      version: 1,
      queue: 'mails',
      maxAttempts: 4,
      payload: { tenant: 7 },
      exclude: ['2026-12-25'],
      startAt: new Date('2026-01-01T00:00:00Z'),
      cursor: new Date('2026-03-01T12:00:30Z'),
      nextAt: new Date('2026-03-01T12:01:00Z'),
    });
    await test.setClock('2026-03-01T12:01:00Z');
    expect(await test.tock.tick()).toMatchObject({ executed: { succeeded: 1 } });
    expect(await test.tock.runs.list()).toMatchObject([
      {
        definition: 'tenant-7',
        idempotencyKey: `cron:${made.id}:2026-03-01T12:01:00Z`,
        output: { tenant: 7 },
      },
    ]);
  });

  it('changes nothing where nothing changed, whatever the order of the keys and the spelling', {
    tags: 'check',
  }, async () => {
    const first = await test.tock.schedules.upsert({
      name: 'a',
      job: 'plain',
      every: '1h',
      payload: { b: 1, a: { d: [2], c: null } },
      remaining: 5,
    });
    await test.setClock('2026-03-01T13:00:10Z');
    await test.tock.tick();
    const again = await test.tock.schedules.upsert({
      payload: { a: { c: null, d: [2] }, b: 1 },
      every: 3_600_000,
      remaining: 5,
      job: plain,
      name: 'a',
    });
    expect(again).toMatchObject({ id: first.id, version: 1, remaining: 4 });
    // What is there now is no change either.
    const now = { name: 'a', job: plain, every: '60m', payload: { b: 1, a: { d: [2], c: null } } };
    expect(await test.tock.schedules.upsert({ ...now, remaining: 4 })).toMatchObject({ version: 1 });
    expect(await test.tock.schedules.upsert({ ...now, remaining: 9 })).toMatchObject({ version: 2 });
  });

  it('keeps the id in an edit, begins at now, withdraws what is queued and not due, and leaves what runs alone', {
    tags: 'check',
  }, async () => {
    const { id } = await test.tock.schedules.upsert({ ...minutely, cron: '0 * * * *', jitter: '30m' });
    await test.setClock('2026-03-01T13:00:00Z');
    await test.tock.tick();
    await test.sql(
      `insert into tock.job_runs_live (definition_id, job, scheduled_for, status, trigger, attempts, locked_until)
       values ($1, 'mail', '2026-03-01T12:00:00Z', 'running', 'cron', 1, '2026-03-01T14:00:00Z')`,
      [id],
    );
    const edited = await test.tock.schedules.upsert({ ...minutely, cron: '15 * * * *' });
    expect(edited).toMatchObject({
      id,
      version: 2,
      cron: '15 * * * *',
      jitterMs: 0,
      cursor: new Date('2026-03-01T13:00:00Z'),
      nextAt: new Date('2026-03-01T13:15:00Z'),
    });
    expect(await rows('tenant-7')).toEqual([
      { status: 'running', at: '12:00', count: 1, reason: null },
      { status: 'skipped', at: '13:00', count: 1, reason: 'edited' },
    ]);
  });

  it('leaves each occurrence one row when an edit and a tick come in the same second', {
    tags: 'check',
  }, async () => {
    for (let round = 0; round < 8; round++) {
      const name = `raced-${round}`;
      await test.setClock('2026-03-01T12:00:30Z');
      await test.tock.schedules.upsert({ ...minutely, name });
      await test.setClock('2026-03-01T12:01:00Z');
      const edit = { ...minutely, name, cron: '*/5 * * * *' };
      await Promise.all([test.tock.tick(), test.another().schedules.upsert(edit)]);
      await test.tock.tick();
      const [row, ...others] = await rows(name);
      expect(others).toEqual([]);
      expect(row).toMatchObject({ at: '12:01', reason: row?.status === 'skipped' ? 'edited' : null });
      expect(await find(name)).toMatchObject({ nextAt: new Date('2026-03-01T12:05:00Z') });
    }
  });

  it('refuses another version than the one that is there, and says which is', async () => {
    await test.tock.schedules.upsert(minutely, { ifVersion: 0 });
    const edit = { ...minutely, cron: '5 * * * *' };
    await expect(test.tock.schedules.upsert(edit, { ifVersion: 0 })).rejects.toMatchObject({
      code: 'TOCK_VERSION_CONFLICT',
      message: expect.stringContaining('version 1 is there') as string,
    });
    await expect(test.tock.schedules.upsert(edit, { ifVersion: 2 })).rejects.toMatchObject({
      code: 'TOCK_VERSION_CONFLICT',
    });
    await expect(
      test.tock.schedules.upsert({ ...edit, name: 'none' }, { ifVersion: 1 }),
    ).rejects.toMatchObject({
      code: 'TOCK_VERSION_CONFLICT',
      message: expect.stringContaining('there is no schedule') as string,
    });
    expect(await test.tock.schedules.upsert(edit, { ifVersion: 1 })).toMatchObject({ version: 2 });
    await expect(test.tock.schedules.upsert(edit, { ifVersion: 1.5 })).rejects.toMatchObject({
      code: 'TOCK_BAD_OPTION',
    });
  });

  it('lets one of two concurrent edits of a version win, and tells the other', {
    tags: 'check',
  }, async () => {
    await test.tock.schedules.upsert(minutely);
    const other = test.another();
    for (let version = 1; version <= 5; version++) {
      const edits = [test.tock, other].map((tock, index) =>
        tock.schedules.upsert(
          { ...minutely, cron: `${version * 2 + index} * * * *` },
          { ifVersion: version },
        ),
      );
      const results = await Promise.allSettled(edits);
      expect(results.map(each => each.status).sort()).toEqual(['fulfilled', 'rejected']);
      expect(results.find(each => each.status === 'rejected')?.reason).toMatchObject({
        code: 'TOCK_VERSION_CONFLICT',
      });
      expect(await find('tenant-7')).toMatchObject({ version: version + 1 });
    }
  });

  it('keeps a single time that has passed in an edit, and refuses it in a new schedule', async () => {
    const { schedules } = test.tock;
    const once = { name: 'once', job: plain, at: '2026-03-01T12:01:00Z' } as const;
    expect(await schedules.upsert(once)).toMatchObject({ nextAt: new Date('2026-03-01T12:01:00Z') });
    await test.setClock('2026-03-01T12:05:00Z');
    expect(await schedules.upsert({ ...once, priority: 3 })).toMatchObject({ version: 2, nextAt: null });
    const past = {
      code: 'TOCK_BAD_SCHEDULE',
      message: expect.stringMatching(/^at \S+ is in the past/) as string,
    };
    await expect(schedules.upsert({ ...once, at: '2026-03-01T12:02:00Z' })).rejects.toMatchObject(past);
    await schedules.remove('once');
    await expect(schedules.upsert(once)).rejects.toMatchObject(past);
  });

  it('refuses what cannot be right before it writes, and names the remedy', async () => {
    const { schedules } = test.tock;
    const wrong: [ScheduleInput, string][] = [
      [{ ...minutely, payload: { tenant: 'seven' } as never }, 'TOCK_BAD_PAYLOAD'],
      [{ ...minutely, payload: (() => ({ tenant: 7 })) as never }, 'TOCK_BAD_PAYLOAD'],
      [{ name: 'a', job: 'nobody', every: '1h' }, 'TOCK_UNKNOWN_JOB'],
      [{ name: 'a', job: plain, at: '2026-03-01T12:00:30Z' }, 'TOCK_BAD_SCHEDULE'],
      [{ name: 'a', job: plain }, 'TOCK_BAD_SCHEDULE'],
      [{ name: 'a', job: plain, cron: '61 * * * *' }, 'TOCK_BAD_SCHEDULE'],
      [{ name: 'a', job: plain, cron: '* * * * *', timezone: 'Mars/Base' }, 'TOCK_BAD_SCHEDULE'],
      [{ name: 'a', job: plain, cron: '* * * * *', every: '1h' }, 'TOCK_BAD_SCHEDULE'],
      [{ name: 'a', job: plain, every: '1h', overlap: 'maybe' as never }, 'TOCK_BAD_SCHEDULE'],
      [{ name: 'a', job: plain, every: '1h', jitter: 'soon' }, 'TOCK_BAD_DURATION'],
      [{ name: 'a', job: plain, every: '1h', remaining: -1 }, 'TOCK_BAD_SCHEDULE'],
      [{ name: 'not a name', job: plain, every: '1h' }, 'TOCK_BAD_OPTION'],
      [{ name: 'a', job: plain, every: '1h', queue: 'no queue' }, 'TOCK_BAD_OPTION'],
      [{ name: 'in-code', job: plain, every: '1h' }, 'TOCK_BAD_STATE'],
    ];
    for (const [input, code] of wrong) await expect(schedules.upsert(input)).rejects.toMatchObject({ code });
    // Also where this process does not have the job of that name.
    const other = test.another({ jobs: [plain] });
    await expect(other.schedules.upsert({ name: 'in-code', job: plain, every: '1h' })).rejects.toMatchObject({
      code: 'TOCK_BAD_STATE',
      message: expect.stringMatching(/defined in code.*can be paused/) as string,
    });
    await expect(
      // @ts-expect-error the payload has the type of the job's schema
      schedules.upsert({ name: 'a', job: mail, every: '1h', payload: { tenant: 'seven' } }),
    ).rejects.toMatchObject({ code: 'TOCK_BAD_PAYLOAD' });
    const count = await test.sql(`select 1 from tock.job_definitions where origin = 'runtime'`);
    expect(count).toEqual([]);
  });

  it('repairs a definition that was broken', async () => {
    await test.tock.schedules.upsert(minutely);
    await test.sql(`update tock.job_definitions set cron = 'x', broken_at = now(), broken_reason = 'x'
      where name = 'tenant-7'`);
    expect(await test.tock.schedules.upsert(minutely)).toMatchObject({ version: 2, brokenReason: null });
  });

  it('is left alone when code registers, and taken over when code defines the name', {
    tags: 'check',
  }, async () => {
    const { id } = await test.tock.schedules.upsert({ ...minutely, name: 'later-in-code' });
    const later = defineJob({ name: 'later-in-code', schedule: { every: '1h' }, run: () => null });
    await test.another({ jobs: [mail, plain] }).register();
    expect(await find('later-in-code')).toMatchObject({ vanishedAt: null, origin: 'runtime' });
    await test.another({ jobs: [mail, later] }).register();
    expect(await find('later-in-code')).toMatchObject({ id, origin: 'code', everyMs: 3_600_000 });
  });
});
