// Shifted occurrences and business days on the database: catch-up, proof, edits of a calendar, exceptions,
// why.
import { beforeEach, describe, expect, it } from 'vitest';
import type { ScheduleInput } from '../../src/engine/definitions/schedules.js';
import { defineJob } from '../../src/index.js';
import { openForEach } from '../support/open.js';
import { proveAfterEach } from '../support/prove-all.js';
import { reuseTestTock } from '../support/test-tock.js';

const work = defineJob({ name: 'work', run: () => null });
const test = openForEach(() => reuseTestTock([work]));
proveAfterEach(test);

/** Thursday to Wednesday, with Good Friday and Easter Monday. */
beforeEach(async () => {
  await test.setClock('2027-03-25T06:00:00Z');
  await test.tock.calendars.set('easter', { dates: ['2027-03-26', '2027-03-29'] });
});

const make = async (more: Partial<ScheduleInput>) =>
  await test.tock.schedules.upsert({
    name: 'daily',
    job: work,
    cron: '0 9 * * *',
    timezone: 'Europe/Berlin',
    businessDays: { calendar: 'easter' },
    shift: 'next',
    ...more,
  });
const tickAt = async (time: string) => {
  await test.setClock(time);
  await test.tock.tick();
};
const runs = async (definition = 'daily') =>
  (await test.tock.runs.list({ definition })).toReversed().map(run => {
    const reason = run.skipReason === null ? '' : ` ${run.skipReason}`;
    const many = run.occurrenceCount === 1 ? '' : ` of ${run.occurrenceCount}`;
    return `${run.scheduledFor?.toISOString().slice(5, 16)} ${run.status}${reason}${many}`;
  });
const find = async (name = 'daily') => (await test.tock.schedules.list({ name }))[0];

describe('a shifted schedule', () => {
  it('runs once for all that fall together, and the data interval spans them', async () => {
    const spans: string[] = [];
    const job = defineJob({
      name: 'spans',
      schedule: {
        cron: '0 9 * * *',
        timezone: 'Europe/Berlin',
        businessDays: { calendar: 'easter' },
        shift: 'next',
      },
      run: ({ dataInterval, occurrenceCount }) => {
        spans.push(
          `${dataInterval?.start.toISOString()} ${dataInterval?.end.toISOString()} ${occurrenceCount}`,
        );
      },
    });
    const tock = test.another({ jobs: [job] });
    await tock.register();
    for (const time of ['2027-03-25T08:00:00Z', '2027-03-29T08:00:00Z', '2027-03-30T07:00:00Z']) {
      await test.setClock(time);
      await tock.tick();
    }
    expect(spans).toEqual([
      '2027-03-24T08:00:00.000Z 2027-03-25T08:00:00.000Z 1',
      '2027-03-25T08:00:00.000Z 2027-03-30T07:00:00.000Z 1',
    ]);
  });

  it('moves what has run too, where an edit excludes its day afterwards, and says so before', {
    tags: 'check',
  }, async () => {
    await test.tock.calendars.set('easter', { dates: [] });
    await make({ cron: '0 9 26 3 *' });
    await tickAt('2027-03-26T12:00:00Z');
    const dates = ['2027-03-26', '2027-03-29'];
    const { definitions } = await test.tock.calendars.set('easter', { dates, dryRun: true });
    expect(definitions).toEqual([{ definition: 'daily', removed: 0, added: 1, isComplete: true }]);
    await test.tock.calendars.set('easter', { dates });
    await tickAt('2027-03-30T12:00:00Z');
    expect(await runs()).toEqual(['03-26T08:00 succeeded', '03-30T07:00 succeeded']);
  });

  it('has exceptions of the instants to which it has moved', { tags: 'check' }, async () => {
    await make({ cron: '0 9 26 * *' });
    await expect(test.tock.schedules.skip('daily', '2027-03-26')).rejects.toThrow(
      'under shift next it moves to 2027-03-30',
    );
    expect(await test.tock.schedules.move('daily', '2027-03-30', '2027-03-31T11:00')).toMatchObject({
      kind: 'move',
      occurrence: new Date('2027-03-30T07:00:00Z'),
    });
    await tickAt('2027-03-30T12:00:00Z');
    expect(await runs()).toEqual([]);
    await tickAt('2027-03-31T09:00:00Z');
    expect(await runs()).toEqual(['03-30T07:00 succeeded']);
    await test.tock.schedules.skip('daily', '2027-04-26');
    await tickAt('2027-04-26T12:00:00Z');
    expect(await runs()).toEqual(['03-30T07:00 succeeded', '04-26T07:00 skipped excepted']);
  });

  it('is explained on the day that is left out, and on the day to which it moves', {
    tags: 'check',
  }, async () => {
    await make({ cron: '0 9 26-28 * *' });
    const why = async (time: string) => JSON.stringify(await test.tock.why('daily', time));
    expect(await why('2027-03-26')).toContain('exclude: the calendar easter');
    expect(await why('2027-03-26')).toContain('under shift next it moves to 2027-03-30');
    expect(await why('2027-03-30T09:00')).toContain(
      'it stands for 2027-03-26, 2027-03-27 and 2027-03-28, excluded and moved here by shift next',
    );
    expect(await why('2027-03-30')).toContain('2027-03-28');
    expect(await why('2027-03-31T09:00')).toContain('is not an occurrence');
  });

  it('keeps what is stated of it through an edit of what is listed', async () => {
    const made = await make({});
    expect(made).toMatchObject({
      shift: 'next',
      exclude: [{ weekend: ['sat', 'sun'] }, { calendar: 'easter', dates: ['2027-03-26', '2027-03-29'] }],
    });
    expect(await make({})).toMatchObject({ version: 1 });
    expect(await make({ exclude: made.exclude })).toMatchObject({ version: 1, exclude: made.exclude });
  });
});

