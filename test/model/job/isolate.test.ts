// Model: the `isolate` option is checked where the job is defined.
import { describe, expect, it } from 'vitest';
import { defineJob } from '../../../src/model/job/define-job.js';
import { readIsolate } from '../../../src/model/job/isolate.js';

const job = (isolate: unknown) => defineJob({ name: 'report', run: () => null, isolate: isolate as boolean });

describe('isolate', () => {
  it.each<[unknown, object | null]>([
    [undefined, null],
    [false, null],
    [true, { memoryMb: null }],
    [{}, { memoryMb: null }],
    [{ memoryMb: 32 }, { memoryMb: 32 }],
    [{ memoryMb: 4096 }, { memoryMb: 4096 }],
  ])('%j is %j', (option, isolate) => {
    expect(readIsolate(job(option).isolate)).toEqual(isolate);
  });

  it.each<[unknown, RegExp]>([
    ['yes', /isolate "yes" is neither true, false nor \{ memoryMb \}/],
    [1, /isolate 1 is neither/],
    [null, /isolate null is neither/],
    [[], /is neither/],
    [{ memory: '512mb' }, /isolate has no option "memory"; did you mean "memoryMb"/],
    [{ memoryMb: '512' }, /memoryMb "512" is not a whole number from 32 to 1048576/],
    [{ memoryMb: 31 }, /memoryMb 31 is not/],
    [{ memoryMb: 64.5 }, /memoryMb 64\.5 is not/],
    [{ memoryMb: Number.NaN }, /memoryMb .* is not/],
    [{ memoryMb: 1e12 }, /memoryMb 1000000000000 is not/],
  ])('%j is refused', (option, message) => {
    expect(() => job(option)).toThrow(expect.objectContaining({ code: 'TOCK_BAD_JOB' }));
    expect(() => job(option)).toThrow(message);
    expect(() => job(option)).toThrow(/job "report": /);
  });
});
