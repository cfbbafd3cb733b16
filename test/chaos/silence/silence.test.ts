// Chaos: bursts by lot, then silence. No run that is due and free is passed over by a worker that has room; and faults that are
// planted in the daemon are found out.
import { describe, expect, it } from 'vitest';
import { bundleProcess } from '../mutant-build.js';
import { PLANTED } from '../planted-faults.js';
import { type Experiment, runExperiment } from './experiment.js';

// TOCK_CHAOS_SEED repeats one, as far as processes can be repeated; TOCK_CHAOS_SEEDS says how many come from it on.
const given = process.env['TOCK_CHAOS_SEED'];
const first = Number(given ?? Math.floor(Math.random() * 2 ** 31));
const count = Number(process.env['TOCK_CHAOS_SEEDS'] ?? (given === undefined ? 20 : 1));
/** Most of the time they wait. */
const SIDE_BY_SIDE = 4;
/** A fault is found by one of so many. */
const TRIED = 12;

const DAEMON = 'test/chaos/silence/daemon.ts';
const from = (seed: number, length: number) => Array.from({ length }, (_, index) => seed + index);

/** One after the other, some side by side, until one is enough. */
async function tryAll(
  bundle: string,
  seeds: readonly number[],
  isEnough: (found: Experiment) => boolean = () => false,
): Promise<Experiment[]> {
  const left = [...seeds];
  const experiments: Experiment[] = [];
  const work = async () => {
    for (let seed = left.shift(); seed !== undefined; seed = left.shift()) {
      const found = await runExperiment(bundle, seed);
      console.log(JSON.stringify(found));
      experiments.push(found);
      if (isEnough(found)) left.length = 0;
    }
  };
  await Promise.all(from(0, SIDE_BY_SIDE).map(work));
  return experiments;
}

describe('in the silence after a burst', () => {
  it(`no run is passed over while a worker has room (TOCK_CHAOS_SEED=${first})`, async () => {
    const experiments = await tryAll(await bundleProcess(DAEMON), from(first, count));
    const wrong = experiments.flatMap(each =>
      each.wrong.map(line => `TOCK_CHAOS_SEED=${each.seed}: ${line}`),
    );
    expect(wrong).toEqual([]);
    // Otherwise it would show nothing.
    expect(experiments.reduce((sum, { chances }) => sum + chances, 0)).toBeGreaterThan(10 * count);
  }, 900_000);
});

describe('a burst and silence find out', () => {
  it.each(PLANTED.filter(({ how }) => how === 'silence'))(
    '$name',
    async ({ changes, found }) => {
      const names = ({ wrong }: Experiment) => wrong.some(line => found.test(line));
      const experiments = await tryAll(await bundleProcess(DAEMON, changes), from(100, TRIED), names);
      expect(experiments.filter(names)).not.toEqual([]);
    },
    900_000,
  );
});
