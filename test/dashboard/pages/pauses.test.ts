// The forms that pause one schedule, several, or a queue: until a time, and why.
import { describe, expect, it } from 'vitest';
import { defineJob } from '../../../src/index.js';
import { openForEach } from '../../support/open.js';
import { openPageKit } from './operate-kit.js';

const names = ['hourly', 'nightly'];
const jobs = names.map(name => defineJob({ name, schedule: { cron: '30 * * * *' }, run: () => null }));
const kit = openForEach(
  () => openPageKit(jobs),
  async ({ setClock, tock }) => {
    await setClock('2026-03-08T12:00:00Z');
    await tock.register();
  },
);
const paused = async () =>
  (await kit.tock.schedules.list({})).map(({ name, pausedUntil, pauseReason }) => [
    name,
    pausedUntil?.toISOString() ?? null,
    pauseReason,
  ]);
const AT = '2026-03-08T12:20:00.000Z';

describe('a pause with an end', () => {
  it.each(['12:20', '20m'])('of one schedule: %s', async until => {
    const page = await kit.post('/schedules/hourly/pause', { until, note: 'disks' }, 'operate');
    expect(page.text).toContain('hourly is paused until 12:20');
    expect(await paused()).toEqual([
      ['hourly', AT, 'disks'],
      ['nightly', null, null],
    ]);
  });

  it('of several: asked for once more, with what was entered', async () => {
    const question = await kit.post('/schedules', { act: 'pause', which: 'all', until: '20m' }, 'operate');
    expect(question.html).toContain('name="until" list="spans" value="20m"');
    await kit.post(
      '/schedules',
      { act: 'pause', which: 'all', confirmed: 'yes', until: '20m', note: '' },
      'operate',
    );
    expect(await paused()).toEqual(names.map(name => [name, AT, null]));
  });

  it('of a queue', async () => {
    const page = await kit.post('/queues/default/pause', { until: '12:20', note: '' }, 'operate');
    expect(page.text).toContain('none of its runs starts until 12:20');
    expect((await kit.tock.queues.list())[0]?.pausedUntil?.toISOString()).toBe(AT);
  });

  it.each([
    ['/schedules/hourly/pause', {}],
    ['/schedules', { act: 'pause', which: 'all', confirmed: 'yes' }],
    ['/queues/default/pause', {}],
  ])('is refused where the end is none: %s', async (path, fields) => {
    for (const [until, message] of [
      ['soon', /"soon" is not a time/],
      ['11:00', /is not in the future/],
    ] as const) {
      const page = await kit.post(path, { ...fields, until, note: '' }, 'operate');
      expect(page.status).toBe(400);
      expect(page.text).toMatch(message);
    }
    expect(await paused()).toEqual(names.map(name => [name, null, null]));
  });

  it('has none where the field is empty', async () => {
    const page = await kit.post('/queues/default/pause', { until: ' ', note: 'x' }, 'operate');
    expect(page.text).toContain('none of its runs starts until it is resumed');
  });
});
