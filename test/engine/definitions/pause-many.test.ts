// Engine: many schedules paused by one act, and what resuming that act lifts.
import { beforeEach, describe, expect, it } from 'vitest';
import { defineJob, type SharedPause } from '../../../src/index.js';
import { openForEach } from '../../support/open.js';
import { reuseTestTock } from '../../support/test-tock.js';

const plain = defineJob({ name: 'plain', run: () => null });
const failing = defineJob({
  name: 'failing',
  schedule: { cron: '* * * * *', pauseOnFailure: 1 },
  retry: { maxAttempts: 1 },
  run: () => {
    throw new Error('always');
  },
});

const test = openForEach(() => reuseTestTock([plain, failing]));
beforeEach(async () => {
  await test.setClock('2026-03-01T12:00:30Z');
  await test.tock.register();
  for (const name of ['a', 'b', 'held']) await make(name);
});

const make = async (name: string) =>
  await test.tock.schedules.upsert({ name, job: 'plain', cron: '0 * * * *' });
const find = async (name: string) => (await test.tock.schedules.list({ name }))[0];
/** What is paused, with its reason. */
const reasons = async () =>
  Object.fromEntries(
    (await test.tock.schedules.list())
      .filter(({ pausedAt }) => pausedAt !== null)
      .map(({ name, pauseReason }) => [name, pauseReason] as const),
  );
const acts = async (action: string) => await test.tock.audit.list({ action });
const pauseAll = async (note = 'the database moves') => {
  const result = await test.tock.schedules.pauseMany({}, { note });
  if (result.pause === null) throw new Error('nothing was paused');
  return { ...result, pause: result.pause };
};

describe('pauseMany', () => {
  it('leaves what is paused already as it is, by an operator or by itself, and counts only what it paused', async () => {
    await test.tock.schedules.pause('held', { note: 'legal hold, do not resume' });
    await test.setClock('2026-03-01T12:01:00Z');
    await test.tock.tick();
    const itself = 'paused by itself after 1 dead run';
    expect(await reasons()).toEqual({ failing: itself, held: 'legal hold, do not resume' });
    const before = await find('held');

    const result = await pauseAll();
    expect(result).toMatchObject({ paused: 2, pausedAlready: 2, names: ['a', 'b'], isStopped: false });
    expect(await reasons()).toEqual({
      a: 'the database moves',
      b: 'the database moves',
      failing: itself,
      held: 'legal hold, do not resume',
    });
    expect(await find('held')).toEqual(before);
    await expect(test.tock.schedules.pauseMany({}, { note: 'again' })).resolves.toEqual({
      pause: null,
      paused: 0,
      pausedAlready: 4,
      names: [],
      isStopped: false,
    });
    expect((await acts('schedules.pause')).map(({ targets, count }) => [targets, count])).toEqual([
      [['a', 'b'], 2],
      [['held'], 1],
    ]);
    expect((await acts('schedules.pause'))[0]).toMatchObject({
      id: result.pause,
      details: { note: 'the database moves' },
    });
  });

  it('pauses those of a name, a job, a state, or a part of the name', async () => {
    expect(await test.tock.schedules.pauseMany({ names: ['a'] })).toMatchObject({ names: ['a'] });
    expect(await test.tock.schedules.pauseMany({ job: 'failing' })).toMatchObject({ names: ['failing'] });
    expect(await test.tock.schedules.pauseMany({ name: 'HEL' })).toMatchObject({ names: ['held'] });
    expect(await test.tock.schedules.pauseMany({ state: 'scheduled' })).toMatchObject({ names: ['b'] });
  });

  it('refuses a name that nothing has, before it pauses any', async () => {
    await expect(test.tock.schedules.pauseMany({ names: ['a', 'typo'] })).rejects.toMatchObject({
      code: 'TOCK_NOT_FOUND',
      message: expect.stringContaining('"typo"'),
    });
    expect(await reasons()).toEqual({});
  });

  it('is one act of the audit however many there are, found by each of them, and resumed as one', {
    tags: 'check',
  }, async () => {
    await test.sql(
      `insert into tock.job_definitions (name, job, origin, cron, next_at)
       select 'many-' || lpad(i::text, 3, '0'), 'plain', 'runtime', '0 0 1 1 *', '2027-01-01Z' from generate_series(1, 250) i`,
    );
    const { pause, paused } = await pauseAll();
    expect(paused).toBe(254);
    expect((await acts('schedules.pause')).map(({ id, count }) => [id, count])).toEqual([[pause, 254]]);
    for (const name of ['a', 'many-007', 'many-250'])
      expect(await test.tock.audit.list({ target: name, action: 'schedules.pause' })).toMatchObject([
        { id: pause, count: 254 },
      ]);
    expect(await test.tock.schedules.resumeMany({ pause })).toMatchObject({ resumed: 254 });
    expect((await acts('schedules.resume')).map(({ count, details }) => [count, details['pause']])).toEqual([
      [254, pause],
    ]);
    expect(await reasons()).toEqual({});
  });

  it('pauses each once where two do it at once', async () => {
    const both = await Promise.all([
      test.tock.schedules.pauseMany({}, { note: 'one' }),
      test.tock.schedules.pauseMany({}, { note: 'two' }),
    ]);
    expect(both.map(({ paused }) => paused).sort((a, b) => a - b)).toEqual([0, 4]);
    expect((await acts('schedules.pause')).map(({ count }) => count)).toEqual([4]);
  });
});

