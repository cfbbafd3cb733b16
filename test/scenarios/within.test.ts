// Scheduled runs that wait for the occurrences of other definitions in their data interval.
import { beforeEach, describe, expect, it } from 'vitest';
import { type AnyJob, Dead, defineJob, type JobSchedule } from '../../src/index.js';
import { openForEach } from '../support/open.js';
import { reuseTestTock } from '../support/test-tock.js';

const test = openForEach(reuseTestTock);
/** The hours, as `21:00Z`, whose runs are to end dead. */
let failing: Set<string>;
/** In which order handlers ended: `hourly 21:00`, `daily 22:00`. */
let ended: string[];
beforeEach(() => {
  failing = new Set();
  ended = [];
});

const timezone = 'Europe/Berlin';
const clock = (at: Date | null) => at?.toISOString().slice(11, 16) ?? '';
const hourly = (more: JobSchedule = {}, name = 'hourly'): AnyJob =>
  defineJob({
    name,
    queue: 'hours',
    schedule: { cron: '0 * * * *', timezone, catchup: 'all', overlap: 'allow_all', ...more },
    run(ctx) {
      if (failing.has(clock(ctx.scheduledFor))) throw new Dead('no');
      ended.push(`${name} ${clock(ctx.scheduledFor)}`);
    },
  });
const daily = (more: JobSchedule = {}, name = 'daily'): AnyJob =>
  defineJob({
    name,
    schedule: { cron: '0 0 * * *', timezone, after: { all: 'hourly', within: 'dataInterval' }, ...more },
    async run(ctx) {
      ended.push(`${name} ${clock(ctx.scheduledFor)}`);
      let count = 0;
      for await (const { status } of ctx.group.results()) if (status === 'succeeded') count++;
      return count;
    },
  });
const open = async (at: string, ...jobs: AnyJob[]) => {
  await test.setClock(at);
  const tock = test.another({ jobs });
  await tock.tick();
  return tock;
};
const tickAt = async (tock: Awaited<ReturnType<typeof open>>, at: string) => {
  await test.setClock(at);
  await tock.tick();
};
const runsOf = async (definition: string) =>
  (await test.tock.runs.list({ definition })).toReversed().map(run => ({
    at: run.scheduledFor?.toISOString().slice(5, 16),
    status: run.status === 'skipped' ? `skipped ${run.skipReason}` : run.status,
  }));
const dailyRun = async (status = ['queued', 'running', 'succeeded'] as const) => {
  const [run] = await test.tock.runs.list({ definition: 'daily', status: [...status] });
  return run;
};
const why = async (at: string) => (await test.tock.why('daily', at)).sentences.join('; ');

