// Hooks observe runs, and cannot harm them.
import { beforeEach, describe, expect, it } from 'vitest';
import { Dead, defineJob, type Hooks } from '../../../src/index.js';
import { openForEach } from '../../support/open.js';
import { reuseTestTock, until } from '../../support/test-tock.js';

const test = openForEach(reuseTestTock);
let told: string[];
beforeEach(() => {
  told = [];
});

const works = defineJob({ name: 'works', run: () => ({ rows: 7 }) });
const flaky = defineJob({
  name: 'flaky',
  retry: { maxAttempts: 2, base: 0, jitter: 0 },
  run: ctx => {
    throw new Error(`attempt ${ctx.attempt}`);
  },
});
const jobs = [works, flaky];

describe('hooks', () => {
  it('are called at each start, success, failure and death', async () => {
    const hooks: Hooks = {
      onStart: run => told.push(`start ${run.job} ${run.attempt} of ${run.maxAttempts}`),
      onSuccess: (run, { output, durationMs }) =>
        told.push(`success ${run.job} ${JSON.stringify(output)} ${durationMs >= 0}`),
      onFailure: (run, { error, retryInMs }) => told.push(`failure ${run.job} ${error.message} ${retryInMs}`),
      onDead: (run, { error }) => told.push(`dead ${run.job} ${error.message}`),
    };
    const tock = test.another({ jobs, hooks });
    await tock.enqueue(works);
    await tock.tick();
    await tock.enqueue(flaky);
    await tock.tick();
    expect(told).toEqual([
      'start works 1 of 10',
      'success works {"rows":7} true',
      'start flaky 1 of 2',
      'failure flaky attempt 1 0',
      'start flaky 2 of 2',
      'dead flaky attempt 2',
    ]);
  });

  it('do no harm when they throw, reject or never come back; it is logged', async () => {
    const lines: unknown[] = [];
    const logger = {
      debug: () => undefined,
      info: () => undefined,
      warn: () => undefined,
      error: (fields: object) => void lines.push(fields),
      child: () => logger,
    };
    const hooks: Hooks = {
      onStart: () => {
        throw new Error('at once');
      },
      onSuccess: () => Promise.reject(new Error('later')),
      onDead: () => new Promise(() => undefined),
    };
    const tock = test.another({
      jobs: [works, defineJob({ name: 'flaky', run: () => Promise.reject(new Dead()) })],
      hooks,
      logger,
    });
    const ids = await tock.enqueueMany([{ job: 'works' }, { job: 'flaky' }]);
    await tock.tick();
    expect(await tock.runs.get(ids[0] ?? '')).toMatchObject({ status: 'succeeded' });
    expect(await tock.runs.get(ids[1] ?? '')).toMatchObject({ status: 'dead' });
    const failed = () => lines.filter(line => (line as { event: string }).event === 'hook.failed');
    await until(async () => failed().length === 3, 'the failures to be logged');
    expect(failed()).toEqual(
      expect.arrayContaining([
        expect.objectContaining({ hook: 'onStart', error: 'Error: at once' }),
        expect.objectContaining({ hook: 'onSuccess', error: 'Error: later' }),
      ]),
    );
  });

  it('onDead is called for runs that the reaper found dead', async () => {
    const hooks: Hooks = { onDead: (run, { error }) => told.push(`${run.job} ${error.code}`) };
    const tock = test.another({ jobs, hooks });
    await tock.enqueue(works, {}, { maxAttempts: 1 });
    await test.sql(
      `update tock.job_runs_live set status = 'running', attempts = 1, fence = 1, locked_until = tock.now() - interval '1 s'`,
    );
    await tock.tick();
    await until(async () => told.length === 1, 'the hook');
    expect(told).toEqual(['works TOCK_LEASE_LOST']);
  });
});