describe('business days', () => {
  it('are counted by the calendar as it is, and again after its edit', { tags: 'check' }, async () => {
    await make({ cron: '0 9 LB,3B * *', businessDays: { calendar: 'easter' } });
    expect((await find())?.nextAt).toEqual(new Date('2027-03-31T07:00:00Z'));
    await test.tock.calendars.set('easter', { dates: ['2027-03-31', '2027-04-01'] });
    expect((await find())?.nextAt).toEqual(new Date('2027-03-30T07:00:00Z'));
    for (const day of ['03-30', '03-31', '04-05', '04-06', '04-30']) await tickAt(`2027-${day}T12:00:00Z`);
    expect(await runs()).toEqual(['03-30T07:00 succeeded', '04-06T07:00 succeeded', '04-30T07:00 succeeded']);
    expect(JSON.stringify(await test.tock.why('daily', '2027-04-05'))).toContain('no-occurrence');
  });

  it('are refused without a calendar that is named, with the remedy', async () => {
    await expect(make({ businessDays: { calendar: 'nowhere' } })).rejects.toMatchObject({
      code: 'TOCK_NOT_FOUND',
      message: expect.stringContaining('tock calendar add nowhere') as string,
    });
  });
});

it('every second week at a local time runs there, keeps its anchor through an edit, and is proved', {
  tags: 'check',
}, async () => {
  await test.tock.schedules.upsert({
    name: 'fortnightly',
    job: work,
    every: '2w',
    anchor: '2027-03-15T09:00',
    timezone: 'Europe/Berlin',
  });
  for (const day of ['03-29', '04-05', '04-12']) await tickAt(`2027-${day}T07:00:00Z`);
  expect(await runs('fortnightly')).toEqual(['03-29T07:00 succeeded', '04-12T07:00 succeeded']);
  expect(await find('fortnightly')).toMatchObject({ everyMs: 1_209_600_000, anchor: '2027-03-15T09:00' });
  expect(JSON.stringify(await test.tock.why('fortnightly', '2027-04-05T09:00'))).toContain(
    'is not an occurrence',
  );
});
