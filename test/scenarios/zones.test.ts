// Local time is a promise: what is stored ahead moves when zone data changes, once, and is neither doubled nor lost.
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { defineJob } from '../../src/index.js';
import { setZoneData } from '../../src/model/schedule/zone/zone-data.js';
import { openForEach } from '../support/open.js';
import { proveAfterEach } from '../support/prove-all.js';
import { reuseTestTock } from '../support/test-tock.js';
import { type Release, releaseData } from '../support/tz-releases.js';

const report = defineJob({ name: 'report', run: () => null });
const test = openForEach(() => reuseTestTock([report]));
proveAfterEach(test);
afterEach(() => setZoneData(null));

/** From here on, this process is a host with the data of a release. */
const on = (release: Release) => setZoneData(releaseData(release));
const make = async (name: string, schedule: object) =>
  await test.tock.schedules.upsert({
    name,
    job: report,
    timezone: 'Asia/Amman',
    catchup: 'all',
    catchupWindow: '30d',
    overlap: 'allow_all',
    ...schedule,
  } as never);
const find = async (name: string) => (await test.tock.schedules.list({ name }))[0];
const nextOf = async (name: string) => (await find(name))?.nextAt?.toISOString();
const runsOf = async (definition: string) =>
  (await test.tock.runs.list({ definition })).toReversed().map(run => run.scheduledFor?.toISOString());
const zoneOf = async (timezone = 'Asia/Amman') =>
  (await test.tock.zones()).zones.find(zone => zone.timezone === timezone);

// Until 2022d Amman went back to UTC+2 on 28 October 2022; from 2022e on it stays at UTC+3.
beforeEach(async () => {
  on('2022c');
  await test.setClock('2022-10-12T12:00:00Z');
  await test.tock.tick();
});

describe('a schedule with a local time', () => {
  it('keeps that time when zone data changes, and its instant moves', async () => {
    const made = await make('launch', { at: '2027-11-12T08:00' });
    expect(made).toMatchObject({ at: '2027-11-12T08:00:00', timezone: 'Asia/Amman' });
    expect(made.nextAt?.toISOString()).toBe('2027-11-12T06:00:00.000Z');
    on('2022e');
    await test.tock.tick();
    expect(await find('launch')).toMatchObject({ at: '2027-11-12T08:00:00', version: 1 });
    expect(await nextOf('launch')).toBe('2027-11-12T05:00:00.000Z');
    await test.setClock('2027-11-12T05:00:00Z');
    await test.tock.tick();
    await test.setClock('2027-11-13T05:00:00Z');
    await test.tock.tick();
    expect(await runsOf('launch')).toEqual(['2027-11-12T05:00:00.000Z']);
  });

  it('is the same definition by whichever data it is stated, and an instant stays an instant', {
    tags: 'check',
  }, async () => {
    await make('launch', { at: '2027-11-12T08:00' });
    await make('sale', { at: '2027-11-12T08:00:00+02:00' });
    on('2022e');
    expect((await make('launch', { at: '2027-11-12 08:00:00' })).version).toBe(1);
    await test.tock.tick();
    expect(await nextOf('sale')).toBe('2027-11-12T06:00:00.000Z');
    expect((await find('sale'))?.at).toBe('2027-11-12T06:00:00.000Z');
  });

  it('needs a time zone, and is refused where it has passed', async () => {
    await expect(make('launch', { at: '2027-11-12T08:00', timezone: undefined })).rejects.toThrow(
      'at "2027-11-12T08:00" has no offset, and the schedule states no timezone',
    );
    await expect(make('launch', { at: '2022-10-12T14:59' })).rejects.toThrow('is in the past');
    await expect(make('launch', { at: '2027-02-30T08:00' })).rejects.toThrow('is not a time');
    expect((await make('launch', { at: '2022-10-12T15:01' })).nextAt?.toISOString()).toBe(
      '2022-10-12T12:01:00.000Z',
    );
  });
});

