import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import checkScheduler from '../../jobs/check-scheduler.js';
import type { SchedulerStatus } from '../../src/index.js';
import { CALM_STATUS, type HandlerResult, type JobHarness, openJobHarness } from '../support/job-harness.js';

let harness: JobHarness;
beforeAll(async () => {
  harness = await openJobHarness();
});
afterAll(() => harness.close());

const MINUTE = 60_000;

function check(status: Partial<SchedulerStatus>, limits?: object): Promise<HandlerResult> {
  return harness.runHandler(checkScheduler, limits, {
    scheduler: { status: () => Promise.resolve({ ...CALM_STATUS, ...status }) },
  });
}

function problemsOf({ output }: HandlerResult): string[] {
  return (output as { problems: string[] }).problems;
}

describe('check-scheduler', () => {
  it('gives the figures and finds nothing when nothing is wrong', async () => {
    const result = await check({
      runs: { waiting: 3, scheduled: 9, running: 2, failed: 4, stuck: 0 },
      oldestWaitMs: 5 * MINUTE,
      oldestSnapshot: { ageMs: 15 * MINUTE, pid: 4711 },
      deadRows: 99_999,
    });
    expect(result.output).toEqual({
      waiting: 3,
      oldestWaitMs: 300_000,
      running: 2,
      failed: 4,
      deadLastDay: 0,
      stuck: 0,
      oldestSnapshotMs: 900_000,
      deadRows: 99_999,
      problems: [],
    });
    expect(result.logged).toEqual([]);
  });

  it.each([
    ['a long wait', { oldestWaitMs: 5 * MINUTE + 1 }, /waited 5m .*tock start/],
    ['a stuck run', { runs: { ...CALM_STATUS.runs, stuck: 1 } }, /past their lease.*tock start/],
    ['a dead run', { lastDay: { ...CALM_STATUS.lastDay, dead: 1 } }, /dead in the last 24 hours.*tock retry/],
    ['a broken definition', { definitions: { ...CALM_STATUS.definitions, broken: 1 } }, /broken.*tock jobs/],
    [
      'an old snapshot',
      { oldestSnapshot: { ageMs: 15 * MINUTE + 1, pid: 4711 } },
      /session 4711 .*pg_terminate_backend\(4711\)/,
    ],
    ['dead rows', { deadRows: 100_000 }, /100000 dead rows.*vacuum/],
  ])('succeeds and warns of %s, with the mend', async (_what, status, message) => {
    const result = await check(status);
    expect(problemsOf(result)).toEqual([expect.stringMatching(message)]);
    expect(result.logged).toEqual([
      {
        level: 'warn',
        fields: { event: 'scheduler.problem', problem: expect.stringMatching(message) },
        message: expect.stringMatching(message),
      },
    ]);
  });

  it('names a paused queue as the likely cause of a long wait', async () => {
    const queue = { queue: 'reports', waiting: 7, running: 0, failed: 0, paused: true };
    const result = await check({
      oldestWaitMs: 60 * MINUTE,
      queues: [queue, { ...queue, queue: 'empty', waiting: 0 }],
    });
    expect(problemsOf(result)).toEqual([expect.stringContaining('resume the paused queue reports,')]);
  });

  it('takes its limits from the payload', async () => {
    const status = { oldestWaitMs: 10 * MINUTE, lastDay: { ...CALM_STATUS.lastDay, dead: 4 }, deadRows: 50 };
    expect(problemsOf(await check(status, { oldestWait: '10m', deadLastDay: 5 }))).toEqual([]);
    expect(problemsOf(await check(status, { oldestWait: '9m', deadLastDay: 4, deadRows: 50 }))).toHaveLength(
      3,
    );
  });
});
