// The simulator: which runs start when, which wait for what, and which are left out.
import { describe, expect, it } from 'vitest';
import { simulateRuns } from '../../../src/model/plan/simulate-runs.js';
import type { PlannedQueue, SharedLimits } from '../../../src/model/plan/slot-keys.js';
import type { SimulatedDefinition } from '../../../src/model/plan/walk.js';

const DAY = { from: new Date('2026-03-02T00:00:00Z'), to: new Date('2026-03-03T00:00:00Z') };
const minutes = (...each: number[]) => ({
  durationsMs: each.map(ms => Math.abs(ms) * 60_000),
  died: each.map(ms => ms < 0),
});
const QUEUE: PlannedQueue = {
  name: 'default',
  concurrency: null,
  rate: null,
  window: null,
  timezone: 'UTC',
  pausedUntil: null,
};

function run(definitions: readonly SimulatedDefinition[], limits: SharedLimits = {}) {
  const simulated = simulateRuns(definitions, DAY, limits);
  const starts = [...simulated.startedAt].map(
    (at, index) =>
      `${definitions[simulated.placeOf[index] ?? 0]?.name ?? ''} ${new Date(at).toISOString().slice(11, 16)}`,
  );
  return { ...simulated, starts };
}
const hourly = (name: string, more: Partial<SimulatedDefinition> = {}): SimulatedDefinition => ({
  name,
  spec: { cron: '0 * * * *' },
  ...more,
});

describe('overlap', () => {
  const often = { name: 'often', spec: { cron: '*/10 * * * *' }, sample: minutes(25) };

  it('skips what comes while a run is live', () => {
    const { starts, skips, overlapSkips, late } = run([{ ...often, overlap: 'skip' }]);
    expect(starts.slice(0, 3)).toEqual(['often 00:00', 'often 00:30', 'often 01:00']);
    expect(starts).toHaveLength(48);
    expect([skips.overlap, overlapSkips.get(0), late.runs]).toEqual([96, 96, 0]);
  });

  it('lets one wait, or all, one after another', () => {
    const one = run([{ ...often, overlap: 'buffer_one' }]);
    expect(one.starts.slice(0, 4)).toEqual(['often 00:00', 'often 00:25', 'often 00:50', 'often 01:15']);
    expect(one.lateFor[0]?.cause).toBe('turn');
    const all = run([{ ...often, overlap: 'buffer_all' }]);
    expect(all.skips.overlap).toBe(0);
    expect(all.unstarted).toBe(144 - all.starts.length);
  });

  it('ends the live one for another', () => {
    const { starts, late } = run([{ ...often, overlap: 'cancel_other' }]);
    expect([starts.length, late.runs]).toEqual([144, 0]);
  });

  it('counts a run that waits for its jitter or window as live', () => {
    const night = hourly('night', { window: '23:00-23:30', overlap: 'skip' });
    expect(run([night])).toMatchObject({ starts: ['night 23:00'], skips: { overlap: 23 } });
    expect(run([{ ...night, overlap: 'allow_all' }]).starts).toHaveLength(24);
  });
});

describe('limits', () => {
  const limits = [{ key: 'job:load', limit: 1 }];
  const slow = { sample: minutes(10), limits };

  it('let runs wait for a slot of their job, the more urgent first', () => {
    const { starts, late, lateFor } = run([
      hourly('a', slow),
      hourly('b', slow),
      hourly('c', { ...slow, priority: -1 }),
    ]);
    expect(starts.slice(0, 3)).toEqual(['a 00:00', 'c 00:10', 'b 00:20']);
    expect(late).toEqual({ runs: 48, p95Ms: 1_200_000, maxMs: 1_200_000 });
    expect(lateFor).toEqual([{ cause: 'job:load', runs: 48, p95Ms: 1_200_000, maxMs: 1_200_000 }]);
  });

  it('of a queue: how many at once, how many a minute, in which hours, and none', () => {
    const two = [hourly('a', { sample: minutes(10) }), hourly('b', { sample: minutes(10) })];
    const inQueue = (more: Partial<PlannedQueue>) => run(two, { queues: [{ ...QUEUE, ...more }] });
    expect(inQueue({ concurrency: 1 }).starts.slice(0, 2)).toEqual(['a 00:00', 'b 00:10']);
    const paced = inQueue({ rate: { count: 1, perMs: 120_000 } });
    expect(paced.starts.slice(0, 4)).toEqual(['a 00:00', 'b 00:01', 'a 01:00', 'b 01:01']);
    expect(inQueue({ window: '12:00-13:00' }).starts.slice(0, 2)).toEqual(['a 12:00', 'b 12:00']);
    expect(inQueue({ concurrency: 0 })).toMatchObject({ starts: [], unstarted: 48 });
    expect(inQueue({ pausedUntil: Number.POSITIVE_INFINITY })).toMatchObject({ starts: [], unstarted: 48 });
    expect(inQueue({ pausedUntil: Date.parse('2026-03-02T22:30:00Z') }).starts).toHaveLength(48);
  });

  it('of all workers', () => {
    const many = ['a', 'b', 'c'].map(name => hourly(name, { sample: minutes(30) }));
    expect(run(many, { workers: 2 }).starts.slice(0, 3)).toEqual(['a 00:00', 'b 00:00', 'c 00:30']);
    expect(run(many, { workers: 2 }).lateFor[0]).toMatchObject({ cause: 'workers', runs: 24 });
  });

  it('skip what has not started by its deadline', () => {
    const { starts, skips } = run([hourly('a', slow), hourly('b', { ...slow, startDeadlineMs: 300_000 })]);
    expect([starts.length, skips.deadline]).toEqual([24, 24]);
  });
});

