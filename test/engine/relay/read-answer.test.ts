// Which bodies are answers, and when a broker counts as away.
import { describe, expect, it } from 'vitest';
import { afterFailure, delayMs, isOpen, WORKING } from '../../../src/relay/breaker.js';
import { readAnswer } from '../../../src/relay/read-answer.js';

const NAMED = { tock: 1, run: '812', fence: 2 };

describe('readAnswer', () => {
  it.each([
    [
      { ...NAMED, kind: 'succeeded' },
      { ...NAMED, kind: 'succeeded', result: null },
    ],
    [
      { ...NAMED, kind: 'succeeded', result: [1], more: true },
      { ...NAMED, kind: 'succeeded', result: [1] },
    ],
    [
      { ...NAMED, run: '00812', kind: 'succeeded' },
      { ...NAMED, kind: 'succeeded', result: null },
    ],
    [
      { ...NAMED, kind: 'failed', message: 'no', retry: null, retryAt: null, name: null },
      { ...NAMED, kind: 'failed', message: 'no' },
    ],
    [
      { ...NAMED, kind: 'failed', message: 'a\0b\ud800', retry: true, retryAt: '2026-03-02T12:00:00+01:00' },
      {
        ...NAMED,
        kind: 'failed',
        message: 'a\ufffdb\ufffd',
        retry: true,
        retryAt: '2026-03-02T11:00:00.000Z',
      },
    ],
    [
      { ...NAMED, kind: 'failed', message: 'no', retry: false, name: 'E', code: 'C', stack: 'at x' },
      { ...NAMED, kind: 'failed', message: 'no', retry: false, name: 'E', code: 'C', stack: 'at x' },
    ],
    [
      { ...NAMED, kind: 'extend', leaseMs: 1000 },
      { ...NAMED, kind: 'extend', leaseMs: 1000 },
    ],
    [
      { ...NAMED, kind: 'progress', fraction: 0.5, stage: 'half' },
      { ...NAMED, kind: 'progress', fraction: 0.5, stage: 'half' },
    ],
    [
      { ...NAMED, kind: 'progress', fraction: 1 },
      { ...NAMED, kind: 'progress', fraction: 1 },
    ],
    [
      { ...NAMED, kind: 'succeeded', result: JSON.parse('['.repeat(5000) + ']'.repeat(5000)) as unknown },
      {
        ...NAMED,
        kind: 'failed',
        message: 'the result is nested deeper than 200 levels',
        retry: false,
        name: 'TockError',
        code: 'TOCK_BAD_RESULT',
      },
    ],
  ])('takes $kind', (body, answer) => {
    expect(readAnswer(body)).toEqual(answer);
  });

  it.each([
    [null, 'it is not an object'],
    [[NAMED], 'it is not an object'],
    [{ ...NAMED, tock: 2 }, 'tock is 2, not 1: another version of the protocol'],
    [{ ...NAMED, run: 812 }, 'run 812 is not the id of a run'],
    [{ ...NAMED, run: '8'.repeat(19) }, `run "${'8'.repeat(19)}" is not the id of a run`],
    [{ ...NAMED, fence: 0 }, 'fence 0 is not a whole number from 1 on'],
    [{ ...NAMED, fence: 2 ** 31 }, `fence ${2 ** 31} is not a whole number from 1 on`],
    [NAMED, 'kind undefined is none of succeeded, failed, extend and progress'],
    [{ ...NAMED, kind: 'failed' }, 'message is missing: why the run has failed'],
    [{ ...NAMED, kind: 'failed', message: ' ' }, 'message is missing: why the run has failed'],
    [{ ...NAMED, kind: 'failed', message: 'no', retry: 'no' }, 'retry "no" is neither true nor false'],
    [
      { ...NAMED, kind: 'failed', message: 'no', retryAt: 'soon' },
      'retryAt "soon" is not a time in ISO 8601',
    ],
    [
      { ...NAMED, kind: 'failed', message: 'no', retry: false, retryAt: '2026-03-02' },
      'retryAt is for a run that is tried again, and retry is false',
    ],
    [{ ...NAMED, kind: 'failed', message: 'no', code: 7 }, 'code 7 is not a text'],
    [
      { ...NAMED, kind: 'extend', leaseMs: 999 },
      `leaseMs 999 is not a number from 1000 to ${366 * 86_400_000}`,
    ],
    [
      { ...NAMED, kind: 'extend', leaseMs: '1d' },
      `leaseMs "1d" is not a number from 1000 to ${366 * 86_400_000}`,
    ],
    [{ ...NAMED, kind: 'progress', fraction: null }, 'fraction null is not a number from 0 to 1'],
    [{ ...NAMED, kind: 'progress', fraction: 0, stage: 1 }, 'stage 1 is not a text'],
  ])('does not take %j', (body, why) => {
    expect(readAnswer(body)).toBe(why);
  });
});

describe('the breaker', () => {
  it('waits longer with each failure, and 30 s at most', () => {
    let breaker = WORKING;
    const delays: number[] = [];
    for (let failure = 1; failure <= 7; failure++) {
      breaker = afterFailure(breaker, breaker.retryAt);
      delays.push(delayMs(breaker));
    }
    expect(delays).toEqual([1000, 2000, 4000, 8000, 16_000, 30_000, 30_000]);
  });

  it('learns nothing from batches that were under way when it opened', () => {
    const opened = afterFailure(WORKING, 100);
    expect(afterFailure(opened, 101)).toBe(opened);
    expect([isOpen(WORKING, 0), isOpen(opened, 101), isOpen(opened, 1100)]).toEqual([false, true, false]);
  });
});
