// Model: the progress that a line of output tells.
import { describe, expect, it } from 'vitest';
import { progressOf } from '../../../src/model/shell/progress.js';

describe('progressOf', () => {
  it.each([
    ['42%', 0.42],
    ['copied 42.5 % of it', 0.425],
    ['  1,234,567  37%  1.2MB/s', 0.37],
    ['100%', 1],
    ['0%', 0],
    ['file 3: 10%, all: 80%', 0.8],
    ['101%', null],
    ['-5%', null],
    ['5 of 10', null],
    ['%', null],
    ['', null],
  ])('%j is %j', (line, fraction) => {
    expect(progressOf(line, null)).toBe(fraction);
  });

  it('takes the first group of a pattern instead', () => {
    expect(progressOf('step 30 done, 99% cpu', /step (\d+)/)).toBe(0.3);
    expect(progressOf('99%', /step (\d+)/)).toBeNull();
    expect(progressOf('step  done', /step (\d*)/)).toBeNull();
  });
});
