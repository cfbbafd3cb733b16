// Claimed runs that wait for free capacity.
import { beforeEach, describe, expect, it } from 'vitest';
import { createPrefetchBuffer, type PrefetchBuffer } from '../../../src/engine/claim/prefetch.js';
import { createVirtualClock, type VirtualClock } from '../../support/virtual-clock.js';

let clock: VirtualClock;
let buffer: PrefetchBuffer<number>;
let stalls: number;
beforeEach(() => {
  clock = createVirtualClock();
  stalls = 0;
  buffer = createPrefetchBuffer<number>(clock, 300, () => stalls++);
});

describe('createPrefetchBuffer', () => {
  it('returns runs in their order, also beyond a thousand', () => {
    const runs = Array.from({ length: 2500 }, (_, index) => index);
    for (const run of runs) buffer.push(run);
    expect(buffer.length).toBe(2500);
    expect(runs.map(() => buffer.shift())).toEqual(runs);
    expect([buffer.length, buffer.shift()]).toEqual([0, undefined]);
  });

  it('drains what is left', () => {
    for (const run of [1, 2, 3]) buffer.push(run);
    buffer.shift();
    expect(buffer.drain()).toEqual([2, 3]);
    expect([buffer.length, buffer.drain()]).toEqual([0, []]);
  });

  it('calls back each time the same run has been first for 300 ms', () => {
    buffer.push(1);
    buffer.push(2);
    clock.pass(299);
    expect(stalls).toBe(0);
    clock.pass(1);
    expect(stalls).toBe(1);
    clock.pass(300);
    expect(stalls).toBe(2);
  });

  it('does not while runs leave, nor when it is empty', () => {
    for (const run of [1, 2, 3]) buffer.push(run);
    for (let round = 0; round < 3; round++) {
      clock.pass(200);
      buffer.shift();
    }
    clock.pass(1000);
    expect([stalls, clock.waiting()]).toEqual([0, 0]);
  });
});
