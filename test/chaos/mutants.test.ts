// Chaos: the checker is checked. Tock with a fault built in must be found out by the history of an experiment.
// Found out elsewhere: a batch that is not sorted, and the claim's CTE, in test/scenarios/leases.test.ts and over-lock.test.ts;
// waits that are not locked before they are ended, and runs that are not marked for who begins to wait for them (no
// process can be stopped between two statements), in test/scenarios/waits-at-once.test.ts.
import { describe, expect, it } from 'vitest';
import { runExperiment } from './history-experiment.js';
import { buildMutant, HEALTHY } from './mutant-build.js';
import { MUTANTS } from './mutants.js';
import { STORIES } from './stories.js';

describe('a story of faults', () => {
  it.each(Object.entries(STORIES))('%s: all invariants hold', async (_name, story) => {
    expect((await runExperiment({ build: HEALTHY, faults: { story } })).wrong).toEqual([]);
  });
});

describe('the history finds out', () => {
  it.each(MUTANTS)('$name', async ({ story, changes, alterations = [], found }) => {
    const build = changes === undefined ? HEALTHY : await buildMutant(changes);
    const { wrong } = await runExperiment({ build, faults: { story: STORIES[story] }, alterations });
    expect(wrong.filter(line => found.test(line))).not.toEqual([]);
  });
});
