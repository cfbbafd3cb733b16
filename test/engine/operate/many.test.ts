// Engine: retry and cancel of all runs that match, in batches.
import { describe, expect, it } from 'vitest';
import { defineJob } from '../../../src/index.js';
import { storeTest } from '../../support/open.js';
import { addRuns, whileWaitedFor } from '../../support/runs.js';
import { reuseTestTock } from '../../support/test-tock.js';

const NOW = '2026-03-02T12:00:00Z';
const mail = defineJob({ name: 'mail', retry: { maxAttempts: 4 }, run: () => undefined });

const { test } = storeTest(NOW, () => reuseTestTock([mail]));

const error = (message: string) =>
  JSON.stringify([{ at: NOW, attempt: 1, name: 'Error', code: null, message, stack: null }]);
const dead = (more: object = {}) => ({
  status: 'dead',
  finished_at: NOW,
  job: 'mail',
  attempts: 2,
  max_attempts: 2,
  fence: 3,
  ...more,
});
const states = async () =>
  Object.fromEntries(
    (
      await test.sql<{ status: string; n: number }>(
        'select status, count(*)::int as n from tock.job_runs group by 1',
      )
    ).map(({ status, n }) => [status, n]),
  );
const manyDead = async (count: number) =>
  await test.sql(
    `insert into tock.job_runs_finished (id, job, status, finished_at, attempts, max_attempts, fence, errors)
     select n, 'mail', 'dead', tock.now(), 2, 2, 3, $2::jsonb from generate_series(1, $1::int) n`,
    [count, error('no')],
  );
const empty = {
  passed: 0,
  failedCount: 0,
  failed: [],
  isStopped: false,
  pausedQueues: [],
  upTo: expect.any(String),
};

it('what a dry run has counted is all that is done: no run that came later', async () => {
  await addRuns(test, { job: 'mail' }, dead());
  for (const act of ['cancelMany', 'retryMany'] as const) {
    const { matched, upTo } = await test.tock.runs[act]({ job: 'mail' }, { dryRun: true });
    await addRuns(test, { job: 'mail' }, dead());
    expect(await test.tock.runs[act]({ job: 'mail' }, { dryRun: true, upTo })).toMatchObject({
      matched,
      upTo,
    });
    expect((await test.tock.runs[act]({ job: 'mail' }, { upTo })).matched).toBe(matched);
  }
  await expect(test.tock.runs.cancelMany({}, { upTo: 'x' })).rejects.toMatchObject({
    code: 'TOCK_BAD_OPTION',
  });
});

