// Model: the `batch` option is checked where the job is defined; how many runs go together, and which.
import { describe, expect, it } from 'vitest';
import { batchKey, batchLimit, readBatch } from '../../../../src/model/job/batch/batch-option.js';
import { defineJob } from '../../../../src/model/job/define-job.js';
import { defineShellJob } from '../../../../src/tock/define-shell-job.js';

const job = (batch: unknown, more: object = {}) =>
  defineJob({ name: 'index', run: () => null, batch: batch as { size: number }, ...more });

describe('batch', () => {
  it('has defaults', () => {
    expect(readBatch(undefined)).toBeNull();
    expect(readBatch({ size: 100 })).toEqual({ size: 100, withinMs: 100, key: null });
    expect(readBatch({ size: 1, within: '2s' })).toEqual({ size: 1, withinMs: 2000, key: null });
    expect(readBatch({ size: 1000, within: 0 })).toEqual({ size: 1000, withinMs: 0, key: null });
  });

  it.each<[unknown, RegExp]>([
    [true, /batch true is no object; write batch: \{ size: 100/],
    [100, /batch 100 is no object/],
    [[], /is no object/],
    [null, /is no object/],
    [{}, /batch.size undefined is not a whole number from 1 to 1000/],
    [{ size: 0 }, /batch.size 0 is not/],
    [{ size: 1001 }, /batch.size 1001 is not/],
    [{ size: 2.5 }, /batch.size 2.5 is not/],
    [{ size: 10, whithin: '1s' }, /batch has no option "whithin"; did you mean "within"/],
    [{ size: 10, within: '2m' }, /batch.within is over a minute/],
    [{ size: 10, key: 'tenant' }, /batch.key is no function of the payload/],
  ])('%j is refused', (option, message) => {
    expect(() => job(option)).toThrow(expect.objectContaining({ code: 'TOCK_BAD_JOB' }));
    expect(() => job(option)).toThrow(message);
  });

  it('needs a duration', () => {
    expect(() => job({ size: 10, within: 'soon' })).toThrow(
      expect.objectContaining({
        code: 'TOCK_BAD_DURATION',
        message: expect.stringContaining('batch.within'),
      }),
    );
  });

  it.each<[string, object, RegExp]>([
    ['isolate', { isolate: true }, /batch and isolate do not go together: .*leave out one/],
    ['isolate with memory', { isolate: { memoryMb: 64 } }, /batch and isolate do not go together/],
    [
      'a limit that no full batch fits under',
      { concurrency: { limit: 5 } },
      /concurrency.limit \(5\) is under/,
    ],
  ])('does not go with %s', (_, more, message) => {
    expect(() => job({ size: 10 }, more)).toThrow(expect.objectContaining({ code: 'TOCK_BAD_JOB' }));
    expect(() => job({ size: 10 }, more)).toThrow(message);
  });

  it('goes with a limit by key, whose batches may be of many keys, and with one that is high enough', () => {
    expect(job({ size: 10 }, { concurrency: { limit: 1, key: () => 'a' } }).batch).toEqual({ size: 10 });
    expect(job({ size: 10 }, { concurrency: { limit: 10 } }).batch).toEqual({ size: 10 });
    expect(job({ size: 10 }, { isolate: false }).batch).toEqual({ size: 10 });
  });

  it('is no option of a shell job', () => {
    expect(() => defineShellJob({ name: 'dump', command: ['true'], batch: { size: 2 } } as never)).toThrow(
      expect.objectContaining({ message: expect.stringContaining('no option "batch"') }),
    );
  });
});

it('the limit of a batch halves with each attempt, and the last attempt goes alone', () => {
  const limits = (size: number, max: number) =>
    Array.from({ length: max }, (_, index) => batchLimit(size, index + 1, max));
  expect(limits(100, 10)).toEqual([100, 50, 25, 13, 7, 4, 2, 1, 1, 1]);
  expect(limits(100, 3)).toEqual([100, 50, 1]);
  expect(limits(100, 2)).toEqual([100, 1]);
  // There is no other attempt in which it could go alone.
  expect(limits(100, 1)).toEqual([100]);
  expect(limits(1, 3)).toEqual([1, 1, 1]);
});

describe('the key of a batch', () => {
  const keyOf = (key: (payload: never) => unknown) =>
    batchKey({ size: 2, withinMs: 0, key: key as () => string }, 'index', { tenant: 7 });

  it('is text, from text or a number', () => {
    expect(keyOf(({ tenant }: { tenant: number }) => tenant)).toBe('7');
    expect(keyOf(() => 'a')).toBe('a');
    expect(batchKey({ size: 2, withinMs: 0, key: null }, 'index', {})).toBe('');
  });

  it.each([undefined, null, {}, true])('cannot be %j', value => {
    expect(() => keyOf(() => value)).toThrow(expect.objectContaining({ code: 'TOCK_BAD_KEY' }));
  });
});
