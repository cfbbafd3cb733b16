// Alerts and the health while everything is frozen, and after it: that time does not count.
import { describe, expect, it } from 'vitest';
import { defineJob } from '../../src/index.js';
import { openForEach } from '../support/open.js';
import { reuseTestTock } from '../support/test-tock.js';

const nightly = defineJob({
  name: 'nightly',
  schedule: { cron: '0 12 * * *', catchup: 'none' },
  expect: { within: '10m' },
  run: () => null,
});
const often = defineJob({ name: 'often', schedule: { cron: '* * * * *' }, run: () => null });
const plain = defineJob({ name: 'plain', run: () => null });
const rules = [
  { when: 'late' as const, channels: ['none'] },
  { when: 'waiting' as const, longerThan: '5m', channels: ['none'] },
];

const test = openForEach(
  () =>
    reuseTestTock([nightly, often, plain], {
      alerts: { channels: [{ name: 'none', command: ['true'] }], rules },
    }),
  async ({ setClock, tock }) => {
    await setClock('2026-03-01T11:59:00Z');
    await tock.register();
    await tock.tick();
  },
);
const down = async () =>
  (await test.tock.alerts.list()).filter(({ status }) => status === 'down').map(({ rule }) => rule);
/** As if nothing had taken it since noon. */
const hold = async () => {
  await test.setClock('2026-03-01T12:01:00Z');
  await test.tock.queues.pause('default');
  await test.tock.tick();
};

describe('alerts', () => {
  it('of a success that is expected do not fire for frozen time', async () => {
    const { tock } = test;
    await hold();
    await tock.freeze({ until: '1h', note: 'maintenance' });
    await test.setClock('2026-03-01T12:50:00Z');
    await tock.tick();
    expect(await down()).toEqual([]);
    await test.setClock('2026-03-01T13:02:00Z');
    await tock.tick();
    expect(await down()).not.toContain('late');
    // Ten minutes from noon on, and the hour.
    await test.setClock('2026-03-01T13:10:30Z');
    await tock.tick();
    expect(await down()).toContain('late');
  });

  it('of a queue in which runs wait do not fire for frozen time', { tags: 'check' }, async () => {
    const { tock } = test;
    await hold();
    await tock.enqueue('plain');
    await tock.freeze({ until: '1h', note: 'maintenance' });
    await test.setClock('2026-03-01T12:50:00Z');
    await tock.tick();
    expect(await down()).toEqual([]);
    await test.setClock('2026-03-01T13:04:00Z');
    await tock.tick();
    expect(await down()).not.toContain('waiting');
    await test.setClock('2026-03-01T13:07:00Z');
    await tock.tick();
    expect(await down()).toContain('waiting');
  });
});

describe('the health', () => {
  it('says that everything is frozen, and not that nothing ticks or that a queue is behind', {
    tags: 'check',
  }, async () => {
    const { tock } = test;
    await tock.enqueue('plain');
    await tock.freeze({ until: '1h', note: 'maintenance' });
    await test.setClock('2026-03-01T12:50:00Z');
    await tock.tick();
    const { sentences } = await tock.health();
    expect(sentences.map(({ code }) => code)).toEqual(['frozen']);
    const { checks } = await tock.doctor();
    expect(checks.find(({ code }) => code === 'freeze')).toMatchObject({
      level: 'warning',
      command: 'tock thaw',
    });
    expect(checks.find(({ code }) => code === 'runs')?.level).toBe('ok');
    expect(checks.find(({ code }) => code === 'last-tick')?.level).toBe('ok');
  });

  it('is well once what has waited has started', { tags: 'check' }, async () => {
    const { tock } = test;
    await tock.enqueue('plain');
    await tock.freeze({ until: '1h', note: 'maintenance' });
    await test.setClock('2026-03-01T12:59:30Z');
    expect((await tock.status()).oldestWaitMs).toBeLessThan(60_000);
    await tock.tick();
    await tock.tick();
    expect((await tock.health()).level).toBe('ok');
  });
});
