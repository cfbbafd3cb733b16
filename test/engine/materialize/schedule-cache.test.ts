// Engine: schedules of due definitions are compiled once, and never mistaken for one another.
import { describe, expect, it } from 'vitest';
import { createScheduleCache } from '../../../src/engine/materialize/planned.js';
import type { DueDefinition } from '../../../src/store/definitions/due.js';

const AT = Date.parse('2026-03-28T12:00:00Z');
const definition = (more: Partial<DueDefinition> = {}) =>
  ({
    name: 'nightly',
    cron: '30 2 * * *',
    every_ms: null,
    phase_ms: 0,
    at: null,
    timezone: 'Europe/Berlin',
    dst: 'once',
    start_at: null,
    end_at: null,
    exclude: [],
    ...more,
  }) as DueDefinition;
const nextOf = (schedule: ReturnType<ReturnType<typeof createScheduleCache>>) =>
  new Date(schedule?.next(AT) ?? Number.NaN).toISOString();

describe('a schedule cache', () => {
  it('gives definitions with the same cron, zone and mapping the same schedule', () => {
    const scheduleOf = createScheduleCache();
    const first = scheduleOf(definition());
    expect(scheduleOf(definition({ name: 'other', job: 'other' }))).toBe(first);
    expect(nextOf(first)).toBe('2026-03-29T01:30:00.000Z');
  });

  it.each<[string, Partial<DueDefinition>, string]>([
    ['cron', { cron: '30 4 * * *' }, '2026-03-29T02:30:00.000Z'],
    ['timezone', { timezone: 'UTC' }, '2026-03-29T02:30:00.000Z'],
    ['dst', { dst: 'skip' }, '2026-03-30T00:30:00.000Z'],
    ['startAt', { start_at: new Date('2026-04-02T00:00:00Z') }, '2026-04-02T00:30:00.000Z'],
    ['exclude', { exclude: ['2026-03-29'] }, '2026-03-30T00:30:00.000Z'],
    ['every', { cron: null, every_ms: 3_600_000 }, '2026-03-28T13:00:00.000Z'],
    ['at', { cron: null, at: '2026-05-01T00:00:00.000Z' }, '2026-05-01T00:00:00.000Z'],
  ])('tells apart what differs in %s', (_name, more, next) => {
    const scheduleOf = createScheduleCache();
    const plain = scheduleOf(definition());
    const other = scheduleOf(definition(more));
    expect(other).not.toBe(plain);
    expect(nextOf(other)).toBe(next);
    expect(scheduleOf(definition())).toBe(plain);
  });

  it('tells apart by its end, and by the name that decides H', () => {
    const scheduleOf = createScheduleCache();
    scheduleOf(definition());
    expect(scheduleOf(definition({ end_at: new Date(AT) }))?.next(AT)).toBeNull();
    const hashed = ['a', 'b', 'c'].map(name => nextOf(scheduleOf(definition({ name, cron: 'H H * * *' }))));
    expect(new Set(hashed).size).toBe(3);
  });

  it('has no schedule for a definition without one, throws for a broken one, and is bounded', () => {
    const scheduleOf = createScheduleCache();
    expect(scheduleOf(definition({ cron: null }))).toBeNull();
    expect(() => scheduleOf(definition({ cron: '61 * * * *' }))).toThrow('61');
    const first = scheduleOf(definition());
    for (let n = 0; n < 1000; n++)
      scheduleOf(definition({ cron: `${n % 60} ${n % 24} ${(n % 28) + 1} * *` }));
    expect(nextOf(scheduleOf(definition()))).toBe(nextOf(first));
  });
});
