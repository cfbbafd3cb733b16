// Engine: how the time of a tick that must end is divided.
import { describe, expect, it } from 'vitest';
import { partsOf } from '../../src/engine/run-tick.js';

describe('partsOf', () => {
  const settings = { drainMs: 20_000, graceMs: 10_000 };

  it('leaves most of the time for claiming, and some for what has been claimed', () => {
    expect(partsOf(50_000, settings)).toEqual({ claimMs: 33_000, endMs: 43_000, graceMs: 5000 });
    expect(partsOf(10_000, settings)).toEqual({ claimMs: 5000, endMs: 7000, graceMs: 1000 });
  });

  it('takes no more than a drain does', () => {
    expect(partsOf(900_000, settings)).toEqual({ claimMs: 868_000, endMs: 888_000, graceMs: 10_000 });
    expect(partsOf(50_000, { drainMs: 0, graceMs: 0 })).toEqual({
      claimMs: 48_000,
      endMs: 48_000,
      graceMs: 0,
    });
  });
});
