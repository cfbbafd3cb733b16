// Engine: schedules that are paused, resumed and removed at run time.
import { describe, expect, it } from 'vitest';
import { inCode, mail, minutely, plain, schedulesTest } from './schedules-kit.js';

const { test, rows, find } = schedulesTest();

describe('pause and resume', () => {
  it('catch nothing up, and leave one row for what came due, over many ticks', async () => {
    await test.tock.schedules.upsert({ ...minutely, catchup: 'all', remaining: 50 });
    const paused = await test.tock.schedules.pause('tenant-7', { note: 'moving house' });
    expect(paused).toMatchObject({ pauseReason: 'moving house', version: 1 });
    for (let minute = 0; minute < 20; minute++) {
      await test.advance('1m');
      expect((await test.tock.tick()).materialized).toMatchObject({ definitions: 0 });
    }
    expect(await test.tock.schedules.resume('tenant-7')).toMatchObject({
      pausedAt: null,
      pauseReason: null,
      remaining: 50,
      cursor: new Date('2026-03-01T12:20:30Z'),
      nextAt: new Date('2026-03-01T12:21:00Z'),
      skipped: {
        count: 20,
        first: new Date('2026-03-01T12:01:00Z'),
        last: new Date('2026-03-01T12:20:00Z'),
      },
    });
    await test.tock.tick();
    await test.advance('30s');
    await test.tock.tick();
    expect(await rows('tenant-7')).toEqual([
      { status: 'succeeded', at: '12:21', count: 1, reason: null },
      { status: 'skipped', at: '12:20', count: 20, reason: 'paused' },
    ]);
    const [skip] = await test.tock.runs.list({ status: 'skipped' });
    expect(skip?.intervalStart).toEqual(new Date('2026-03-01T12:01:00Z'));
  });

  it('can be repeated: the first moment and the last note are kept, one row is written', async () => {
    await test.tock.schedules.upsert(minutely);
    const first = await test.tock.schedules.pause('tenant-7', { note: 'one' });
    await test.advance('2m');
    expect(await test.tock.schedules.pause('tenant-7')).toMatchObject({
      pausedAt: first.pausedAt,
      pauseReason: 'one',
    });
    expect(await test.tock.schedules.pause('tenant-7', { note: 'two' })).toMatchObject({
      pauseReason: 'two',
    });
    expect((await test.tock.schedules.resume('tenant-7')).skipped?.count).toBe(2);
    const resumed = await test.tock.schedules.resume('tenant-7');
    expect(resumed.skipped).toBeNull();
    expect(await rows('tenant-7')).toHaveLength(1);
  });

  it('executes what was queued before', async () => {
    await test.tock.schedules.upsert({ ...minutely, jitter: '50s' });
    await test.setClock('2026-03-01T12:01:00Z');
    await test.tock.tick();
    await test.tock.schedules.pause('tenant-7');
    await test.setClock('2026-03-01T12:02:00Z');
    expect(await test.tock.tick()).toMatchObject({ executed: { succeeded: 1 } });
  });

  it('work for what code defines, and a registration keeps the pause', async () => {
    await test.tock.schedules.pause('in-code', { note: 'stocktaking' });
    await test.advance('3h');
    const edited = test.another({ jobs: [mail, plain, inCode({ cron: '30 * * * *' })] });
    await edited.register();
    await test.advance('2h');
    expect((await edited.tick()).materialized).toMatchObject({ definitions: 0 });
    expect(await find('in-code')).toMatchObject({ cron: '30 * * * *', pauseReason: 'stocktaking' });
    expect(await test.tock.schedules.resume('in-code')).toMatchObject({
      nextAt: new Date('2026-03-01T17:30:00Z'),
      skipped: { count: 2 },
    });
    expect((await rows('in-code')).map(each => `${each.at} ${each.count}`)).toEqual(['16:30 2', '15:00 3']);
  });

  it('leave an exhausted schedule without a next occurrence', async () => {
    await test.tock.schedules.upsert({ ...minutely, remaining: 0 });
    await test.tock.schedules.pause('tenant-7');
    await test.advance('5m');
    expect(await test.tock.schedules.resume('tenant-7')).toMatchObject({ nextAt: null, skipped: null });
  });

  it('refuse what is not there, or has no schedule', async () => {
    for (const name of ['nothing', '']) {
      await expect(test.tock.schedules.pause(name)).rejects.toMatchObject({ code: 'TOCK_NOT_FOUND' });
      await expect(test.tock.schedules.resume(name)).rejects.toMatchObject({ code: 'TOCK_NOT_FOUND' });
    }
    await expect(test.tock.schedules.pause('plain')).rejects.toMatchObject({ code: 'TOCK_BAD_STATE' });
  });
});

describe('remove', () => {
  it('withdraws what is not due, hides the schedule, and gives the same id back', {
    tags: 'check',
  }, async () => {
    const { id } = await test.tock.schedules.upsert({ ...minutely, jitter: '50s', catchup: 'all' });
    await test.setClock('2026-03-01T12:01:00Z');
    await test.tock.tick();
    await test.setClock('2026-03-01T12:02:00Z');
    const removed = await test.tock.schedules.remove('tenant-7', { ifVersion: 1 });
    expect(removed.vanishedAt).not.toBeNull();
    expect(await find('tenant-7')).toBeUndefined();
    await test.advance('10m');
    expect((await test.tock.tick()).materialized).toMatchObject({ definitions: 0 });
    const again = await test.tock.schedules.upsert(
      { ...minutely, catchup: 'all', overlap: 'allow_all' },
      { ifVersion: 0 },
    );
    expect(again).toMatchObject({ id, version: 3, vanishedAt: null });
    // The clock is set back: what was before the removal does not come again.
    await test.setClock('2026-03-01T12:02:00Z');
    await test.tock.tick();
    await test.setClock('2026-03-01T12:13:00Z');
    await test.tock.tick();
    expect((await rows('tenant-7')).map(row => `${row.at} ${row.reason}`).sort()).toEqual([
      '12:01 null',
      '12:02 edited',
      '12:13 null',
    ]);
  });

  it('refuses what is not there, what code defines, and another version', async () => {
    await test.tock.schedules.upsert(minutely);
    const { schedules } = test.tock;
    await expect(schedules.remove('nothing')).rejects.toMatchObject({ code: 'TOCK_NOT_FOUND' });
    await expect(schedules.remove('in-code')).rejects.toMatchObject({ code: 'TOCK_BAD_STATE' });
    await expect(schedules.remove('tenant-7', { ifVersion: 9 })).rejects.toMatchObject({
      code: 'TOCK_VERSION_CONFLICT',
    });
    await schedules.remove('tenant-7');
    await expect(schedules.remove('tenant-7')).rejects.toMatchObject({ code: 'TOCK_NOT_FOUND' });
  });
});
