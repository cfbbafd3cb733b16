// Model: the load of a week, and what a jitter for all does to it.
import { describe, expect, it } from 'vitest';
import type { SimulatedDefinition } from '../../../src/model/plan/walk.js';
import { type Load, loadSteps, MAX_LOAD_OCCURRENCES } from '../../../src/model/planning/load.js';
import { simulate } from '../../../src/model/planning/simulate.js';

const FROM = new Date('2026-03-02T00:00:00Z');
const TO = new Date('2026-03-09T00:00:00Z');
const window = { from: FROM, to: TO, timezone: 'UTC', jitterMs: 300_000 };

function load(definitions: readonly SimulatedDefinition[], more = {}): Load {
  const steps = loadSteps(definitions, { ...window, ...more });
  for (;;) {
    const step = steps.next();
    if (step.done) return step.value;
  }
}
const nightly = Array.from({ length: 40 }, (_, index) => ({
  name: `tenant-${index}`,
  spec: { cron: '0 7 * * *' },
}));

describe('the load', () => {
  it('tells the busiest minute of each hour, before and after the jitter', () => {
    const { asDefined, jittered, definitions } = load(nightly);
    expect(definitions).toBe(40);
    expect(asDefined.hours).toHaveLength(7 * 24);
    expect(asDefined.hours[7]).toMatchObject({
      start: new Date('2026-03-02T07:00:00Z'),
      count: 40,
      peak: 40,
    });
    expect(asDefined.hours[8]).toMatchObject({ count: 0, peak: 0 });
    expect(jittered.hours[7]?.count).toBe(40);
    expect(jittered.peak.perMinute).toBeLessThan(20);
    expect(jittered.starts).toBe(asDefined.starts);
  });

  it('is that of `tock simulate`', () => {
    const definitions = [...nightly, { name: 'own', spec: { every: '7m' }, jitterMs: 60_000 }];
    const simulation = simulate(definitions, window);
    const { asDefined, jittered, busiest } = load(definitions);
    expect(asDefined.hours.map(({ start, count }) => ({ start, count }))).toEqual(simulation.hours);
    expect(asDefined.peak).toEqual(simulation.peaks.asDefined);
    expect(jittered.peak).toEqual(simulation.peaks.jitterForAll);
    expect(busiest).toEqual(simulation.busiest);
  });

  it('leaves what is outside its window to the opening, or out', () => {
    const closed = { name: 'a', spec: { cron: '0 7 * * *' }, window: '22:00-23:00' };
    expect(load([closed]).asDefined.hours[22]).toMatchObject({ count: 1 });
    expect(load([{ ...closed, outsideWindow: 'skip' }]).asDefined.starts).toBe(0);
  });

  it('gives others a turn after each definition', () => {
    const steps = loadSteps(nightly, window);
    let turns = 0;
    while (!steps.next().done) turns++;
    expect(turns).toBeGreaterThanOrEqual(nightly.length);
  });

  it('refuses more than a million', { tags: 'check' }, () => {
    const busy = Array.from({ length: 2 }, (_, index) => ({ name: `s-${index}`, spec: { every: '1s' } }));
    expect(7 * 86_400 * 2).toBeGreaterThan(MAX_LOAD_OCCURRENCES);
    expect(() => load(busy)).toThrow(expect.objectContaining({ code: 'TOCK_BAD_TIME' }));
  });
});