describe('resumeMany', () => {
  it('lifts what the act has paused, and nothing else', async () => {
    await test.tock.schedules.pause('held', { note: 'legal hold, do not resume' });
    const { pause } = await pauseAll();
    await test.setClock('2026-03-01T14:00:30Z');
    expect(await test.tock.schedules.resumeMany({ pause })).toMatchObject({
      resumed: 3,
      // Two hours of a and b, and 120 minutes of the third.
      skipped: 124,
    });
    expect(await reasons()).toEqual({ held: 'legal hold, do not resume' });
    expect(await find('a')).toMatchObject({ pauseId: null, nextAt: new Date('2026-03-01T15:00:00Z') });
    expect(await acts('schedules.resume')).toMatchObject([
      { count: 3, targets: ['failing', 'a', 'b'], details: { pause, skipped: 124 } },
    ]);
  });

  it('leaves one that was resumed by hand and paused again for another reason', {
    tags: 'check',
  }, async () => {
    const { pause } = await pauseAll();
    await test.tock.schedules.resume('a');
    await test.tock.schedules.pause('a', { note: 'customer asked' });
    expect(await test.tock.schedules.resumeMany({ pause })).toMatchObject({ resumed: 3 });
    expect(await reasons()).toEqual({ a: 'customer asked' });
  });

  it.each([[{ note: 'customer asked' }], [{}]])(
    'leaves one that somebody has paused meanwhile by itself, with %j',
    { tags: 'check' },
    async options => {
      const { pause } = await pauseAll();
      await test.tock.schedules.pause('a', options);
      expect(await test.tock.audit.list({ target: 'a', action: 'schedules.pause' })).toHaveLength(2);
      expect(await test.tock.schedules.resumeMany({ pause })).toMatchObject({ resumed: 3 });
      expect(Object.keys(await reasons())).toEqual(['a']);
    },
  );

  it('leaves what another act has paused', async () => {
    const first = await test.tock.schedules.pauseMany({ names: ['a'] }, { note: 'first' });
    const second = await pauseAll('second');
    expect(second.pause).not.toBe(first.pause);
    await test.tock.schedules.resumeMany({ pause: second.pause });
    expect(await reasons()).toEqual({ a: 'first' });
    expect(await test.tock.schedules.pauses()).toMatchObject([{ id: first.pause, count: 1 }]);
  });

  it('lifts the pause of what has vanished from code meanwhile, and not of what was removed', async () => {
    const { pause } = await pauseAll();
    await test.another({ jobs: [plain] }).register();
    await test.tock.schedules.remove('a');
    expect(await test.tock.schedules.resumeMany({ pause })).toMatchObject({ resumed: 3 });
    expect(await find('failing')).toMatchObject({ pausedAt: null, vanishedAt: expect.any(Date) });
  });

  it('refuses to resume everything, an act of which no pause holds, and names that nothing has', async () => {
    const { pause } = await pauseAll();
    await test.tock.schedules.resumeMany({ pause });
    for (const [match, code] of [
      [{}, 'TOCK_BAD_OPTION'],
      [{ state: 'paused' }, 'TOCK_BAD_OPTION'],
      [{ pause }, 'TOCK_NOT_FOUND'],
      [{ pause: 'all' }, 'TOCK_NOT_FOUND'],
      [{ names: ['typo'] }, 'TOCK_NOT_FOUND'],
    ] as const)
      await expect(test.tock.schedules.resumeMany(match)).rejects.toMatchObject({ code });
  });
});

describe('pauses', () => {
  it('are the acts of which pauses hold: who, when, why, and how many', async () => {
    expect(await test.tock.schedules.pauses()).toEqual([]);
    const mia = test.tock.as({ name: 'mia', via: 'page', role: 'operate', seesPayloads: false });
    const { pause } = await mia.schedules.pauseMany({}, { note: 'the database moves' });
    await test.tock.schedules.resume('a');
    expect(await test.tock.schedules.pauses()).toEqual([
      {
        id: pause ?? '',
        pausedAt: new Date('2026-03-01T12:00:30Z'),
        note: 'the database moves',
        operator: 'mia',
        count: 3,
      } satisfies SharedPause,
    ]);
  });

  it('hold without their row of the audit, which retention removes', async () => {
    const { pause } = await pauseAll();
    await test.sql('delete from tock.audit');
    expect(await test.tock.schedules.pauses()).toMatchObject([{ id: pause, operator: null, count: 4 }]);
    expect(await test.tock.schedules.resumeMany({ pause })).toMatchObject({ resumed: 4 });
  });
});
