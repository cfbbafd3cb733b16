// Engine: definitions are kept in step with the code, from several hosts and from two versions at once.
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { defineJob, type JobSchedule } from '../../../src/index.js';
import { openForEach } from '../../support/open.js';
import { proveAll } from '../../support/prove-all.js';
import { reuseTestTock } from '../../support/test-tock.js';

const job = (name: string, schedule?: JobSchedule) =>
  defineJob({ name, ...(schedule ? { schedule } : {}), run: () => null });
const test = openForEach(reuseTestTock, ({ setClock }) => setClock('2026-03-01T12:00:30Z'));

describe('a schema that refuses what its job is given', () => {
  const sends = (schema: object) =>
    defineJob({ name: 'sends', payload: schema, schedule: { cron: '0 7 * * 1' }, run: () => null } as never);
  const refusal = expect.objectContaining({
    code: 'TOCK_BAD_JOB',
    message: expect.stringContaining('the schedule of job sends has no payload'),
  });

  it('is found before the definitions are written', async () => {
    const tock = test.another({ jobs: [sends(z.object({ userId: z.number() }))] });
    await expect(tock.register()).rejects.toEqual(refusal);
    expect(await tock.schedules.list()).toEqual([]);
  });

  it('keeps a daemon from starting, also where only the schema has changed', async () => {
    await test.another({ jobs: [sends(z.object({ userId: z.number().optional() }))] }).register();
    const tock = test.another({ jobs: [sends(z.object({ userId: z.number() }))] });
    expect(await tock.register()).toMatchObject({ status: 'unchanged' });
    await expect(tock.start()).rejects.toEqual(refusal);
  });
});