describe('an update of zone data', () => {
  it('is not begun by a process that only edits: that computes by what the database holds', {
    tags: 'check',
  }, async () => {
    await make('morning', { cron: '0 8 * * *' });
    on('2022e');
    await test.tock.schedules.skip('morning', new Date('2022-11-12T06:00:00Z'));
    const evening = await make('evening', { cron: '0 20 * * *', startAt: '2022-11-12T12:00:00Z' });
    expect(evening.nextAt?.toISOString()).toBe('2022-11-12T18:00:00.000Z');
    await test.tock.tick();
    expect(await nextOf('evening')).toBe('2022-11-12T17:00:00.000Z');
    await test.setClock('2022-11-13T04:00:00Z');
    await test.tock.tick();
    const skipped = await test.tock.runs.list({ definition: 'morning', status: 'skipped' });
    const excepted = skipped.filter(run => run.skipReason === 'excepted');
    expect(excepted.map(run => run.scheduledFor?.toISOString())).toEqual(['2022-11-12T05:00:00.000Z']);
  });

  it('moves what is due next once, with a record, and leaves other zones', { tags: 'check' }, async () => {
    await test.setClock('2022-10-28T12:00:00Z');
    await make('daily', { cron: '0 8 * * *' });
    await make('berlin', { cron: '0 8 * * *', timezone: 'Europe/Berlin' });
    await make('hourly', { cron: '5 * * * *' });
    expect(await nextOf('daily')).toBe('2022-10-29T06:00:00.000Z');
    on('2022e');
    await test.tock.tick();
    expect(await nextOf('daily')).toBe('2022-10-29T05:00:00.000Z');
    expect(await nextOf('berlin')).toBe('2022-10-29T06:00:00.000Z');
    expect(await nextOf('hourly')).toBe('2022-10-28T12:05:00.000Z');
    const moved = { from: '2022c', to: '2022e', at: new Date('2022-10-28T12:00:00Z'), definitions: 1 };
    expect(await zoneOf()).toEqual({
      timezone: 'Asia/Amman',
      zoneData: '2022e',
      preview: null,
      lastChange: moved,
    });
    expect(await zoneOf('Europe/Berlin')).toMatchObject({ zoneData: '2022e', lastChange: null });
    await test.setClock('2022-10-28T12:01:00Z');
    await test.tock.tick();
    on('2022f');
    await test.tock.tick();
    expect(await zoneOf()).toMatchObject({ zoneData: '2022f', lastChange: { at: moved.at, definitions: 1 } });
  });

  it('is shown before, and nothing is written by that', { tags: 'check' }, async () => {
    await make('daily', { cron: '0 8 * * *' });
    await make('launch', { at: '2022-11-12T08:00' });
    await make('hourly', { cron: '5 * * * *' });
    on('2022e');
    const preview = {
      from: new Date('2022-10-27T22:00:00Z'),
      byMs: -3_600_000,
      definitions: 2,
      names: ['daily', 'launch'],
      nextMoves: 1,
    };
    expect(await zoneOf()).toMatchObject({ zoneData: '2022c', preview, lastChange: null });
    expect(await nextOf('launch')).toBe('2022-11-12T06:00:00.000Z');
    expect((await test.tock.zones()).hosts.map(({ zoneData }) => zoneData)).toEqual(['2022c']);
  });

  it('that comes late doubles no occurrence that was materialized', { tags: 'check' }, async () => {
    await make('daily', { cron: '0 8 * * *' });
    for (const day of ['2022-10-29', '2022-10-30']) {
      await test.setClock(`${day}T06:30:00Z`);
      await test.tock.tick();
    }
    // 08:00 came at 05:00Z, but the host did not know.
    const late = (await runsOf('daily')).slice(-2);
    expect(late).toEqual(['2022-10-29T06:00:00.000Z', '2022-10-30T06:00:00.000Z']);
    on('2022e');
    await test.tock.tick();
    expect(await nextOf('daily')).toBe('2022-10-31T05:00:00.000Z');
    await test.setClock('2022-10-30T06:00:00Z');
    expect((await test.tock.status()).definitions.ahead).toBe(0);
    expect(await test.tock.schedules.resetCursors()).toEqual([]);
    await test.setClock('2022-10-31T12:00:00Z');
    await test.tock.tick();
    expect((await runsOf('daily')).slice(-3)).toEqual([...late, '2022-10-31T05:00:00.000Z']);
  });

  it('that comes late loses no occurrence either, and makes up for what it brought forward', {
    tags: 'check',
  }, async () => {
    await test.setClock('2022-10-28T12:00:00Z');
    await make('busy', { cron: '*/20 8-9 * * *' });
    await test.setClock('2022-10-29T06:10:00Z');
    await test.tock.tick();
    const before = await runsOf('busy');
    expect(before.at(-1)).toBe('2022-10-29T06:00:00.000Z');
    on('2022e');
    await test.tock.tick();
    await test.setClock('2022-10-29T12:00:00Z');
    await test.tock.tick();
    // By the new data 08:20 to 09:40 were 05:20Z to 06:40Z. 09:00 was 06:00Z, at which the run of 08:00 was made.
    expect(
      (await runsOf('busy')).slice(before.length).toSorted((a = '', b = '') => (a < b ? -1 : 1)),
    ).toEqual([
      '2022-10-29T05:20:00.000Z',
      '2022-10-29T05:40:00.000Z',
      '2022-10-29T06:20:00.000Z',
      '2022-10-29T06:40:00.000Z',
    ]);
  });

  it('moves skipped and moved occurrences with their local times', { tags: 'check' }, async () => {
    await make('daily', { cron: '0 8 * * *' });
    const { schedules } = test.tock;
    await schedules.skip('daily', '2022-10-29T08:00');
    await schedules.move('daily', '2022-10-30T08:00', '2022-10-30T10:30');
    on('2022e');
    await test.tock.tick();
    const left = await schedules.exceptions('daily');
    expect(left.map(({ occurrence, movedTo }) => [occurrence.toISOString(), movedTo?.toISOString()])).toEqual(
      [
        ['2022-10-29T05:00:00.000Z', undefined],
        ['2022-10-30T05:00:00.000Z', '2022-10-30T07:30:00.000Z'],
      ],
    );
    expect(left.every(({ hasEffect }) => hasEffect)).toBe(true);
  });
});

