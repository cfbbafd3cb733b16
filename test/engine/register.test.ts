// Engine: definitions are kept in step with the code, from several hosts and from two versions at once.
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { defineJob, type JobSchedule } from '../../src/index.js';
import { openTestTock, type TestTock } from '../support/test-tock.js';

const job = (name: string, schedule?: JobSchedule) =>
  defineJob({ name, ...(schedule ? { schedule } : {}), run: () => null });
let test: TestTock;
beforeEach(async () => {
  test = await openTestTock();
  await test.setClock('2026-03-01T12:00:30Z');
});
afterEach(() => test.close());

describe('register', () => {
  it('adds, leaves alone, changes and marks as vanished, and says which', async () => {
    const first = test.another({
      jobs: [
        job('stays', { cron: '0 * * * *' }),
        job('changes', { cron: '0 * * * *' }),
        job('goes', { cron: '0 * * * *' }),
      ],
    });
    expect(await first.register()).toMatchObject({
      status: 'registered',
      added: ['changes', 'goes', 'stays'],
    });
    expect(await first.register()).toMatchObject({ status: 'unchanged' });
    const ids = new Map((await first.schedules.list()).map(each => [each.name, each.id]));
    await test.advance('10m');
    const second = test.another({
      jobs: [job('stays', { cron: '0 * * * *' }), job('changes', { cron: '30 * * * *' }), job('one-off')],
    });
    expect(await second.register()).toEqual({
      status: 'registered',
      added: ['one-off'],
      changed: ['changes'],
      vanished: ['goes'],
    });
    const after = new Map((await second.schedules.list()).map(each => [each.name, each]));
    expect(after.get('changes')).toMatchObject({
      id: ids.get('changes'),
      nextAt: new Date('2026-03-01T12:30:00Z'),
      cursor: new Date('2026-03-01T12:10:30Z'),
    });
    expect(after.get('stays')).toMatchObject({ cursor: new Date('2026-03-01T12:00:30Z') });
    expect(after.get('goes')?.vanishedAt).not.toBeNull();
    expect(after.get('one-off')?.nextAt).toBeNull();
  });

  it('gives the same id to a definition that is removed and comes again, and catches nothing up in between', async () => {
    const with_ = test.another({ jobs: [job('a', { cron: '* * * * *', catchup: 'all' }), job('b')] });
    await with_.register();
    const [before] = await with_.schedules.list({ name: 'a' });
    await test.another({ jobs: [job('b')] }).register();
    await test.advance('1h');
    // The version with `a` was seen before; it comes back once the other has been silent for long enough.
    expect(await with_.register()).toMatchObject({ status: 'registered', changed: ['a'] });
    const [after] = await with_.schedules.list({ name: 'a' });
    expect(after).toMatchObject({ id: before?.id, vanishedAt: null });
    expect((await with_.tick()).materialized.runs).toBe(0);
  });

  it('keeps the queued runs of a vanished definition and makes no new ones', async () => {
    const one = test.another({ jobs: [job('a', { cron: '* * * * *', jitter: '50s' }), job('b')] });
    await one.register();
    await test.setClock('2026-03-01T12:01:00Z');
    await one.tick();
    const live = await test.sql(`select id from tock.job_runs_live`);
    const two = test.another({ jobs: [job('b')] });
    await two.register();
    expect(await test.sql(`select id from tock.job_runs_live`)).toEqual(live);
    await test.advance('10m');
    expect((await two.tick()).materialized).toMatchObject({ definitions: 0 });
  });

  it('withdraws queued runs of the old schedule that are not yet due, and records it', async () => {
    const one = test.another({ jobs: [job('a', { cron: '0 * * * *', jitter: '30m' })] });
    await one.register();
    await test.setClock('2026-03-01T13:00:00Z');
    await one.tick();
    const live = await test.sql<{ due: boolean }>(
      `select run_at <= tock.now() as due from tock.job_runs_live`,
    );
    expect(live).toEqual([{ due: false }]);
    await test.another({ jobs: [job('a', { cron: '15 * * * *' })] }).register();
    expect(await one.runs.list()).toMatchObject([{ status: 'skipped', skipReason: 'edited' }]);
  });

  it('loses no occurrence to a deploy: what came due under the old definition is materialized first', async () => {
    const one = test.another({ jobs: [job('a', { cron: '0 * * * *' })] });
    await one.register();
    await test.setClock('2026-03-01T15:00:01Z');
    const two = test.another({ jobs: [job('a', { cron: '30 * * * *' })] });
    expect((await two.tick()).executed).toMatchObject({ succeeded: 1 });
    expect(await two.runs.list()).toMatchObject([
      { status: 'succeeded', scheduledFor: new Date('2026-03-01T15:00:00Z'), occurrenceCount: 3 },
      { status: 'skipped', skipReason: 'catchup', occurrenceCount: 2 },
    ]);
    expect(await two.schedules.list()).toMatchObject([
      { nextAt: new Date('2026-03-01T15:30:00Z'), cursor: new Date('2026-03-01T15:00:01Z') },
    ]);
  });

  it('does not let an old version win back from a new one that is alive', async () => {
    const old = test.another({ jobs: [job('a', { cron: '0 1 * * *' })] });
    const fresh = test.another({ jobs: [job('a', { cron: '0 2 * * *' })] });
    await old.register();
    await fresh.register();
    for (let minute = 0; minute < 20; minute++) {
      await test.advance('1m');
      expect(await old.register()).toMatchObject({ status: 'superseded' });
      expect(await fresh.register()).toMatchObject({ status: 'unchanged' });
    }
    expect(await fresh.schedules.list()).toMatchObject([{ cron: '0 2 * * *' }]);
    const [row] = await test.sql<{ version: number }>('select version from tock.job_definitions');
    expect(row?.version).toBe(2);
    // A roll-back: the new version is gone, and after five minutes the old one is in force again.
    await test.advance('4m');
    expect(await old.register()).toMatchObject({ status: 'superseded' });
    await test.advance('2m');
    expect(await old.register()).toMatchObject({ status: 'registered', changed: ['a'] });
  });

  it('is done once when eight hosts register at once', async () => {
    const jobs = Array.from({ length: 50 }, (_, index) => job(`job-${index}`, { cron: '0 * * * *' }));
    const results = await Promise.all(
      Array.from({ length: 8 }, () => test.another({ jobs, connections: 2 }).register()),
    );
    expect(results.filter(each => each.status === 'registered')).toHaveLength(1);
    const [row] = await test.sql<{ count: string; versions: number }>(
      'select count(*), max(version) as versions from tock.job_definitions',
    );
    expect(row).toEqual({ count: '50', versions: 1 });
  });

  it('registers nothing, and marks nothing as vanished, when there are no jobs', async () => {
    await test.another({ jobs: [job('a', { cron: '0 * * * *' })] }).register();
    expect(await test.another({ jobs: [] }).register()).toMatchObject({ status: 'empty' });
    expect(await test.tock.schedules.list()).toMatchObject([{ name: 'a', vanishedAt: null }]);
  });
});
