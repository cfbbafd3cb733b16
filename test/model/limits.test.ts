// Model: who gets a place under a limit. Pure.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { admit, type Candidate, type Taken } from '../../src/model/limits.js';

const nobody: Taken = { slots: new Map(), tokens: new Map() };
const candidate = (id: string, ...limits: [string, number][]): Candidate => ({
  id,
  queue: 'default',
  waitsFor: null,
  limits: limits.map(([key, limit]) => ({ key, limit })),
});

describe('admit', () => {
  it('gives each the lowest free place, in their order, and blocks the rest on the key that is full', () => {
    const three = ['1', '2', '3', '4'].map(id => candidate(id, ['a', 3]));
    const taken: Taken = { ...nobody, slots: new Map([['a', new Map([[2, '9']])]]) };
    expect(admit(three, taken)).toEqual({
      admitted: ['1', '2'],
      places: [
        { id: '1', key: 'a', slot: 1 },
        { id: '2', key: 'a', slot: 3 },
      ],
      blocked: [
        { id: '3', key: 'a' },
        { id: '4', key: 'a' },
      ],
      spent: new Map(),
    });
  });

  it('gives all places or none: who lacks one key takes nothing from the others', () => {
    const { admitted, places, blocked } = admit(
      [candidate('1', ['a', 1], ['full', 1]), candidate('2', ['a', 1])],
      { ...nobody, slots: new Map([['full', new Map([[1, '9']])]]) },
    );
    expect({ admitted, places, blocked }).toEqual({
      admitted: ['2'],
      places: [{ id: '2', key: 'a', slot: 1 }],
      blocked: [{ id: '1', key: 'full' }],
    });
  });

  it('lets a run keep the place it holds, whatever the limit is by now', () => {
    const taken: Taken = { ...nobody, slots: new Map([['a', new Map([[5, '1']])]]) };
    expect(admit([candidate('1', ['a', 1]), candidate('2', ['a', 1])], taken)).toMatchObject({
      admitted: ['1'],
      places: [{ id: '1', key: 'a', slot: 5 }],
      blocked: [{ id: '2', key: 'a' }],
    });
  });

  it('spends the tokens of a queue, and blocks nobody for want of one, or of a place in the queue', () => {
    const rated = ['1', '2', '3'].map(id => ({ ...candidate(id), queue: 'mail' }));
    expect(admit(rated, { ...nobody, tokens: new Map([['mail', 2]]) })).toEqual({
      admitted: ['1', '2'],
      places: [],
      blocked: [],
      spent: new Map([['mail', 2]]),
    });
    expect(admit([candidate('1', ['queue:default', 0])], nobody)).toMatchObject({
      admitted: [],
      blocked: [],
    });
  });

  it('blocks who has to let an earlier one go first', () => {
    const late = { ...candidate('2', ['definition:7', 1]), waitsFor: 'definition:7' };
    expect(admit([late], nobody)).toMatchObject({
      admitted: [],
      blocked: [{ id: '2', key: 'definition:7' }],
    });
  });

  it('never admits beyond a limit, and never gives one place twice', () => {
    const keys = ['a', 'b', 'c'];
    const limits: Record<string, number> = { a: 1, b: 2, c: 5 };
    const wants = fc.uniqueArray(fc.constantFrom(...keys));
    fc.assert(
      fc.property(fc.array(wants, { maxLength: 30 }), fc.array(wants, { maxLength: 10 }), (held, asked) => {
        const first = admit(
          held.map((want, index) =>
            candidate(`h${index}`, ...want.map((key): [string, number] => [key, limits[key] ?? 0])),
          ),
          nobody,
        );
        const slots = new Map<string, Map<number, string>>();
        for (const { key, slot, id } of first.places)
          slots.set(key, (slots.get(key) ?? new Map()).set(slot, id));
        const second = admit(
          asked.map((want, index) =>
            candidate(`c${index}`, ...want.map((key): [string, number] => [key, limits[key] ?? 0])),
          ),
          { ...nobody, slots },
        );
        const places = [...first.places, ...second.places];
        expect(new Set(places.map(({ key, slot }) => `${key} ${slot}`)).size).toBe(places.length);
        for (const key of keys)
          expect(places.filter(place => place.key === key).length).toBeLessThanOrEqual(limits[key] ?? 0);
        expect(second.admitted.length + second.blocked.length).toBe(asked.length);
      }),
    );
  });
});
