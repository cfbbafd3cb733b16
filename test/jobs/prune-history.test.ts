import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import pruneHistory from '../../jobs/prune-history.js';
import type { SchedulerView } from '../../src/index.js';
import { type JobHarness, openJobHarness } from '../support/job-harness.js';

let harness: JobHarness;
beforeAll(async () => {
  harness = await openJobHarness();
});
afterAll(() => harness.close());

describe('prune-history', () => {
  const pruned = {
    droppedPartitions: ['job_runs_finished_2025_11'],
    deletedRuns: 12,
    deletedKeys: 3,
    deletedEffects: 2,
    madePartitions: 1,
  };

  it.each([
    ['by default', undefined, { keep: '90d', keepKeys: '400d' }],
    ['as the payload says', { keep: '30d' }, { keep: '30d', keepKeys: '400d' }],
  ])('prunes %s, and gives what was pruned', async (_how, payload, expected) => {
    const asked: Parameters<SchedulerView['prune']>[0][] = [];
    const prune: SchedulerView['prune'] = options => {
      asked.push(options);
      return Promise.resolve(pruned);
    };
    const { output } = await harness.runHandler(pruneHistory, payload, { scheduler: { prune } });
    expect(asked).toEqual([expected]);
    expect(output).toEqual(pruned);
  });
});
