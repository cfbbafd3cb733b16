// Calendars: named dates that definitions leave out. An edit changes the future only, and loses no occurrence.
import { beforeEach, describe, expect, it } from 'vitest';
import { defineJob } from '../../src/index.js';
import { openForEach } from '../support/open.js';
import { proveAfterEach } from '../support/prove-all.js';
import { reuseTestTock } from '../support/test-tock.js';

const report = defineJob({ name: 'report', run: () => null });
const daily = defineJob({
  name: 'daily',
  schedule: {
    cron: '0 9 * * *',
    timezone: 'Europe/Berlin',
    catchup: 'all',
    catchupWindow: '30d',
    exclude: ['2027-03-03', { calendar: 'holidays' }],
  },
  run: () => null,
});

const test = openForEach(() => reuseTestTock([report]));
proveAfterEach(test);
beforeEach(async () => {
  await test.setClock('2027-03-01T12:00:00Z');
});

const find = async (name: string) => (await test.tock.schedules.list({ name }))[0];
const days = async (definition: string) =>
  (await test.tock.runs.list({ definition }))
    .toReversed()
    .map(run => `${run.scheduledFor?.toISOString().slice(5, 10)} ${run.status}`);
const make = async (name = 'report-9', exclude: object = { calendar: 'holidays' }) =>
  await test.tock.schedules.upsert({
    name,
    job: report,
    cron: '0 9 * * *',
    timezone: 'Europe/Berlin',
    catchup: 'all',
    catchupWindow: '30d',
    overlap: 'allow_all',
    exclude: [exclude as { calendar: string }],
  });

describe('a calendar', () => {
  it('is made, listed, edited and removed, each on record', async () => {
    const { calendars } = test.tock.as({ name: 'mia', via: 'api', role: 'admin', seesPayloads: true });
    expect(await calendars.set('holidays', { dates: ['2027-05-01', '2027-03-05', '2027-03-05'] })).toEqual({
      name: 'holidays',
      version: 1,
      change: 'made',
      dates: ['2027-03-05', '2027-05-01'],
      addedDates: ['2027-03-05', '2027-05-01'],
      removedDates: [],
      definitions: [],
    });
    await make();
    expect(await calendars.list()).toEqual([
      {
        name: 'holidays',
        dates: ['2027-03-05', '2027-05-01'],
        version: 1,
        updatedAt: new Date('2027-03-01T12:00:00Z'),
        definitions: ['report-9'],
      },
    ]);
    expect(await calendars.set('holidays', { dates: ['2027-05-01', '2027-03-05'] })).toMatchObject({
      change: 'unchanged',
      version: 1,
    });
    await expect(calendars.remove('holidays')).rejects.toMatchObject({
      code: 'TOCK_BAD_STATE',
      message: expect.stringContaining('named by report-9; take it out of their exclude first') as string,
    });
    await test.tock.schedules.remove('report-9');
    await calendars.remove('holidays');
    expect(await calendars.list()).toEqual([]);
    const audit = await test.tock.audit.list({ target: 'holidays' });
    expect(audit.map(({ action, operator }) => [action, operator])).toEqual([
      ['calendars.remove', 'mia'],
      ['calendars.set', 'mia'],
    ]);
    expect(audit[1]?.details).toMatchObject({ change: 'made', added: ['2027-03-05', '2027-05-01'] });
  });

  it('is refused with what is wrong', async () => {
    const { calendars } = test.tock;
    const set = async (name: string, dates: unknown) =>
      await calendars.set(name, { dates: dates as string[] });
    await expect(set('2027', [])).rejects.toThrow('does not begin with a letter');
    await expect(set('a b', [])).rejects.toThrow('cannot be the name of a calendar');
    await expect(set('a', ['2027-02-30'])).rejects.toThrow('"2027-02-30" is not one; write it as 2027-01-01');
    await expect(set('a', 'x')).rejects.toThrow('write a list');
    await expect(calendars.get('a')).rejects.toThrow('there is no calendar "a" (tock calendar lists them)');
    await expect(calendars.remove('a')).rejects.toMatchObject({ code: 'TOCK_NOT_FOUND' });
  });
});

