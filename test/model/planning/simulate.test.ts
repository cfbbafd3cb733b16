// Model: the load that definitions would make, from known schedules.
import { describe, expect, it } from 'vitest';
import { MAX_SIMULATED } from '../../../src/model/plan/walk.js';
import { simulate } from '../../../src/model/planning/simulate.js';
import { jitterMs } from '../../../src/model/schedule/jitter.js';

const DAY = { from: new Date('2026-03-02T00:00:00Z'), to: new Date('2026-03-03T00:00:00Z') };
const at = (time: string) => new Date(`2026-03-02T${time}:00Z`);
const crowd = (count: number, jitter = 0) =>
  Array.from({ length: count }, (_, index) => ({
    name: `report-${index}`,
    spec: { cron: '0 7 * * *' },
    jitterMs: jitter,
  }));

describe('simulate', () => {
  it('counts the starts of each hour', () => {
    const { starts, hours, definitions } = simulate(
      [
        { name: 'often', spec: { cron: '*/15 * * * *' } },
        { name: 'once', spec: { cron: '5 7 * * *' } },
      ],
      DAY,
    );
    expect({ starts, definitions }).toEqual({ starts: 97, definitions: 2 });
    expect(hours).toHaveLength(24);
    expect(hours.map(({ count }) => count)).toEqual(
      Array.from({ length: 24 }, (_, hour) => (hour === 7 ? 5 : 4)),
    );
    expect(hours[7]?.start).toEqual(at('07:00'));
  });

  it('includes from and excludes to, on a second that is not the first of a minute', () => {
    const window = { from: new Date('2026-03-02T00:00:30Z'), to: new Date('2026-03-02T00:02:30Z') };
    const { starts, hours } = simulate([{ name: 'half', spec: { every: '30s' } }], window);
    expect(starts).toBe(4);
    expect(hours).toEqual([{ start: at('00:00'), count: 4 }]);
  });

  it('names the busiest minutes and what starts in them', () => {
    const { busiest } = simulate(
      [
        { name: 'hourly', spec: { cron: '0 * * * *' } },
        { name: 'seconds', spec: { cron: '*/20 0 7 * * *' } },
        { name: 'daily', spec: { cron: '0 7 * * *' } },
      ],
      DAY,
    );
    expect(busiest).toHaveLength(5);
    expect(busiest[0]).toEqual({
      minute: at('07:00'),
      count: 5,
      definitions: [
        { name: 'seconds', count: 3 },
        { name: 'daily', count: 1 },
        { name: 'hourly', count: 1 },
      ],
    });
    expect(busiest.slice(1).map(({ minute }) => minute)).toEqual(
      ['00:00', '01:00', '02:00', '03:00'].map(at),
    );
  });

  it('shows what jitter does to the peak: none, the definitions’ own, five minutes for all', () => {
    const plain = simulate(crowd(600), DAY).peaks;
    expect(plain.withoutJitter).toEqual({ perMinute: 600, minute: at('07:00') });
    expect(plain.asDefined).toEqual(plain.withoutJitter);
    expect(plain.jitterForAll.perMinute).toBeGreaterThanOrEqual(120);
    expect(plain.jitterForAll.perMinute).toBeLessThan(180);
    const spread = simulate(crowd(600, 3_600_000), DAY).peaks;
    expect(spread.withoutJitter.perMinute).toBe(600);
    expect(spread.asDefined.perMinute).toBeLessThan(30);
  });

  it('moves a start as the scheduler does, also into and out of the window', () => {
    const delay = jitterMs('report-0', 3_600_000, 86_400_000);
    const start = new Date(at('07:00').getTime() + delay);
    const minute = new Date(Math.floor(start.getTime() / 60_000) * 60_000);
    expect(simulate(crowd(1, 3_600_000), DAY).busiest[0]?.minute).toEqual(minute);
    const after = { from: new Date(start.getTime() - 1000), to: new Date(start.getTime() + 1000) };
    expect(simulate(crowd(1, 3_600_000), after).starts).toBe(1);
    const before = { from: at('06:59'), to: start };
    expect(simulate(crowd(1, 3_600_000), before)).toMatchObject({
      starts: 0,
      peaks: { withoutJitter: { perMinute: 1 } },
    });
  });

  it('counts local hours: 23 on the day that loses one, 25 on the day that repeats one', () => {
    const hourly = [{ name: 'hourly', spec: { cron: '0 * * * *' } }];
    const timezone = 'America/New_York';
    const spring = { from: new Date('2026-03-08T05:00:00Z'), to: new Date('2026-03-09T04:00:00Z'), timezone };
    const autumn = { from: new Date('2026-11-01T04:00:00Z'), to: new Date('2026-11-02T05:00:00Z'), timezone };
    expect(simulate(hourly, spring).hours.map(({ count }) => count)).toEqual(
      Array.from({ length: 23 }, () => 1),
    );
    expect(simulate(hourly, autumn).hours).toHaveLength(25);
    const kolkata = simulate(hourly, { ...DAY, timezone: 'Asia/Kolkata' }).hours;
    expect(kolkata[1]?.start).toEqual(at('00:30'));
  });

  it('stops a definition at what it has left to make', () => {
    expect(simulate([{ name: 'thrice', spec: { every: '1h' }, remaining: 3 }], DAY).starts).toBe(3);
  });

  it('is empty where nothing would start', () => {
    expect(simulate([], DAY)).toMatchObject({
      starts: 0,
      busiest: [],
      peaks: { asDefined: { perMinute: 0, minute: null } },
    });
  });

  it.each([
    [{ from: DAY.to, to: DAY.from }, 'is not after from'],
    [{ from: DAY.from, to: DAY.from }, 'is not after from'],
    [{ from: DAY.from, to: new Date('2027-03-04T00:00:00Z') }, 'longer than a year'],
    [{ from: DAY.from, to: new Date('never') }, 'not a valid Date'],
  ])('refuses the window %j', (window, message) => {
    expect(() => simulate([], window)).toThrow(message);
  });

  it('refuses more than five million occurrences, with the mend', { tags: 'check' }, () => {
    const year = { from: DAY.from, to: new Date('2027-03-02T00:00:00Z') };
    expect(() => simulate([{ name: 'busy', spec: { every: '1s' } }], year)).toThrow(
      `more than ${MAX_SIMULATED} occurrences; simulate a shorter window, or fewer definitions`,
    );
  });
});