describe('runs.retryMany', () => {
  it('puts all that match back into the queue, each with a full set of attempts', async () => {
    await test.tock.register();
    await addRuns(test, dead(), dead({ job: 'other' }), dead(), {
      status: 'cancelled',
      finished_at: NOW,
      job: 'mail',
    });
    expect(await test.tock.runs.retryMany({ job: 'mail' })).toEqual({
      matched: 2,
      done: { queued: 2 },
      ...empty,
    });
    expect(await states()).toEqual({ queued: 2, dead: 1, cancelled: 1 });
    expect(await test.tock.runs.get('1')).toMatchObject({
      status: 'queued',
      attempts: 2,
      maxAttempts: 6,
      fence: 4,
      generation: 2,
      runAt: new Date(NOW),
    });
  });

  it('counts without changing anything, and no further than the cap', { tags: 'check' }, async () => {
    await manyDead(10_050);
    const dry = { done: {}, ...empty };
    expect(await test.tock.runs.retryMany({}, { dryRun: true })).toEqual({ matched: 10_001, ...dry });
    expect(await test.tock.runs.retryMany({}, { dryRun: true, limit: 7 })).toEqual({ matched: 7, ...dry });
    const group = { name: 'Error', code: null, message: 'no' };
    expect(await test.tock.runs.retryMany({ errorGroup: group }, { dryRun: true })).toMatchObject({
      matched: 10_001,
    });
    expect(
      await test.tock.runs.retryMany({ errorGroup: { ...group, message: 'yes' } }, { dryRun: true }),
    ).toMatchObject({ matched: 0 });
    expect(await states()).toEqual({ dead: 10_050 });
  });

  it('works in batches, oldest first, and can be stopped and repeated', { tags: 'check' }, async () => {
    await manyDead(450);
    const stop = new AbortController();
    const progress: number[] = [];
    const first = await test.tock.runs.retryMany(
      {},
      {
        signal: stop.signal,
        onProgress: done => {
          progress.push(done);
          stop.abort();
        },
      },
    );
    expect(first).toEqual({ matched: 200, done: { queued: 200 }, ...empty, isStopped: true });
    const [{ max } = { max: '' }] = await test.sql<{ max: string }>(
      'select max(id)::text as max from tock.job_runs_live',
    );
    expect([progress, max]).toEqual([[200], '200']);
    expect(await test.tock.runs.retryMany({}, { limit: 30 })).toMatchObject({
      matched: 30,
      done: { queued: 30 },
    });
    expect(await test.tock.runs.retryMany({})).toMatchObject({ matched: 220, done: { queued: 220 } });
    expect(await test.tock.runs.retryMany({})).toMatchObject({ matched: 0, done: {} });
    expect(await states()).toEqual({ queued: 450 });
  });

  it('lets them start at a rate, over all batches, and says when the last is due', {
    tags: 'check',
  }, async () => {
    await manyDead(450);
    const dry = await test.tock.runs.retryMany({}, { rate: { count: 5, per: '1s' }, dryRun: true });
    expect(dry).not.toHaveProperty('lastDueAt');
    const mia = test.tock.as({ name: 'mia', via: 'cli', role: 'operate', seesPayloads: true });
    const result = await mia.runs.retryMany({}, { rate: { count: 5, per: '1s' } });
    expect(result).toMatchObject({ done: { queued: 450 }, lastDueAt: new Date('2026-03-02T12:01:29.800Z') });
    const dueIn = async (id: string) =>
      ((await test.tock.runs.get(id))?.runAt.getTime() ?? 0) - new Date(NOW).getTime();
    expect(await Promise.all(['1', '2', '201', '450'].map(dueIn))).toEqual([0, 200, 40_000, 89_800]);
    const [{ most } = { most: 0 }] = await test.sql<{ most: number }>(
      `select max(n)::int as most from (select count(*) as n from tock.job_runs_live group by date_trunc('second', run_at)) s`,
    );
    expect(most).toBe(5);
    const [row] = await test.tock.audit.list({ operator: 'mia' });
    expect(row?.details).toMatchObject({ rate: { count: 5, perMs: 1000 } });
  });

  it.each([
    [{ count: 0, per: '1s' }, 'TOCK_BAD_OPTION'],
    [{ count: 1.5, per: '1s' }, 'TOCK_BAD_OPTION'],
    [{ count: 1, per: '0s' }, 'TOCK_BAD_OPTION'],
    [{ count: 1, per: 'often' }, 'TOCK_BAD_DURATION'],
  ])('refuses the rate %j', { tags: 'check' }, async (rate, code) => {
    await expect(test.tock.runs.retryMany({}, { rate })).rejects.toMatchObject({ code });
  });

  it('leaves one line in the audit, with the filter and the sum of the batches', {
    tags: 'check',
  }, async () => {
    await manyDead(450);
    const ann = test.tock.as({ name: 'ann', via: 'page', role: 'operate', seesPayloads: true });
    await ann.runs.retryMany({ job: 'mail', payload: '{"secret": 1}' }, { dryRun: true });
    await ann.runs.retryMany({ job: 'mail', error: 'no', from: new Date('2026-03-01T00:00:00Z') });
    const [row, ...others] = await test.tock.audit.list({ operator: 'ann' });
    expect(others).toEqual([]);
    expect(row).toMatchObject({
      operator: 'ann',
      action: 'runs.retry',
      count: 450,
      details: { status: ['dead'], job: 'mail', error: 'no', from: '2026-03-01T00:00:00.000Z' },
    });
    const viewer = test.tock.as({ name: 'bob', via: 'page', role: 'view', seesPayloads: true });
    await expect(viewer.runs.retryMany({})).rejects.toMatchObject({ code: 'TOCK_FORBIDDEN' });
    await expect(viewer.runs.cancelMany({})).rejects.toMatchObject({ code: 'TOCK_FORBIDDEN' });
  });

  it('retries the errors of one group only', async () => {
    await addRuns(
      test,
      dead({ errors: error('order 17 failed') }),
      dead({ errors: error('order 18 failed') }),
      dead({ errors: error('order 18 failed twice') }),
    );
    const errorGroup = { name: 'Error', code: null, message: 'order <n> failed' };
    expect(await test.tock.runs.retryMany({ errorGroup }, { attempts: 1 })).toMatchObject({
      done: { queued: 2 },
    });
    expect(await test.tock.runs.list({ status: 'dead' })).toMatchObject([{ id: '3' }]);
    expect(await test.tock.runs.get('1')).toMatchObject({ maxAttempts: 3 });
  });

  it('names the run that cannot be live again, and retries the others of its batch', {
    tags: 'check',
  }, async () => {
    const key = { idempotency_key: 'shop', live_key: 'shop' };
    await addRuns(test, dead(), dead(key), dead(), { job: 'mail', ...key });
    const result = await test.tock.runs.retryMany({});
    expect(result).toMatchObject({ matched: 3, done: { queued: 2 }, passed: 0, failedCount: 1 });
    expect(result.failed).toEqual([
      {
        id: '2',
        code: 'TOCK_BAD_STATE',
        message: expect.stringContaining('another run with its key "shop" is live'),
      },
    ]);
    expect(await states()).toEqual({ queued: 3, dead: 1 });
  });

  it('passes over what another action has retried in the meantime, and waits for it', {
    tags: 'check',
  }, async () => {
    await addRuns(test, dead(), dead());
    const taken = `with gone as (delete from tock.job_runs_finished where id = 2 returning *)
      insert into tock.job_runs_live select * from (select (jsonb_populate_record(null::tock.job_runs_live, to_jsonb(g) || '{"status": "queued", "finished_at": null}')).* from gone g) r`;
    const result = await whileWaitedFor(test, taken, async () => await test.tock.runs.retryMany({}));
    expect(result).toMatchObject({ matched: 2, done: { queued: 1 }, passed: 1, failedCount: 0 });
    expect(await states()).toEqual({ queued: 2 });
  });

  it('refuses states that cannot be retried, options that do not exist, and numbers that make no sense', async () => {
    const bad = expect.objectContaining({ code: 'TOCK_BAD_OPTION' });
    await expect(test.tock.runs.retryMany({ status: ['dead', 'running'] })).rejects.toEqual(bad);
    await expect(test.tock.runs.retryMany({ jobs: 'mail' } as object)).rejects.toEqual(bad);
    await expect(test.tock.runs.retryMany({}, { dry: true } as object)).rejects.toEqual(bad);
    await expect(test.tock.runs.retryMany({}, { limit: 0 })).rejects.toEqual(bad);
    await expect(test.tock.runs.retryMany({}, { limit: Number.NaN })).rejects.toEqual(bad);
  });
});