describe('a definition that names a calendar', () => {
  it('has no occurrence on its dates, and why names the calendar', { tags: 'check' }, async () => {
    await test.tock.calendars.set('holidays', { dates: ['2027-03-02', '2027-03-04'] });
    const made = await make();
    expect(made.nextAt).toEqual(new Date('2027-03-03T08:00:00Z'));
    await test.setClock('2027-03-05T12:00:00Z');
    await test.tock.tick();
    expect(await days('report-9')).toEqual(['03-03 succeeded', '03-05 succeeded']);
    const why = await test.tock.why('report-9', '2027-03-04T09:00');
    expect(why).toMatchObject({ verdict: 'excluded' });
    expect(JSON.stringify(why)).toContain('exclude: the calendar holidays');
  });

  it('is refused at run time if the calendar is not there, with the remedy', async () => {
    await expect(make()).rejects.toMatchObject({
      code: 'TOCK_NOT_FOUND',
      message: expect.stringContaining('make it first: tock calendar add holidays') as string,
    });
    await expect(make('x', { calendar: 'holidays', date: 1 })).rejects.toThrow('date');
    await expect(make('x', { calendar: '!' })).rejects.toThrow('cannot be the name of a calendar');
  });

  it('of which one of two is made stays broken, and says which is missing', async () => {
    const exclude = [{ calendar: 'one' }, { calendar: 'two' }];
    const job = defineJob({ name: 'both', schedule: { cron: '0 9 * * *', exclude }, run: () => null });
    const tock = test.another({ jobs: [job] });
    await tock.register();
    const reason = async () => (await tock.schedules.list({ name: 'both' }))[0]?.brokenReason;
    expect(await reason()).toContain('one');
    await tock.calendars.set('one', { dates: ['2026-12-25'] });
    expect(await reason()).toContain('two');
    await tock.calendars.set('two', { dates: ['2026-12-26'] });
    expect(await reason()).toBeNull();
  });

  it('is broken in code until the calendar is made; the others go on', { tags: 'check' }, async () => {
    const other = defineJob({ name: 'other', schedule: { cron: '0 9 * * *' }, run: () => null });
    const tock = test.another({ jobs: [daily, other] });
    await tock.register();
    expect(await find('daily')).toMatchObject({
      nextAt: null,
      brokenReason: expect.stringContaining('tock calendar add holidays') as string,
    });
    await test.setClock('2027-03-02T12:00:00Z');
    expect(await tock.tick()).toMatchObject({ executed: { succeeded: 1 } });
    await tock.calendars.set('holidays', { dates: ['2027-03-04'] });
    expect(await find('daily')).toMatchObject({
      brokenReason: null,
      nextAt: new Date('2027-03-05T08:00:00Z'),
    });
    // Its fingerprint is that of the code: nothing is registered anew.
    expect(await tock.register()).toMatchObject({ status: 'unchanged' });
    const again = test.another({ jobs: [daily, other, report] });
    expect(await again.register()).toMatchObject({ added: ['report'], changed: [] });
  });

  it('keeps its dates through an edit that states the name alone, or gives back what was listed', async () => {
    await test.tock.calendars.set('holidays', { dates: ['2027-03-02'] });
    const made = await make();
    expect(made.exclude).toEqual([{ calendar: 'holidays', dates: ['2027-03-02'] }]);
    expect(await make()).toMatchObject({ version: 1 });
    expect(await make('report-9', { calendar: 'holidays', dates: ['2027-12-24'] })).toMatchObject({
      version: 1,
      exclude: made.exclude,
    });
  });
});

