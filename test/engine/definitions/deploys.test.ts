// Engine: what becomes of the occurrences of definitions that code changes, takes away and brings back.
import { beforeEach, describe, expect, it } from 'vitest';
import { defineJob } from '../../../src/index.js';
import { openForEach } from '../../support/open.js';
import { proveAfterEach } from '../../support/prove-all.js';
import { reuseTestTock } from '../../support/test-tock.js';

const other = defineJob({ name: 'other', run: () => null });
const test = openForEach(() => reuseTestTock([other]));
proveAfterEach(test);

const at = (time: string) => new Date(`2026-03-01T${time}:00Z`);
const clock = (time: string) => test.setClock(at(time).toISOString());
const HOURLY = { cron: '0 * * * *', overlap: 'allow_all', catchup: 'all' };
/** Code with the job `work`, unless `schedule` is null. */
const code = (schedule: object | null, priority = 0) => {
  const work = defineJob({
    name: 'work',
    priority,
    schedule: { ...HOURLY, ...schedule } as never,
    run: () => null,
  });
  return test.another({ jobs: schedule === null ? [other] : [other, work], allowVanishing: true });
};
const rows = async (name = 'work') =>
  (await test.tock.runs.list({ definition: name }))
    .map(({ scheduledFor, status, skipReason, occurrenceCount: count }) => {
      const time = scheduledFor?.toISOString().slice(11, 16);
      return `${time} ${skipReason ?? status}${count === 1 ? '' : ` x${count}`}`;
    })
    .sort();
const find = async (name = 'work') => (await test.tock.schedules.list({ name }))[0];
const left = async () => (await find())?.remaining;
beforeEach(() => clock('00:00'));

describe('a roll-back', () => {
  it.each([
    { catchup: 'none' },
    { catchup: 'latest' },
    { cron: '0 */2 * * *' },
    { cron: '*/15 * * * *', remaining: 3 },
  ])('catches up by the old definition from when the newer one was last seen: %o', async newer => {
    const [old, next] = [code({}), code(newer)];
    await old.tick();
    await clock('00:10');
    await next.tick();
    await clock('05:30');
    await old.tick();
    expect(await rows()).toEqual(
      ['01:00', '02:00', '03:00', '04:00', '05:00'].map(time => `${time} succeeded`),
    );
  });

  it('lets no cursor fall that materializing, or the end of a pause, has moved', async () => {
    const [old, next] = [code({ cron: '0 2 * * *' }), code({ cron: '30 1 * * *' })];
    await old.tick();
    await clock('00:10');
    await next.tick();
    await next.schedules.pause('work', { until: at('01:40') });
    await clock('01:20');
    await next.tick();
    await clock('03:00');
    await old.tick();
    await old.tick();
    expect(await rows()).toEqual(['02:00 succeeded']);
  });
});

describe('a definition that vanishes', () => {
  it('has on record what was due, and is due again from its return on', async () => {
    await code({}).tick();
    await clock('02:30');
    await code(null).tick();
    await clock('05:30');
    const again = code({}, 1);
    await again.tick();
    await clock('06:00');
    await again.tick();
    expect(await rows()).toEqual(['02:00 edited x2', '06:00 succeeded']);
  });

  it('has on record what was moved to a time after that', async () => {
    const first = code({});
    await first.tick();
    await first.schedules.move('work', at('01:00'), at('04:30'));
    await clock('02:00');
    await first.tick();
    await clock('02:30');
    await code(null).tick();
    await clock('05:30');
    await code({}, 1).tick();
    expect(await rows()).toEqual(['01:00 edited', '02:00 succeeded']);
  });

  it.each(['while it is gone', 'once it is back'])('while it is paused, and is resumed %s', async when => {
    const [first, again] = [code({}), code({}, 1)];
    await first.tick();
    await first.schedules.pause('work');
    await clock('02:30');
    await code(null).tick();
    await clock('05:30');
    if (when === 'while it is gone') await test.tock.schedules.resume('work');
    await again.tick();
    await clock('06:30');
    await again.tick();
    if (when === 'once it is back') await again.schedules.resume('work');
    const sixth = when === 'once it is back' ? 'paused' : 'succeeded';
    expect(await rows()).toEqual(['02:00 paused x2', `06:00 ${sixth}`]);
  });
});

it('the name of a removed schedule begins in code without its pause and its exceptions', async () => {
  await test.tock.schedules.upsert({ name: 'work', job: other, cron: '0 * * * *' });
  await test.tock.schedules.skip('work', at('05:00'));
  await test.tock.schedules.pause('work');
  await test.tock.schedules.remove('work');
  await clock('01:30');
  await code({}).tick();
  expect(await find()).toMatchObject({ pausedAt: null, origin: 'code' });
  expect(await test.tock.schedules.exceptions('work')).toEqual([]);
});

describe('remaining', () => {
  it('is what is left, through edits that state the same number, until another one is stated', async () => {
    await code({ remaining: 2 }).tick();
    await clock('01:00');
    await code({ remaining: 2 }, 1).tick();
    expect(await left()).toBe(1);
    await clock('02:00');
    await code({ remaining: 2 }, 2).tick();
    await clock('03:00');
    await code({ remaining: 2 }, 3).tick();
    expect(await find()).toMatchObject({ remaining: 0, nextAt: null });
    await code(null).tick();
    const again = code({ remaining: 2 }, 4);
    await again.tick();
    expect(await find()).toMatchObject({ remaining: 0, nextAt: null });
    await code({ remaining: 3 }).tick();
    expect(await left()).toBe(3);
    expect(await rows()).toEqual(['01:00 succeeded', '02:00 succeeded']);
  });

  it('begins again with a schedule that was removed', async () => {
    const input = { name: 'work', job: other, cron: '0 * * * *', remaining: 1 };
    await test.tock.schedules.upsert(input);
    await clock('01:00');
    await test.tock.tick();
    await test.tock.schedules.upsert({ ...input, priority: 1 });
    expect(await find()).toMatchObject({ remaining: 0, nextAt: null, version: 2 });
    await test.tock.schedules.upsert({ ...input, priority: 1 });
    expect(await find()).toMatchObject({ remaining: 0, version: 2 });
    await test.tock.schedules.remove('work');
    await test.tock.schedules.upsert(input);
    expect(await left()).toBe(1);
  });
});