describe('runs.cancelMany', () => {
  it('cancels what waits, asks what runs if that was wanted, and keeps the reason', async () => {
    const running = { status: 'running', attempts: 1, fence: 1, locked_until: '2026-03-02T12:01:00Z' };
    await addRuns(
      test,
      { job: 'mail' },
      { job: 'mail', status: 'failed', attempts: 1 },
      { ...running, job: 'mail' },
      { job: 'other' },
    );
    expect(await test.tock.runs.cancelMany({ job: 'mail' }, { reason: 'wrong month' })).toEqual({
      matched: 2,
      done: { cancelled: 2 },
      ...empty,
    });
    expect(await test.tock.runs.get('1')).toMatchObject({ status: 'cancelled', skipReason: 'wrong month' });
    expect(await test.tock.runs.cancelMany({ status: 'running' })).toMatchObject({
      matched: 1,
      done: { running: 1 },
    });
    expect(await test.tock.runs.get('3')).toMatchObject({
      status: 'running',
      cancelRequestedAt: new Date(NOW),
    });
    expect(await states()).toEqual({ cancelled: 2, running: 1, queued: 1 });
  });

  it('leaves those that were asked to stop before, with the reason of that, and counts only what it asked', {
    tags: 'check',
  }, async () => {
    const running = {
      job: 'mail',
      status: 'running',
      attempts: 1,
      fence: 1,
      locked_until: '2026-03-02T12:01:00Z',
    };
    await addRuns(test, running, running);
    await test.tock.runs.cancel('1', { reason: 'legal hold' });
    expect(await test.tock.runs.cancelMany({ status: 'running' }, { reason: 'wrong month' })).toEqual({
      matched: 2,
      ...empty,
      done: { running: 1 },
      passed: 1,
    });
    expect(await test.tock.runs.get('1')).toMatchObject({ skipReason: 'legal hold' });
    expect(await test.tock.runs.get('2')).toMatchObject({ skipReason: 'wrong month' });
    expect(await test.tock.audit.list({ action: 'runs.cancel', limit: 2 })).toMatchObject([
      { targets: ['2'], count: 1 },
      { targets: ['1'], count: 1 },
    ]);
  });

  it('frees the slots of what it cancels, and lets the next run start', async () => {
    const slot = { job: 'mail', slot_keys: ['job:mail'], slot_limits: [1] };
    await addRuns(test, { ...slot, status: 'failed', attempts: 1 }, { ...slot, blocked_on: 'job:mail' });
    await test.sql(`insert into tock.job_slots values ('job:mail', 1, 1, 1)`);
    expect(await test.tock.runs.cancelMany({ status: 'failed' })).toMatchObject({ done: { cancelled: 1 } });
    expect(await test.sql('select from tock.job_slots')).toEqual([]);
    expect(await test.tock.runs.get('2')).toMatchObject({ blockedOn: null });
  });
});