describe('register', () => {
  it.each([
    ['extra_float_digits', '-15'],
    ['array_nulls', 'off'],
    ['standard_conforming_strings', 'off'],
    ['session_replication_role', 'replica'],
  ])('writes nothing in a session in which values would be wrong: %s = %s', async (name, value) => {
    const url = new URL(test.url);
    url.searchParams.set('options', `-c ${name}=${value}`);
    const jobs = [defineJob({ name: 'minutely', schedule: { cron: '* * * * *' }, run: () => null })];
    const under = test.another({ connectionString: url.href, jobs });
    await expect(under.tick()).rejects.toMatchObject({
      code: 'TOCK_BAD_SESSION',
      message: expect.stringMatching(`^${name} is ${value}: .*alter role .* set ${name} = `),
    });
    await under.close();
    expect(await test.tock.schedules.list()).toEqual([]);
  });

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

  const EDITS: readonly [string, JobSchedule, Partial<Record<string, unknown>>][] = [
    ['jitter', { jitter: '5m' }, { jitterMs: 300_000 }],
    ['startAt', { startAt: '2026-04-01T00:00:00Z' }, { startAt: new Date('2026-04-01T00:00:00Z') }],
    ['endAt', { endAt: '2026-04-01T00:00:00Z' }, { endAt: new Date('2026-04-01T00:00:00Z') }],
    ['shift', { shift: 'next' }, { shift: 'next' }],
    ['businessDays', { businessDays: {} }, { exclude: [{ weekend: ['sat', 'sun'] }] }],
    ['exclude', { exclude: ['2026-12-25'] }, { exclude: ['2026-12-25'] }],
    ['startDeadline', { startDeadline: '1m' }, { startDeadlineMs: 60_000 }],
    ['remaining', { remaining: 3 }, { remaining: 3 }],
    ['window', { window: '08:00-18:00' }, { window: '08:00-18:00' }],
    ['pauseOnFailure', { pauseOnFailure: 2 }, { pauseOnFailure: 2 }],
  ];

  it.each(EDITS)(
    'writes an edit of %s alone, by code and at run time',
    { tags: 'check' },
    async (_option, edit, shown) => {
      const cron = { cron: '0 * * * *' } as const;
      await test.another({ jobs: [job('report', cron)] }).register();
      const edited = test.another({ jobs: [job('report', { ...cron, ...edit })] });
      expect(await edited.register()).toMatchObject({ changed: ['report'] });
      expect((await edited.schedules.list({ name: 'report' }))[0]).toMatchObject({ version: 2, ...shown });

      await edited.schedules.upsert({ name: 'own', job: 'report', ...cron });
      const own = { name: 'own', job: 'report', ...cron, ...edit } as const;
      expect(await edited.schedules.upsert(own)).toMatchObject({ version: 2, ...shown });
      expect(await edited.schedules.upsert(own)).toMatchObject({ version: 2 });
    },
  );

  it('gives the same id to a definition that is removed and comes again, and catches nothing up in between', {
    tags: 'check',
  }, async () => {
    const a = job('a', { cron: '* * * * *', catchup: 'all' });
    const first = test.another({ jobs: [a, job('b')] });
    await first.register();
    const [before] = await first.schedules.list({ name: 'a' });
    await test.another({ jobs: [job('b')] }).register();
    await test.advance('1h');
    const with_ = test.another({ jobs: [a, job('b'), job('c')] });
    expect(await with_.register()).toMatchObject({ status: 'registered', changed: ['a'] });
    const [after] = await with_.schedules.list({ name: 'a' });
    expect(after).toMatchObject({ id: before?.id, vanishedAt: null });
    expect((await with_.tick()).materialized.runs).toBe(0);
  });

  it('keeps the queued runs of a vanished definition and makes no new ones', { tags: 'check' }, async () => {
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

  it.each([
    ['withdraws', { cron: '15 * * * *' }],
    ['withdraws', { cron: '0 * * * *', jitter: '30m', window: '14:00-15:00' }],
    ['keeps', { cron: '0 * * * *', jitter: '30m', pauseOnFailure: 3 }],
    ['keeps', { cron: '0,30 12-14 * * *', window: '13:00-14:00' }],
  ])('%s a run that is not yet due where the job becomes %o, and records it', async (what, after) => {
    const one = test.another({ jobs: [job('a', { cron: '0 * * * *', jitter: '30m' })] });
    await one.register();
    await test.setClock('2026-03-01T13:00:00Z');
    await one.tick();
    const live = await test.sql<{ due: boolean }>(
      `select run_at <= tock.now() as due from tock.job_runs_live`,
    );
    expect(live).toEqual([{ due: false }]);
    const two = test.another({ jobs: [job('a', after)] });
    await two.register();
    expect(await one.runs.list()).toMatchObject([
      what === 'keeps' ? { status: 'queued' } : { status: 'skipped', skipReason: 'edited' },
    ]);
    await test.setClock('2026-03-01T13:29:59Z');
    await two.tick();
    expect((await two.runs.list()).map(({ status }) => status)).toEqual(
      what === 'keeps' ? ['succeeded'] : expect.arrayContaining(['skipped']),
    );
    expect(await proveAll(two)).toEqual([]);
  });

  it('loses no occurrence to a deploy: what came due under the old definition is materialized first', {
    tags: 'check',
  }, async () => {
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
    expect(await proveAll(two)).toEqual([]);
  });

  it('does not let an old version win back from a new one that is alive', { tags: 'check' }, async () => {
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

  it('does not let an old version win back from a new one that sleeps, before five minutes after its sleep', async () => {
    const old = test.another({ jobs: [job('a', { cron: '0 1 * * *' })] });
    const fresh = test.another({ jobs: [job('a', { cron: '0 2 * * *' })] });
    await old.register();
    await fresh.tick();
    await test.sql(`update tock.ticks set asleep_until = tock.now() + interval '15 minutes'`);
    await test.advance('19m');
    expect(await old.register()).toMatchObject({ status: 'superseded' });
    await test.advance('2m');
    expect(await old.register()).toMatchObject({ status: 'registered', changed: ['a'] });
  });

  const minutes = async (name: string) => {
    const rows = await test.sql<{ minute: string }>(
      `select to_char(r.scheduled_for at time zone 'UTC', 'HH24:MI') as minute
       from tock.job_runs r join tock.job_definitions d on d.id = r.definition_id
       where d.name = $1 and r.status = 'succeeded' order by r.scheduled_for`,
      [name],
    );
    return rows.map(row => row.minute);
  };
  const at = (minute: number) => test.setClock(new Date(Date.UTC(2026, 2, 1, 12, minute, 1)).toISOString());

  it.each([
    ['removed', []],
    ['changed', [job('a', { cron: '0 4 1 1 *' })]],
  ])(
    'catches up in a roll-back what came due since the newer version was last seen: %s',
    { tags: 'check' },
    async (_how, newer) => {
      const old = test.another({ jobs: [job('a', { cron: '* * * * *', catchup: 'all' }), job('b')] });
      const fresh = test.another({ jobs: [...newer, job('b'), job('c')] });
      await old.tick();
      await at(1);
      await old.tick();
      await at(2);
      // It is in force for two minutes, in which the old version's occurrences are none.
      await old.tick();
      expect((await fresh.tick()).registered.status).toBe('registered');
      await at(4);
      expect((await fresh.tick()).registered.status).toBe('unchanged');
      for (const minute of [5, 6, 7, 8]) {
        await at(minute);
        expect((await old.tick()).registered.status).toBe('superseded');
      }
      await at(10);
      expect((await old.tick()).registered).toMatchObject({ status: 'registered', changed: ['a'] });
      expect(await minutes('a')).toEqual([
        '12:01',
        '12:02',
        '12:05',
        '12:06',
        '12:07',
        '12:08',
        '12:09',
        '12:10',
      ]);
      expect(await proveAll(old)).toEqual([]);
    },
  );

  it('does not catch up a pause in a roll-back', { tags: 'check' }, async () => {
    const old = test.another({ jobs: [job('a', { cron: '* * * * *', catchup: 'all' })] });
    await old.tick();
    await test.another({ jobs: [job('a', { cron: '0 4 1 1 *' })] }).register();
    await old.schedules.pause('a');
    await at(10);
    expect((await old.tick()).registered).toMatchObject({ status: 'registered', changed: ['a'] });
    await at(12);
    // The old code holds since the newer was seen last, and so do its occurrences in the pause.
    expect(await old.schedules.resume('a')).toMatchObject({ skipped: { count: 12 } });
    await at(13);
    await old.tick();
    expect(await minutes('a')).toEqual(['12:13']);
    expect(await proveAll(old)).toEqual([]);
  });

  it('leaves runs of new jobs to the newer version, in ticks of an older one', {
    tags: 'check',
  }, async () => {
    const once = { retry: { maxAttempts: 1 } };
    const known = defineJob({ name: 'known', schedule: { cron: '* * * * *' }, run: () => null });
    const added = defineJob({ name: 'added', schedule: { cron: '* * * * *' }, ...once, run: () => null });
    const old = test.another({ jobs: [known] });
    const fresh = test.another({ jobs: [known, added] });
    await old.tick();
    await fresh.tick();
    for (const minute of [1, 2, 3]) {
      await at(minute);
      // It materializes both, and executes the one that it knows.
      expect(await old.tick()).toMatchObject({
        registered: { status: 'superseded' },
        materialized: { runs: 2 },
        executed: { claimed: 2, succeeded: 1, deferred: 1 },
      });
      expect((await fresh.tick()).executed).toMatchObject({ claimed: 1, succeeded: 1 });
    }
    expect(await minutes('known')).toEqual(['12:01', '12:02', '12:03']);
    expect(await minutes('added')).toEqual(['12:01', '12:02', '12:03']);
  });

  it('is done once when eight hosts register at once', { tags: 'check' }, async () => {
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

  describe('with other jobs than the schema has', () => {
    const hourly = { cron: '0 * * * *' };
    const own = ['bill', 'prune', 'report'].map(name => job(name, hourly));
    const state = () => test.sql('select * from tock.job_definitions order by id');
    const registrations = () => test.sql('select * from tock.registrations order by fingerprint');

    it('refuses, names what would vanish, and changes nothing', async () => {
      const right = test.another({ jobs: own });
      await right.register();
      const before = [await state(), await registrations()];
      const wrong = test.another({ jobs: [job('sample', hourly)] });
      for (const call of [() => wrong.register(), () => wrong.tick(), () => wrong.start()])
        await expect(call()).rejects.toMatchObject({
          code: 'TOCK_WOULD_VANISH',
          message: expect.stringMatching(
            /^all 3 definitions in the schema tock of the database \w+ would vanish \(bill, prune, report\).*\(sample\).*DATABASE_URL.*--allow-vanishing/,
          ),
        });
      expect([await state(), await registrations()]).toEqual(before);
      expect(await right.register()).toMatchObject({ status: 'unchanged' });
    });

    it('executes nothing of what is due in a tick that is refused', async () => {
      await test.another({ jobs: own }).register();
      const id = await test.another({ jobs: own }).enqueue('bill');
      const wrong = test.another({ jobs: [job('sample', hourly)] });
      await expect(wrong.tick()).rejects.toMatchObject({ code: 'TOCK_WOULD_VANISH' });
      expect(await wrong.runs.get(id)).toMatchObject({ status: 'queued', attempts: 0 });
    });

    it('registers once that is allowed; then a process without the permission may tick', {
      tags: 'check',
    }, async () => {
      await test.another({ jobs: own }).register();
      const jobs = [job('new', hourly)];
      const allowed = test.another({ jobs, allowVanishing: true });
      expect(await allowed.register()).toMatchObject({
        status: 'registered',
        added: ['new'],
        vanished: ['bill', 'prune', 'report'],
      });
      expect((await test.another({ jobs }).tick()).registered).toMatchObject({ status: 'unchanged' });
    });

    it.each([
      ['one of two is renamed', ['a', 'b'], ['a', 'c']],
      ['the only one is renamed', ['a'], ['b']],
      ['half of four vanish', ['a', 'b', 'c', 'd'], ['a', 'b']],
      ['all stay and more come', ['a', 'b'], ['a', 'b', 'c', 'd', 'e']],
    ])('does not stand in the way when %s', { tags: 'check' }, async (_case, before, after) => {
      await test.another({ jobs: before.map(name => job(name)) }).register();
      const next = test.another({ jobs: after.map(name => job(name)) });
      expect(await next.register()).toMatchObject({ status: 'registered' });
    });

    it('does not count what had vanished before, nor schedules made at run time', async () => {
      const first = test.another({ jobs: own });
      await first.register();
      await first.schedules.upsert({ name: 'tenant-1', job: 'bill', ...hourly });
      const second = test.another({ jobs: own.slice(0, 2) });
      expect(await second.register()).toMatchObject({ vanished: ['report'] });
      const third = test.another({ jobs: own.slice(0, 1) });
      expect(await third.register()).toMatchObject({ vanished: ['prune'] });
    });

    it('lets a roll-back remove what the newer version had added', async () => {
      const old = test.another({ jobs: [job('a')] });
      await old.register();
      await test.another({ jobs: ['a', 'b', 'c', 'd'].map(name => job(name)) }).register();
      await test.advance('6m');
      expect(await old.register()).toMatchObject({ status: 'registered', vanished: ['b', 'c', 'd'] });
    });

    it('refuses a permission that is not true or false', () => {
      expect(() => test.another({ jobs: own, allowVanishing: 'yes' as unknown as boolean })).toThrow(
        /allowVanishing must be true or false/,
      );
    });
  });

  it('registers nothing, and marks nothing as vanished, when there are no jobs', async () => {
    await test.another({ jobs: [job('a', { cron: '0 * * * *' })] }).register();
    expect(await test.another({ jobs: [] }).register()).toMatchObject({ status: 'empty' });
    expect(await test.tock.schedules.list()).toMatchObject([{ name: 'a', vanishedAt: null }]);
  });
});
