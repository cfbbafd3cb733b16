import { beforeEach, describe, expect, it } from 'vitest';
import checkScheduler from '../../jobs/check-scheduler.js';
import { Dead, defineJob, type RunRecord, type SchedulerStatus } from '../../src/index.js';
import type { LogLine } from '../../src/testing.js';
import { NOW, CALM as QUIET } from '../support/calm-status.js';
import { openForEach } from '../support/open.js';
import { openJobKit, withScheduler } from './job-kit.js';

const CALM: SchedulerStatus = { ...QUIET, ticks: [] };

const MINUTE = 60_000;

let work: () => Promise<void>;
const other = defineJob({
  name: 'other',
  retry: { maxAttempts: 1 },
  schedule: { every: '100d' },
  run: () => work(),
});

const kit = openForEach(() => openJobKit({ jobs: [checkScheduler, other], now: NOW }));
beforeEach(() => {
  work = () => Promise.resolve();
});

/** Checks given figures; without any, the scheduler's own. */
async function check(status?: Partial<SchedulerStatus>, limits: object = {}): Promise<RunRecord> {
  const run = await kit.runOnce(
    checkScheduler,
    limits,
    status && { context: withScheduler({ status: () => Promise.resolve({ ...CALM, ...status }) }) },
  );
  expect(run.status).toBe('succeeded');
  return run;
}

const problemsOf = ({ output }: RunRecord) => (output as { problems: string[] }).problems;
const warnings = (): LogLine[] => kit.logs.filter(line => line.event === 'scheduler.problem');

describe('check-scheduler', () => {
  it('gives the figures and finds nothing when nothing is wrong', async () => {
    const run = await check({
      runs: { waiting: 3, scheduled: 9, running: 2, handedOff: 0, failed: 4, stuck: 0 },
      oldestWaitMs: 5 * MINUTE,
      oldestSnapshot: { ageMs: 15 * MINUTE, pid: 4711 },
      deadRows: 99_999,
    });
    expect(run.output).toEqual({
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
    expect(warnings()).toEqual([]);
  });

  it.each([
    ['a long wait', { oldestWaitMs: 5 * MINUTE + 1 }, /waited for 5m .*tock start/],
    ['dead rows', { deadRows: 100_000 }, /100000 dead rows.*vacuum/],
  ])('succeeds and warns of %s, and says how to fix it', async (_what, status, message) => {
    const run = await check(status);
    expect(problemsOf(run)).toEqual([expect.stringMatching(message)]);
    expect(warnings()).toMatchObject([
      {
        level: 'warn',
        fields: { job: 'check-scheduler', problem: expect.stringMatching(message) },
        message: expect.stringMatching(message),
      },
    ]);
  });

  it('takes its limits from the payload', async () => {
    const status = { oldestWaitMs: 10 * MINUTE, lastDay: { ...CALM.lastDay, dead: 4 }, deadRows: 50 };
    expect(problemsOf(await check(status, { oldestWait: '10m', deadLastDay: 5 }))).toEqual([]);
    expect(problemsOf(await check(status, { oldestWait: '9m', deadLastDay: 4, deadRows: 50 }))).toHaveLength(
      3,
    );
  });

  it('finds nothing in a scheduler that is new, minute after minute', async () => {
    const runs = await kit.advanceTo('2026-03-09T07:03:00Z');
    expect(runs.map(run => [run.definition, problemsOf(run)])).toEqual([
      ['check-scheduler', []],
      ['check-scheduler', []],
      ['check-scheduler', []],
    ]);
  });

  it('finds what is wrong with a scheduler that has stood still', async () => {
    // The partitions of the time that its clock shows.
    await kit.tock.migrate();
    await kit.tock.queues.pause('reports');
    await kit.tock.enqueue(other, {}, { queue: 'reports' });
    await kit.tock.register();
    await kit.sql(
      `update tock.job_definitions set cron = 'never', every_ms = null, next_at = tock.now() where name = 'other'`,
    );
    kit.failOnce(other, new Dead('no more'));
    await kit.runOnce(other);
    await kit.clock.advance('6m');
    const run = (await kit.drain()).find(each => each.status === 'succeeded');
    expect(run?.output).toMatchObject({ waiting: 1, oldestWaitMs: 6 * MINUTE, deadLastDay: 1 });
    expect(run && problemsOf(run)).toEqual([
      expect.stringMatching(/waited for 6m .*a queue is paused/),
      expect.stringMatching(/tock queue resume reports/),
      expect.stringMatching(/^1 run ended dead/),
      expect.stringMatching(/^1 definition cannot be evaluated/),
    ]);
  });
});
