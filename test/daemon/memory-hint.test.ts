// When a worker says how to limit its memory.
import { describe, expect, it } from 'vitest';
import { createMemoryHint } from '../../src/daemon/memory-hint.js';
import { type Logger, silentLogger } from '../../src/model/logger.js';

const MIB = 2 ** 20;

function hinting(mib: number, claimed: readonly number[]) {
  const lines: string[] = [];
  const logger: Logger = { ...silentLogger, info: (_, message = '') => lines.push(message) };
  const hint = createMemoryHint(logger, () => mib * MIB);
  for (const count of claimed) hint(count);
  return lines;
}

describe('the hint at memory', () => {
  it('is given once, and says how', () => {
    const lines = hinting(96, [0, 20_000, 40_000]);
    expect(lines).toHaveLength(1);
    expect(lines[0]).toMatch(/96 MiB.*NODE_OPTIONS=--max-semi-space-size=8/);
  });

  it('is not given for an app whose young generation has grown without many runs', () => {
    expect(hinting(96, [0, 9999])).toEqual([]);
  });

  it('is not given where the young generation is limited', () => {
    expect(hinting(32, [1_000_000])).toEqual([]);
  });
});