describe('after … within dataInterval', () => {
  it.each([
    ['23 hours in spring', '2026-03-28T22:30:00Z', '2026-03-29T22:00:00Z', 23],
    ['24 hours', '2026-05-01T21:30:00Z', '2026-05-02T22:00:00Z', 24],
    ['25 hours in autumn', '2026-10-24T21:30:00Z', '2026-10-25T23:00:00Z', 25],
  ])('a daily run starts after %s', async (_, from, to, count) => {
    const tock = await open(from, hourly(), daily());
    await tickAt(tock, new Date(Date.parse(from) + 30 * 60_000).toISOString());
    // Midnight: the hours before the definitions were there have no occurrence.
    expect(await dailyRun()).toMatchObject({ status: 'succeeded', output: 0 });
    ended = [];
    await tickAt(tock, to);
    expect(await dailyRun()).toMatchObject({ status: 'succeeded', output: count });
    // That of midnight itself is the first of the next day, and not waited for.
    const own = ended.indexOf(`daily ${to.slice(11, 16)}`);
    const before = ended.slice(0, own);
    // The first of them ended at midnight.
    expect(new Set(before).size).toBeGreaterThanOrEqual(count - 1);
    expect(ended.filter(each => each.startsWith('daily'))).toHaveLength(1);
  });

  it('waits for the last of them, says for which, and starts as soon as it has ended', {
    tags: 'check',
  }, async () => {
    const tock = await open('2026-05-01T22:30:00Z', hourly(), daily());
    await tickAt(tock, '2026-05-02T20:30:00Z');
    await test.setClock('2026-05-02T22:00:00Z');
    await tock.tick({ queues: ['default'] });
    const run = await dailyRun();
    expect(run).toMatchObject({
      status: 'queued',
      waits: [{ kind: 'group', outcome: null, needsSuccess: true, runs: { count: 23, left: 1, failed: 0 } }],
    });
    const said = await why('2026-05-02T22:00:00Z');
    expect(said).toContain('hourly: 22 of 23 have succeeded; not 2026-05-02 23:00');
    expect(said).toContain(', queued)');
    await tock.tick();
    expect(await dailyRun()).toMatchObject({ status: 'succeeded', output: 23 });
    await test.setClock('2026-05-02T22:00:30Z');
    await tock.tick();
    expect(await runsOf('daily')).toHaveLength(1);
  });

  it('waits for one that is dead until it is retried, and the next day does not wait for it', {
    tags: 'check',
  }, async () => {
    failing.add('10:00');
    const tock = await open('2026-05-01T22:30:00Z', hourly(), daily());
    await tickAt(tock, '2026-05-02T22:00:00Z');
    expect(await dailyRun()).toMatchObject({ status: 'queued', waits: [{ runs: { left: 0, failed: 1 } }] });
    const said = await why('2026-05-02T22:00:00Z');
    const [dead] = await tock.runs.list({ status: ['dead'] });
    expect(said).toContain(`hourly: 22 of 23 have succeeded; not 2026-05-02 12:00`);
    expect(said).toContain(`(run ${dead?.id}, dead)`);
    expect(said).toContain(`it goes on with tock retry ${dead?.id}; or tock group continue`);
    failing.clear();
    await tickAt(tock, '2026-05-03T22:00:00Z');
    expect(await runsOf('daily')).toEqual([
      { at: '05-02T22:00', status: 'queued' },
      { at: '05-03T22:00', status: 'succeeded' },
    ]);
    await tock.runs.retry(dead?.id ?? '');
    await tock.tick();
    expect(await runsOf('daily')).toEqual([
      { at: '05-02T22:00', status: 'succeeded' },
      { at: '05-03T22:00', status: 'succeeded' },
    ]);
  });

  it('on completion it starts after what is dead, too', { tags: 'check' }, async () => {
    failing.add('10:00');
    const tock = await open(
      '2026-05-01T22:30:00Z',
      hourly(),
      daily({ after: { all: ['hourly'], on: 'completion', within: 'dataInterval' } }),
    );
    await tickAt(tock, '2026-05-02T22:00:00Z');
    expect(await dailyRun()).toMatchObject({ status: 'succeeded', output: 22 });
  });

  it('a run after an outage counts for all occurrences that it stands for, also beyond the interval', {
    tags: 'check',
  }, async () => {
    const tock = await open('2026-05-01T22:30:00Z', hourly({ catchup: 'latest' }), daily());
    await tickAt(tock, '2026-05-01T23:00:00Z');
    await tickAt(tock, '2026-05-02T05:10:00Z');
    await tickAt(tock, '2026-05-02T20:10:00Z');
    // Then nothing ticked for five hours: 21:00Z, of the day, is in the run of 01:00Z, of the next one.
    await test.setClock('2026-05-03T01:10:00Z');
    await tock.tick({ queues: ['default'] });
    expect(await dailyRun()).toMatchObject({
      status: 'queued',
      waits: [{ runs: { count: 4, left: 1 } }],
    });
    expect(await why('2026-05-02T22:00:00Z')).toContain(
      'hourly: 3 of 4 have succeeded; not 2026-05-03 03:00',
    );
    await tock.tick();
    expect(await dailyRun()).toMatchObject({ status: 'succeeded', output: 4 });
    expect(ended.at(-1)).toBe('daily 22:00');
  });

  it('does not wait for what an operator has skipped, or has moved behind the interval', {
    tags: 'check',
  }, async () => {
    const tock = await open('2026-05-01T22:30:00Z', hourly(), daily());
    await tock.schedules.skip('hourly', '2026-05-02T10:00:00Z', { note: 'no data' });
    await tock.schedules.move('hourly', '2026-05-02T11:00:00Z', '2026-05-03T08:30:00Z', { note: 'late' });
    await tickAt(tock, '2026-05-02T22:00:00Z');
    expect(await dailyRun()).toMatchObject({ status: 'succeeded', output: 21 });
  });

  it('waits for what was skipped in a pause until a backfill has made it, and says so', {
    tags: 'check',
  }, async () => {
    const tock = await open('2026-05-01T22:30:00Z', hourly(), daily());
    await tickAt(tock, '2026-05-02T18:30:00Z');
    await tock.schedules.pause('hourly', { note: 'maintenance' });
    await tickAt(tock, '2026-05-02T22:00:00Z');
    expect(await dailyRun()).toMatchObject({ status: 'queued', waits: [] });
    expect(await why('2026-05-02T22:00:00Z')).toContain(
      'hourly: 20 of 20 have succeeded; it is paused, and has',
    );
    await test.setClock('2026-05-02T22:10:00Z');
    await tock.schedules.resume('hourly');
    await tock.tick();
    const said = await why('2026-05-02T22:00:00Z');
    expect(said).toContain('hourly: 20 of 23 have succeeded; not 2026-05-02 21:00');
    expect(said).toContain('(skipped: paused)');
    expect(said).toContain(
      'tock backfill hourly --from 2026-05-02T19:00:00Z --to 2026-05-02T21:00:01Z; or tock group continue',
    );
    await tock.schedules.backfill('hourly', { from: '2026-05-02T19:00:00Z', to: '2026-05-02T21:00:01Z' });
    await tock.tick();
    await tock.tick();
    expect(await dailyRun()).toMatchObject({ status: 'succeeded', output: 23 });
  });

  it('a backfilled day waits for its backfilled hours', { tags: 'check' }, async () => {
    const tock = await open('2026-05-10T12:30:00Z', hourly(), daily());
    const day = { from: '2026-05-01T22:00:00Z', to: '2026-05-02T22:00:00Z' };
    await tock.schedules.backfill('hourly', day);
    await tock.schedules.backfill('daily', { from: day.to, to: '2026-05-02T22:00:01Z' });
    expect(await dailyRun()).toMatchObject({ status: 'queued', waits: [{ runs: { count: 24, left: 24 } }] });
    await tock.tick();
    await tock.tick();
    expect(await dailyRun()).toMatchObject({ status: 'succeeded', output: 24, trigger: 'backfill' });
    expect(ended.at(-1)).toBe('daily 22:00');
  });

  it('starts once where two processes end the last of them at the same moment', {
    tags: 'check',
  }, async () => {
    const jobs = [hourly(), daily()];
    const tock = await open('2026-05-01T22:30:00Z', ...jobs);
    await test.setClock('2026-05-02T22:00:00Z');
    const ticks = Array.from({ length: 4 }, () => test.another({ jobs }).tick({ concurrency: 2 }));
    await Promise.all([tock.tick({ concurrency: 2 }), ...ticks]);
    await tock.tick();
    await tock.tick();
    expect(await dailyRun()).toMatchObject({ status: 'succeeded', output: 23 });
    expect(ended.filter(each => each.startsWith('daily'))).toHaveLength(1);
    expect(await test.sql('select * from tock.job_outbox')).toEqual([]);
  });

  it('is found by the next tick where the process died before it had looked', { tags: 'check' }, async () => {
    const tock = await open('2026-05-01T22:30:00Z', hourly(), daily());
    await test.sql(
      `create function tock.hold() returns trigger language plpgsql as $$ begin raise 'held'; end $$`,
    );
    await test.sql(
      `create trigger hold before delete on tock.job_outbox for each row execute function tock.hold()`,
    );
    await test.setClock('2026-05-02T22:00:00Z');
    await tock.tick().catch(() => undefined);
    await tock.tick().catch(() => undefined);
    expect(await dailyRun()).toMatchObject({ status: 'queued', waits: [] });
    await test.sql('drop trigger hold on tock.job_outbox');
    await tock.tick();
    expect(await dailyRun()).toMatchObject({ status: 'succeeded', output: 23 });
  });

  it('looks again until a tick that works on the hours has made them', { tags: 'check' }, async () => {
    const tock = await open('2026-05-01T22:30:00Z', hourly(), daily());
    // As if another tick had it: it is due, and passed over.
    await test.sql(`update tock.job_definitions set paused_at = tock.now() where name = 'hourly'`);
    await tickAt(tock, '2026-05-02T22:00:00Z');
    await test.sql(`update tock.job_definitions set paused_at = null where name = 'hourly'`);
    await test.sql(
      `insert into tock.job_outbox (kind, definition_id) select 'interval', id from tock.job_definitions where name = 'daily'`,
    );
    expect(await why('2026-05-02T22:00:00Z')).toContain('that no tick has considered yet');
    await tock.tick();
    await tock.tick();
    expect(await dailyRun()).toMatchObject({ status: 'succeeded', output: 23 });
  });

  it('names what was removed, and is started by an operator, with what there is, or by an edit', {
    tags: 'check',
  }, async () => {
    const tock = await open('2026-05-01T22:30:00Z', hourly({}, 'source'));
    const make = async (name: string) =>
      await tock.schedules.upsert({ name, job: 'source', cron: '0 * * * *', timezone, catchup: 'all' });
    const wait = async (name: string, of: readonly string[] | null) =>
      await tock.schedules.upsert({
        name,
        job: 'source',
        cron: '0 0 * * *',
        timezone,
        ...(of === null ? {} : { after: { all: of, within: 'dataInterval' } }),
      });
    await make('hourly');
    for (const name of ['daily', 'report']) await wait(name, ['hourly']);
    await tickAt(tock, '2026-05-02T12:30:00Z');
    await tock.schedules.remove('hourly');
    await tickAt(tock, '2026-05-02T22:00:00Z');
    expect(await why('2026-05-02T22:00:00Z')).toContain('hourly: 14 of 14 have succeeded; it was removed');
    const [waiting] = await tock.runs.list({ definition: 'daily', status: ['queued'] });
    expect(await tock.continueGroup(waiting?.id ?? '')).toBe(true);
    expect(await tock.continueGroup(waiting?.id ?? '')).toBe(false);
    await wait('report', null);
    await tock.tick();
    await tock.tick();
    for (const name of ['daily', 'report'])
      expect(await runsOf(name)).toEqual([{ at: '05-02T22:00', status: 'succeeded' }]);
  });

  it('is not withdrawn by an edit while it waits', { tags: 'check' }, async () => {
    const tock = await open('2026-05-01T22:30:00Z', hourly(), daily());
    await test.setClock('2026-05-02T22:00:00Z');
    await tock.tick({ queues: ['default'] });
    const edited = test.another({ jobs: [hourly(), daily({ startDeadline: '6h' })] });
    await edited.tick({ queues: ['default'] });
    expect(await runsOf('daily')).toEqual([{ at: '05-02T22:00', status: 'queued' }]);
    await edited.tick();
    expect(await dailyRun()).toMatchObject({ status: 'succeeded', output: 23 });
  });

  it('is a schedule as others are for tock prove and tock plan', { tags: 'check' }, async () => {
    const tock = await open('2026-05-01T22:30:00Z', hourly(), daily());
    await tickAt(tock, '2026-05-02T22:00:00Z');
    const proof = await tock.prove({ from: '2026-05-01T22:30:00Z', to: '2026-05-02T22:00:00Z' });
    expect(proof).toMatchObject({ unexplained: 0 });
    expect((await tock.schedules.list({ prefix: 'daily' }))[0]).toMatchObject({
      after: null,
      waitsFor: { definitions: ['hourly'], on: 'success', within: 'dataInterval' },
      overlap: 'buffer_all',
    });
  });
});

