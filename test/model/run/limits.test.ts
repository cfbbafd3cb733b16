// Which run gets a slot under a limit.
import { describe, expect, it } from 'vitest';
import type { JobConcurrency } from '../../../src/model/job/fair/concurrency.js';
import {
  admit,
  type Candidate,
  checkConcurrencyLimit,
  jobLimit,
  SUSPECTS,
  slotOf,
  type Taken,
} from '../../../src/model/run/limits.js';
import { fc } from '../../support/seed.js';

const nobody: Taken = { slots: new Map(), tokens: new Map() };
const candidate = (id: string, ...limits: [string, number][]): Candidate => ({
  id,
  queue: 'default',
  waitsFor: null,
  pacedBy: null,
  limits: limits.map(([key, limit]) => ({ key, limit })),
});

describe('admit', () => {
  it('gives each the lowest free slot, in their order, and blocks the rest on the key that is full', () => {
    const three = ['1', '2', '3', '4'].map(id => candidate(id, ['a', 3]));
    const taken: Taken = { ...nobody, slots: new Map([['a', new Map([[2, '9']])]]) };
    expect(admit(three, taken)).toEqual({
      admitted: ['1', '2'],
      slots: [
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

  it('gives all slots or none: a run that lacks one key takes none of the others', () => {
    const { admitted, slots, blocked } = admit(
      [candidate('1', ['a', 1], ['full', 1]), candidate('2', ['a', 1])],
      { ...nobody, slots: new Map([['full', new Map([[1, '9']])]]) },
    );
    expect({ admitted, slots, blocked }).toEqual({
      admitted: ['2'],
      slots: [{ id: '2', key: 'a', slot: 1 }],
      blocked: [{ id: '1', key: 'full' }],
    });
  });

  it('lets a run keep its slot, whatever the limit is now', () => {
    const taken: Taken = { ...nobody, slots: new Map([['a', new Map([[5, '1']])]]) };
    expect(admit([candidate('1', ['a', 1]), candidate('2', ['a', 1])], taken)).toMatchObject({
      admitted: ['1'],
      slots: [{ id: '1', key: 'a', slot: 5 }],
      blocked: [{ id: '2', key: 'a' }],
    });
  });

  it('spends the tokens of a queue, and blocks no run that lacks only one, or a slot of the queue', () => {
    const rated = ['1', '2', '3'].map(id => ({ ...candidate(id), queue: 'mail' }));
    expect(admit(rated, { ...nobody, tokens: new Map([['mail', 2]]) })).toEqual({
      admitted: ['1', '2'],
      slots: [],
      blocked: [],
      spent: new Map([['mail', 2]]),
    });
    expect(admit([candidate('1', ['queue:default', 0])], nobody)).toMatchObject({
      admitted: [],
      blocked: [],
    });
  });

  it.each([0, 1, 2])('admits as many of a queue with a rate as it has tokens: %d', tokens => {
    const rated = ['1', '2', '3'].map(id => ({ ...candidate(id), queue: 'mail' }));
    const { admitted } = admit(rated, { ...nobody, tokens: new Map([['mail', tokens]]) });
    expect(admitted).toEqual(['1', '2'].slice(0, tokens));
  });

  it('blocks a run that must let an earlier one go first', () => {
    const late = { ...candidate('2', ['definition:7', 1]), waitsFor: 'definition:7' };
    expect(admit([late], nobody)).toMatchObject({
      admitted: [],
      blocked: [{ id: '2', key: 'definition:7' }],
    });
  });

  it('never admits beyond a limit, and never gives one slot twice', () => {
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
        const taken = new Map<string, Map<number, string>>();
        for (const { key, slot, id } of first.slots)
          taken.set(key, (taken.get(key) ?? new Map()).set(slot, id));
        const second = admit(
          asked.map((want, index) =>
            candidate(`c${index}`, ...want.map((key): [string, number] => [key, limits[key] ?? 0])),
          ),
          { ...nobody, slots: taken },
        );
        const slots = [...first.slots, ...second.slots];
        expect(new Set(slots.map(({ key, slot }) => `${key} ${slot}`)).size).toBe(slots.length);
        for (const key of keys)
          expect(slots.filter(grant => grant.key === key).length).toBeLessThanOrEqual(limits[key] ?? 0);
        expect(second.admitted.length + second.blocked.length).toBe(asked.length);
      }),
    );
  });
});

describe('checkConcurrencyLimit', () => {
  const check = (concurrency: unknown) => () => checkConcurrencyLimit(concurrency as JobConcurrency);

  it('takes a whole number from 1 to 10,000, with a function of the payload or without, or nothing', () => {
    for (const given of [undefined, { limit: 1 }, { limit: 10_000 }, { limit: 2, key: () => 'k' }])
      expect(check(given)).not.toThrow();
  });

  it.each([[0], [10_001], [1.5], ['2'], [Number.NaN], [undefined]])('refuses a limit of %s', limit => {
    expect(check({ limit })).toThrow(
      expect.objectContaining({
        code: 'TOCK_BAD_JOB',
        message: expect.stringMatching(
          /^concurrency\.limit .* is not a whole number from 1 to 10000$/,
        ) as string,
      }) as Error,
    );
  });

  it('refuses an option that does not exist', () => {
    expect(check({ limit: 1, keys: () => 'k' })).toThrow('concurrency has no option "keys"');
  });

  it('refuses what is no object, and a key that is no function', () => {
    expect(check(null)).toThrow('concurrency is null; write an object of options');
    expect(check({ limit: 1, key: 'tenant' })).toThrow(
      'concurrency.key "tenant" is not a function of the payload',
    );
    expect(check({ limit: 1, key: null })).toThrow('concurrency.key null is not a function');
  });
});

describe('jobLimit', () => {
  const limitOf = (key: ((payload: never) => unknown) | undefined, payload: unknown = {}) =>
    jobLimit({ name: 'sync', concurrency: { limit: 3, ...(key ? { key } : {}) } as JobConcurrency }, payload);

  it('is none without a limit, and one key of the job without a function', () => {
    expect(jobLimit({ name: 'sync' }, {})).toBeNull();
    expect(limitOf(undefined)).toEqual({ key: 'job:sync', limit: 3 });
  });

  it('is shared by no two jobs, though the name of one may look like a key of the other', () => {
    const concurrency = { limit: 1, key: () => 'eu' };
    const keys = [
      { name: 'report', concurrency },
      { name: 'report:eu', concurrency: { limit: 1 } },
    ].map(job => jobLimit(job, null)?.key);
    expect(new Set(keys).size).toBe(2);
  });

  it('is the job’s key for this payload, text or a number', () => {
    expect(limitOf((payload: { tenant: string }) => payload.tenant, { tenant: 'a' })).toEqual({
      key: 'job:sync/a',
      limit: 3,
    });
    expect(limitOf(() => 0)).toEqual({ key: 'job:sync/0', limit: 3 });
    expect(limitOf(() => 'ä'.repeat(150))?.key).toBe(`job:sync/${'ä'.repeat(150)}`);
  });

  it.each([
    ['nothing', undefined],
    ['empty text', ''],
    ['an object', { tenant: 'a' }],
    ['true', true],
    ['more than 300 bytes', `${'ä'.repeat(150)}a`],
    ['text that PostgreSQL cannot store', 'a\u0000b'],
  ])('refuses a function that gives %s', (_what, value) => {
    expect(() => limitOf(() => value)).toThrow(
      expect.objectContaining({
        code: 'TOCK_BAD_KEY',
        message: expect.stringContaining('concurrency.key of job sync gave ') as string,
      }) as Error,
    );
  });
});

describe('slotOf', () => {
  const keyOf = (payload: string) =>
    jobLimit({ name: 'sync', concurrency: { limit: 1, key: (text: string) => text } }, payload)?.key ?? '';

  it('is the part of the key that comes from the payload', () => {
    expect(slotOf('sync', keyOf('a:b'))).toBe('a:b');
    expect(slotOf('sync', 'job:sync')).toBeNull();
  });
});

it('the limit for runs that may have ended a process is four, as the documentation says', () => {
  expect(SUSPECTS.limit).toBe(4);
});
