// Chaos: processes that are killed, frozen and cut off by lot; then the history is checked.
import { describe, expect, it } from 'vitest';
import { runExperiment } from './history-experiment.js';
import { HEALTHY } from './mutant-build.js';

// TOCK_CHAOS_SEED repeats an experiment, as far as processes can be repeated; TOCK_CHAOS_STEPS makes it longer.
const seed = Number(process.env['TOCK_CHAOS_SEED'] ?? Math.floor(Math.random() * 2 ** 31));
const steps = Number(process.env['TOCK_CHAOS_STEPS'] ?? 40);

describe('the invariants of a history', () => {
  it(`hold under kill -9, SIGSTOP, lost connections and a clock that leaps (TOCK_CHAOS_SEED=${seed})`, async () => {
    console.log(`TOCK_CHAOS_SEED=${seed} TOCK_CHAOS_STEPS=${steps}`);
    const experiment = await runExperiment({ build: HEALTHY, faults: { seed, steps } });
    console.log(JSON.stringify(experiment));
    expect(experiment.wrong).toEqual([]);
    // Otherwise it would show nothing.
    expect(experiment.claims).toBeGreaterThan(experiment.ended);
    expect(experiment.reaped).toBeGreaterThan(0);
    expect(experiment.decided).toBeGreaterThan(0);
    expect(experiment.waits['event']).toBeGreaterThan(0);
    expect(experiment.waits['ended']).toBeGreaterThan(0);
    expect(experiment.fairStarts).toBeGreaterThan(0);
  }, 600_000);
});
