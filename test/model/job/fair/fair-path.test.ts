// Model: where a fair key is in the payload.
import { describe, expect, it } from 'vitest';
import { fairScopeOf } from '../../../../src/model/job/fair/fair.js';
import { readKeyPath } from '../../../../src/model/job/fair/fair-path.js';

// biome-ignore lint/suspicious/noExplicitAny: what functions pick from it is read from their texts
// oxlint-disable-next-line typescript/no-explicit-any
type Any = any;
const read = (key: unknown) => readKeyPath(key, 'fair.key');

describe('the path of a key', () => {
  it.each([
    ['$.tenant', '$.tenant'],
    ['$.customer.id', '$.customer.id'],
    ['$."two words"[0]', '$."two words"[0]'],
    [({ tenant }: Any) => tenant, '$.tenant'],
    [({ tenant: t }: Any) => t, '$.tenant'],
    [({ customer: { id } }: Any) => id, '$.customer.id'],
    [({ customer }: Any) => customer?.['id'], '$.customer.id'],
    [(p: Any) => p['customer']?.['no of it'], '$.customer."no of it"'],
    // biome-ignore lint/complexity/useArrowFunction: it is what is tested
    [
      function (p: Any) {
        return p['tenant'];
      },
      '$.tenant',
    ],
    [
      (p: Any) => {
        return p['ids']?.[0];
      },
      '$.ids[0]',
    ],
  ] as const)('is read from %s', (key, path) => {
    expect(read(key)).toBe(path);
  });

  it.each([
    ['tenant', 'is not a path into the payload'],
    ['$', 'is not a path into the payload'],
    ['$.a ? (@ > 1)', 'is not a path into the payload'],
    [7, 'is neither a path'],
    [({ tenant = 'x' }: { tenant?: string }) => tenant, 'let it pick one member'],
    [(p: Any) => `t${String(p['tenant'])}`, 'let it pick one member'],
    [(p: Any) => p, 'let it pick one member'],
    [(_p: Any) => 'all', 'let it pick one member'],
    [(p: Any) => p['a'] ?? p['b'], 'let it pick one member'],
    [({ ...rest }: Any) => rest, 'let it pick one member'],
    [async (p: Any) => p['a'], 'let it pick one member'],
  ])('is not read from %s', (key, message) => {
    expect(() => read(key)).toThrow(message);
  });
});

describe('what a job says of its keys', () => {
  const of = (job: object) => fairScopeOf({ name: 'send', ...job });

  it('has a burst of one second, and the key of fair', () => {
    expect(of({})).toBeNull();
    expect(of({ fair: { key: '$.t', limit: 3 } })).toEqual({ path: '$.t', limit: 3, rate: null });
    expect(of({ fair: { key: '$.t' }, rate: { limit: 100, per: '1m' } })).toEqual({
      path: '$.t',
      limit: null,
      rate: { limit: 100, perMs: 60_000, burst: 2 },
    });
    expect(of({ rate: { limit: 1, per: '1h', key: '$.t', burst: 5 } })?.rate).toEqual({
      limit: 1,
      perMs: 3_600_000,
      burst: 5,
    });
  });

  it('is a place for one run of each key, if its order is strict', () => {
    const strict = { limit: 1, order: 'strict' };
    const ofOne = { limit: 1, rate: null, isStrict: true };
    expect(of({ concurrency: { ...strict, key: ({ t }: { t: string }) => t } })).toEqual({
      path: '$.t',
      ...ofOne,
    });
    expect(of({ concurrency: { ...strict, key: '$.t' }, fair: { key: '$.t' } })).toEqual({
      path: '$.t',
      ...ofOne,
    });
    // All runs of the job.
    expect(of({ concurrency: strict })).toEqual({ path: '"all"', ...ofOne });
  });

  it.each([
    [
      { concurrency: { limit: 1, order: 'strict', key: '$.a' }, fair: { key: '$.b' } },
      'job send has two keys, concurrency.key $.a and fair.key $.b: a run has one; leave out fair.key',
    ],
    [{ concurrency: { limit: 1, order: 'strict' }, fair: { key: '$.b', limit: 2 } }, 'leave out fair.limit'],
    [{ rate: { limit: 1, per: '1s' } }, 'rate of job send has no key'],
    [{ fair: { key: '$.a' }, rate: { limit: 1, per: '1s', key: '$.b' } }, 'has two keys'],
    [{ fair: { key: '$.a', limit: 0 } }, 'fair.limit 0 is not a whole number from 1 to 10000'],
    [{ rate: { limit: 0, per: '1s', key: '$.b' } }, 'rate.limit 0 is not'],
    [{ rate: { limit: 1, per: 0, key: '$.b' } }, 'rate.per must be longer than 0'],
    [{ rate: { limit: 1, per: '365d', burst: 31, key: '$.b' } }, 'would take over thirty years to save up'],
    [{ fair: { weight: 3 } }, 'fair has no option "weight"'],
  ])('is refused where it cannot be: %j', (job, message) => {
    expect(() => of(job)).toThrow(message);
  });
});