describe('what is refused', () => {
  const refused = (schedule: JobSchedule, ...others: AnyJob[]) => {
    try {
      test.another({ jobs: [daily(schedule), ...others] });
    } catch (error) {
      return String(error);
    }
    return '';
  };

  it('says how to write it', () => {
    const within = 'dataInterval';
    const as = (value: unknown) => value as NonNullable<JobSchedule['after']>;
    const cases: (readonly [string, string])[] = [
      [refused({ after: as({ all: 'hourly', within: 'day' }) }), `after.within "day" is not 'dataInterval'`],
      [refused({ after: as({ any: ['hourly'], within }) }), 'after has any and within'],
      [refused({ after: as({ all: 'hourly', on: 'failure', within }) }), 'after.on is failure beside within'],
      [refused({ after: { all: 'daily', within } }), 'after names "daily" itself'],
      [refused({ jitter: '5m' }), 'leave jitter out'],
      [refused({ after: 'hourly' }), `or write after: { all: […], within: 'dataInterval' }`],
      [
        refused({ after: { all: 'weekly', within } }, daily({ after: { all: 'daily', within } }, 'weekly')),
        'after makes a circle',
      ],
      [
        refused(
          { after: { all: 'chained', within } },
          defineJob({ name: 'chained', schedule: { after: 'hourly' }, run: () => null }),
        ),
        'daily waits for the occurrences of "chained", which has no cron, every or at',
      ],
    ];
    for (const [message, part] of cases) expect(message).toContain(part);
  });

  it('says which definition is not there', async () => {
    const tock = await open('2026-05-01T22:30:00Z', hourly());
    const upsert = tock.schedules.upsert({
      name: 'days',
      job: 'hourly',
      cron: '0 0 * * *',
      after: { all: 'hourli', within: 'dataInterval' },
    });
    await expect(upsert).rejects.toThrow('after names "hourli", which no definition is called');
    const single = tock.schedules.upsert({
      name: 'once',
      job: 'hourly',
      at: '2026-06-01T00:00:00Z',
      after: { all: 'hourly', within: 'dataInterval' },
    });
    await expect(single).rejects.toThrow('and at; one time has no occurrence before it');
    const untimed = tock.schedules.upsert({
      name: 'none',
      job: 'hourly',
      after: { all: 'hourly', within: 'dataInterval' },
    });
    await expect(untimed).rejects.toThrow('and no times of its own');
  });
});