describe('windows', () => {
  const night = { window: '23:00-06:00', spec: { cron: '0 * * * *' } };

  it('put starts off to their opening, those of the day before included', () => {
    const { starts, deferred, skipped, hours, busiest } = simulate([{ name: 'night', ...night }], DAY);
    expect({ starts, deferred, skipped }).toEqual({ starts: 24, deferred: 17, skipped: 0 });
    expect(hours.map(({ count }) => count)).toEqual(
      Array.from({ length: 24 }, (_, hour) => (hour < 6 ? 1 : hour === 23 ? 18 : 0)),
    );
    expect(busiest[0]).toEqual({
      minute: at('23:00'),
      count: 18,
      definitions: [{ name: 'night', count: 18 }],
    });
    const morning = { from: at('23:00'), to: at('23:01') };
    expect(simulate([{ name: 'night', ...night }], morning)).toMatchObject({ starts: 18, deferred: 17 });
  });

  it('skip what is outside them, counted once', () => {
    const { starts, deferred, skipped } = simulate([{ name: 'night', ...night, outsideWindow: 'skip' }], DAY);
    expect({ starts, deferred, skipped }).toEqual({ starts: 7, deferred: 0, skipped: 17 });
  });

  it('are in the zone of the schedule, and do not use up what remains', () => {
    const spec = { cron: '0 * * * *', timezone: 'Europe/Berlin' };
    const berlin = { name: 'night', window: '00:00-01:00', spec };
    expect(simulate([berlin], DAY).busiest[0]?.minute).toEqual(at('23:00'));
    expect(simulate([{ ...berlin, remaining: 2 }], DAY)).toMatchObject({ starts: 2, deferred: 2 });
  });
});
