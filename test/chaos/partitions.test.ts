// Chaos: partitions that have run out, and are made while runs end.
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type LapseKit, NONE, openLapseKit } from './lapse-kit.js';

let kit: LapseKit;
beforeEach(async () => {
  kit = await openLapseKit();
});
afterEach(() => kit.close());
const MANY = Number(process.env['TOCK_LAPSE_RUNS'] ?? 60_000);

describe('after months without partitions, while runs end', () => {
  it.each(['month', 'day'] as const)('prune makes those of a %s', async partition => {
    await kit.lapse(MANY);
    const traffic = await kit.traffic();
    const result = await kit.tock.prune({ keep: '400d', partition });
    expect(result).toMatchObject({ left: [], partition });
    expect(await traffic.stop()).toEqual(NONE);
    console.log(result, await kit.held());
  });
  it('migrate', async () => {
    await kit.lapse(MANY);
    const traffic = await kit.traffic();
    console.log(await kit.tock.migrate());
    expect(await traffic.stop()).toEqual(NONE);
  });
});