describe('chains', () => {
  const load = { name: 'load', spec: { cron: '0 2 * * *' }, sample: minutes(30) };
  const after = (on: 'success' | 'failure' = 'success', ...definitions: string[]) =>
    ({ definitions, require: 'all', on }) as const;

  it('start when what they follow has ended', () => {
    const report = { name: 'report', spec: null, after: after('success', 'load') };
    const mail = { name: 'mail', spec: null, after: after('failure', 'load') };
    expect(run([load, report, mail])).toMatchObject({
      starts: ['load 02:00', 'report 02:30'],
      skips: { chain: 1 },
    });
    const dies = { ...load, sample: minutes(-30) };
    expect(run([dies, report, mail]).starts).toEqual(['load 02:00', 'mail 02:30']);
  });

  it('wait for all, and skip where one of these was skipped', () => {
    const other = { name: 'other', spec: { cron: '0 2 * * *' }, sample: minutes(45) };
    const both = { name: 'both', spec: null, after: after('success', 'load', 'other') };
    expect(run([load, other, both]).starts).toEqual(['load 02:00', 'other 02:00', 'both 02:45']);
    const closed = { ...other, window: '04:00-05:00', startDeadlineMs: 1 };
    expect(run([load, closed, both]).starts).toEqual(['load 02:00', 'other 04:00', 'both 04:45']);
    const never = { ...load, limits: [{ key: 'job:x', limit: 1 }], startDeadlineMs: 1 };
    const holds = { name: 'holds', spec: { cron: '59 1 * * *' }, limits: never.limits, sample: minutes(30) };
    expect(run([holds, never, { ...both, after: after('success', 'load') }])).toMatchObject({
      starts: ['holds 01:59'],
      skips: { deadline: 1, chain: 1 },
    });
  });
});

describe('a simulation', () => {
  it('obeys what an operator has skipped and moved, a pause with an end, and what remains', () => {
    const at = (time: string) => Date.parse(`2026-03-02T${time}:00Z`);
    const exception = { note: null, operator: 'anna', madeAt: 0 };
    const daily = {
      name: 'daily',
      spec: { cron: '0 2,4,6 * * *' },
      exceptions: [
        { ...exception, kind: 'skip' as const, at: at('02:00'), dueAt: at('02:00') },
        { ...exception, kind: 'move' as const, at: at('04:00'), dueAt: at('09:30') },
      ],
    };
    expect(run([daily]).starts).toEqual(['daily 06:00', 'daily 09:30']);
    expect(run([hourly('a', { pausedUntil: at('21:30') })]).starts).toEqual(['a 22:00', 'a 23:00']);
    expect(run([hourly('a', { remaining: 2 })]).starts).toEqual(['a 00:00', 'a 01:00']);
  });

  it('takes durations from the sample in turn, and gives the same again', () => {
    const mixed = hourly('mixed', { overlap: 'skip', sample: minutes(10, 90) });
    const { starts, skips } = run([mixed]);
    expect(starts.slice(0, 4)).toEqual(['mixed 00:00', 'mixed 01:00', 'mixed 03:00', 'mixed 04:00']);
    expect(skips.overlap).toBe(8);
    expect(run([mixed])).toEqual(run([mixed]));
  });

  it('is never over a limit, and loses no run, whatever comes', { tags: 'check' }, () => {
    const definitions = Array.from({ length: 30 }, (_, index) => ({
      name: `d${index}`,
      spec: { every: `${3 + (index % 7)}m` },
      jitterMs: (index % 3) * 60_000,
      overlap: (['skip', 'buffer_one', 'buffer_all', 'allow_all'] as const)[index % 4],
      sample: minutes(1 + (index % 5), 4, 2),
      limits: index % 2 === 0 ? [{ key: 'job:even', limit: 3 }] : [],
    })) as SimulatedDefinition[];
    const { startedAt, placeOf, skips, unstarted } = run(definitions, { workers: 8 });
    const used = definitions.map(() => 0);
    const events = [...startedAt].flatMap((at, index) => {
      const place = placeOf[index] ?? 0;
      const durations = definitions[place]?.sample?.durationsMs ?? [];
      const nth = used[place] ?? 0;
      used[place] = nth + 1;
      return [
        { at, place, change: 1 },
        { at: at + (durations[nth % durations.length] ?? 0), place, change: -1 },
      ];
    });
    events.sort((a, b) => a.at - b.at || a.change - b.change);
    let [all, even] = [0, 0];
    for (const { place, change } of events) {
      all += change;
      if (place % 2 === 0) even += change;
      expect([all <= 8, even <= 3]).toEqual([true, true]);
    }
    const arrived = definitions.reduce(
      (sum, { spec }) => sum + 1440 / Number.parseInt(String(spec?.every), 10),
      0,
    );
    // Of those that jitter moves over an end, some are not counted.
    expect(Math.abs(startedAt.length + skips.overlap + unstarted - arrived)).toBeLessThan(60);
  });
});
