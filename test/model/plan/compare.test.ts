// Which occurrences an edit adds, takes away and moves.
import { describe, expect, it } from 'vitest';
import { compareOccurrences } from '../../../src/model/plan/compare.js';
import { arrivalsOf, type SimulatedDefinition } from '../../../src/model/plan/walk.js';

const WEEK = { from: new Date('2026-03-02T00:00:00Z'), to: new Date('2026-03-09T00:00:00Z') };
const of = (definition: Partial<SimulatedDefinition>) =>
  arrivalsOf({ name: 'd', spec: null, ...definition }, WEEK);
const cron = (text: string, timezone = 'UTC') => of({ spec: { cron: text, timezone } });
const compare = (before: ReturnType<typeof of>, after: ReturnType<typeof of>) => {
  const { examples, ...counts } = compareOccurrences(before, after, WEEK);
  const [first] = examples;
  const text = (at: number | null | undefined) =>
    at === null || at === undefined ? null : new Date(at).toISOString().slice(5, 16);
  return { ...counts, first: first && [first.kind, text(first.at), text(first.to)] };
};

describe('compareOccurrences', () => {
  it('moves each to the one beside it, by another hour or another zone', () => {
    expect(compare(cron('0 2 * * *'), cron('0 3 * * *'))).toEqual({
      appear: 0,
      vanish: 0,
      move: 7,
      first: ['move', '03-02T02:00', '03-02T03:00'],
    });
    expect(compare(cron('0 2 * * *'), cron('0 2 * * *', 'Europe/Berlin'))).toMatchObject({
      move: 7,
      first: ['move', '03-02T02:00', '03-02T01:00'],
    });
  });

  it('leaves alone what stays, and moves nothing across it', () => {
    expect(compare(cron('0 * * * *'), cron('*/30 * * * *'))).toMatchObject({
      appear: 168,
      vanish: 0,
      move: 0,
      first: ['appear', '03-02T00:30', null],
    });
    const hours = (...each: number[]) => {
      const at = each.map(hour => WEEK.from.getTime() + hour * 3_600_000);
      return { at, startsAt: at, dueAt: at, skipped: [] };
    };
    expect(compare(hours(2, 3), hours(3, 4))).toMatchObject({ appear: 1, vanish: 1, move: 0 });
  });

  it('pairs those that lie beside each other where there are fewer than before', () => {
    expect(compare(cron('0 * * * *'), cron('30 2 * * *'))).toMatchObject({ appear: 0, vanish: 161, move: 7 });
    expect(compare(cron('0,10 2 * * *'), cron('20,30 2 * * *'))).toMatchObject({
      move: 14,
      first: ['move', '03-02T02:00', '03-02T02:20'],
    });
  });

  it('counts what jitter, a window or an operator puts to another time as moved', () => {
    const plain = of({ spec: { cron: '0 2 * * *' } });
    expect(compare(plain, of({ spec: { cron: '0 2 * * *' }, window: '04:00-06:00' }))).toMatchObject({
      move: 7,
      first: ['move', '03-02T02:00', '03-02T04:00'],
    });
    const skips = { spec: { cron: '0 2 * * *' }, window: '04:00-06:00', outsideWindow: 'skip' as const };
    expect(compare(plain, of(skips))).toMatchObject({ vanish: 7, move: 0 });
    const jittered = compare(plain, of({ spec: { cron: '0 2 * * *' }, jitterMs: 3_600_000 }));
    expect(jittered).toMatchObject({ appear: 0, vanish: 0, move: 7 });
  });

  it('has all appear, or vanish, beside nothing', () => {
    const nothing = of({});
    expect(compare(nothing, cron('0 2 * * *'))).toMatchObject({ appear: 7, vanish: 0, move: 0 });
    expect(compare(cron('0 2 * * *'), nothing)).toMatchObject({ appear: 0, vanish: 7, move: 0 });
    expect(compare(nothing, nothing)).toEqual({ appear: 0, vanish: 0, move: 0, first: undefined });
  });

  it('is told apart by counts that add up, for any two schedules', () => {
    const texts = ['0 2 * * *', '*/20 * * * *', '5-50/7 3,9 * * 1-5', '0 0 * * 0', '59 23 * * *'];
    for (const one of texts)
      for (const other of texts) {
        const [before, after] = [cron(one), cron(other)];
        const { appear, vanish, move } = compareOccurrences(before, after, WEEK);
        const stays = before.at.filter(at => after.at.includes(at)).length;
        expect([one, other, stays + vanish + move]).toEqual([one, other, before.at.length]);
        expect([one, other, stays + appear + move]).toEqual([one, other, after.at.length]);
      }
  });
});