describe('a host with older zone data', () => {
  const daily = async () => await make('daily', { cron: '0 8 * * *' });

  it('takes over the newer data, and moves nothing back', { tags: 'check' }, async () => {
    await daily();
    const older = test.another();
    on('2022e');
    await test.tock.tick();
    for (const [day, release] of [
      ['2022-10-28', '2022c'],
      ['2022-10-29', '2022c'],
      ['2022-10-30', '2022e'],
      ['2022-10-31', '2022c'],
    ] as const) {
      on(release);
      await test.setClock(`${day}T05:00:00Z`);
      await older.tick();
      await older.tick();
      expect((await runsOf('daily')).at(-1)).toBe(`${day}T05:00:00.000Z`);
    }
    expect(await nextOf('daily')).toBe('2022-11-01T05:00:00.000Z');
    expect(await zoneOf()).toMatchObject({ zoneData: '2022e', lastChange: { definitions: 0 } });
    const days = (await runsOf('daily')).filter(at => at !== undefined && at > '2022-10-28');
    expect(new Set(days.map(at => at?.slice(0, 10))).size).toBe(days.length);
  });

  it('computes edits and ends of pauses by the newer data', { tags: 'check' }, async () => {
    await daily();
    on('2022e');
    await test.tock.tick();
    await test.setClock('2022-10-28T12:00:00Z');
    on('2022c');
    await make('daily', { cron: '0 9 * * *' });
    expect(await nextOf('daily')).toBe('2022-10-29T06:00:00.000Z');
    setZoneData(null);
    on('2022c');
    await test.tock.schedules.pause('daily');
    await test.tock.schedules.resume('daily');
    expect(await nextOf('daily')).toBe('2022-10-29T06:00:00.000Z');
    setZoneData(null);
    on('2022c');
    await test.tock.schedules.skip('daily', '2022-10-29T09:00');
    expect(await nextOf('daily')).toBe('2022-10-29T06:00:00.000Z');
  });
});