describe('an edit of a calendar', () => {
  it('materializes what came due by the old dates, and moves the future only', {
    tags: 'check',
  }, async () => {
    await test.tock.calendars.set('holidays', { dates: ['2027-03-03'] });
    await make();
    // The 2nd, 4th and 5th came due, and nothing has ticked.
    await test.setClock('2027-03-05T12:00:00Z');
    const edit = await test.tock.calendars.set('holidays', { dates: ['2027-03-02', '2027-03-06'] });
    expect(edit).toMatchObject({
      change: 'edited',
      version: 2,
      addedDates: ['2027-03-02', '2027-03-06'],
      removedDates: ['2027-03-03'],
      definitions: [{ definition: 'report-9', removed: 1, added: 0, isComplete: true }],
    });
    expect(await days('report-9')).toEqual(['03-02 queued', '03-04 queued', '03-05 queued']);
    expect(await find('report-9')).toMatchObject({
      version: 2,
      cursor: new Date('2027-03-05T12:00:00Z'),
      nextAt: new Date('2027-03-07T08:00:00Z'),
    });
    await test.setClock('2027-03-08T12:00:00Z');
    await test.tock.tick();
    expect(await days('report-9')).toEqual(
      ['03-02', '03-04', '03-05', '03-07', '03-08'].map(day => `${day} succeeded`),
    );
  });

  it('withdraws no run that is put off, and brings back what was left out', { tags: 'check' }, async () => {
    await test.tock.calendars.set('holidays', { dates: ['2027-03-02'] });
    await test.tock.schedules.upsert({
      name: 'nightly',
      job: report,
      cron: '0 9 * * *',
      window: '22:00-23:00',
      exclude: [{ calendar: 'holidays' }],
    });
    await test.setClock('2027-03-03T10:00:00Z');
    await test.tock.tick();
    await test.tock.calendars.set('holidays', { dates: ['2027-03-05'] });
    expect(await days('nightly')).toEqual(['03-03 queued']);
    expect((await test.tock.calendars.set('holidays', { dates: [] })).definitions).toEqual([
      { definition: 'nightly', removed: 0, added: 1, isComplete: true },
    ]);
  });

  it('of a paused definition leaves its pause on record by the old dates', async () => {
    await test.tock.calendars.set('holidays', { dates: ['2027-03-03'] });
    await make();
    await test.tock.schedules.pause('report-9');
    await test.setClock('2027-03-04T12:00:00Z');
    await test.tock.calendars.set('holidays', { dates: ['2027-03-02'] });
    const [skip] = await test.tock.runs.list({ definition: 'report-9' });
    expect(skip).toMatchObject({ status: 'skipped', skipReason: 'paused', occurrenceCount: 2 });
    expect((await find('report-9'))?.pausedAt).not.toBeNull();
  });

  it('says what would change, and writes nothing, with dryRun', async () => {
    await test.tock.calendars.set('holidays', { dates: [] });
    await make();
    await test.tock.schedules.upsert({
      name: 'each-second',
      job: report,
      every: '1s',
      exclude: [{ calendar: 'holidays' }],
    });
    const edit = await test.tock.calendars.set('holidays', {
      dates: ['2027-03-02', '2027-12-24', '2031-01-01'],
      dryRun: true,
    });
    expect(edit.definitions).toMatchObject([
      { definition: 'each-second', isComplete: false },
      { definition: 'report-9', removed: 2, added: 0, isComplete: true },
    ]);
    expect(await test.tock.calendars.get('holidays')).toMatchObject({ dates: [], version: 1 });
  });

  it('goes on beside an upsert that names it: one of them waits for the other', {
    tags: 'check',
  }, async () => {
    await test.tock.calendars.set('holidays', { dates: ['2027-03-02'] });
    await Promise.all([
      ...Array.from({ length: 8 }, (_, index) => make(`report-${index}`)),
      test.tock.calendars.set('holidays', { dates: ['2027-03-03'] }),
      make('report-1'),
    ]);
    for (const { exclude } of await test.tock.schedules.list({ prefix: 'report-' }))
      expect(exclude).toEqual([{ calendar: 'holidays', dates: ['2027-03-03'] }]);
  });

  it('reaches definitions in code and at run time, each by the dates of its own zone', {
    tags: 'check',
  }, async () => {
    await test.tock.calendars.set('holidays', { dates: [] });
    const tock = test.another({ jobs: [daily, report] });
    await tock.register();
    await tock.schedules.upsert({
      name: 'far',
      job: report,
      cron: '30 0 * * *',
      timezone: 'Pacific/Kiritimati',
      exclude: [{ calendar: 'holidays' }],
    });
    const { definitions } = await tock.calendars.set('holidays', { dates: ['2027-03-03', '2027-03-04'] });
    // The 3rd is left out of the daily one by a date of its own.
    expect(definitions).toMatchObject([
      { definition: 'daily', removed: 1 },
      { definition: 'far', removed: 2 },
    ]);
    expect(await find('daily')).toMatchObject({ origin: 'code', nextAt: new Date('2027-03-02T08:00:00Z') });
    // The 5th on the islands, which are 14 hours ahead.
    await test.setClock('2027-03-04T10:00:00Z');
    await tock.tick();
    expect(await find('far')).toMatchObject({ nextAt: new Date('2027-03-04T10:30:00Z') });
  });
});
