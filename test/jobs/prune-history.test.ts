import { describe, expect, it } from 'vitest';
import pruneHistory from '../../jobs/prune-history.js';
import { defineJob } from '../../src/index.js';
import { openForEach } from '../support/open.js';
import { openJobKit, withScheduler } from './job-kit.js';

const noted = defineJob({ name: 'noted', run: ctx => ctx.once(`note:${ctx.runId}`, () => 'noted') });

const kit = openForEach(() => openJobKit({ jobs: [pruneHistory, noted], now: '2026-03-09T03:00:00Z' }));

const left = () =>
  kit.sql<{ runs: number; keys: number; effects: number }>(`
  select (select count(*) from tock.job_runs_finished where job = 'noted')::int as runs,
    (select count(*) from tock.job_keys where idempotency_key = 'note')::int as keys,
    (select count(*) from tock.job_effects)::int as effects`);

describe('prune-history', () => {
  it('forgets runs after 90 days and their keys after 400, every night', async () => {
    await kit.runOnce(noted, {}, { key: 'note' });
    const [first] = await kit.untilNext(pruneHistory);
    expect(first).toMatchObject({ scheduledFor: new Date('2026-03-09T03:30:00Z'), payload: {} });
    expect(first?.output).toMatchObject({ deletedRuns: 0, deletedKeys: 0, deletedEffects: 0 });

    await kit.clock.set('2026-06-07T03:30:00Z');
    // The nights that were missed are skipped, and one run makes up for them.
    const pruned = (await kit.drain()).find(run => run.status === 'succeeded');
    expect(pruned?.output).toMatchObject({ deletedKeys: 0, deletedEffects: 0 });
    expect(await left()).toEqual([{ runs: 0, keys: 1, effects: 1 }]);

    await kit.clock.set('2027-04-14T03:30:00Z');
    await kit.drain();
    expect(await left()).toEqual([{ runs: 0, keys: 0, effects: 0 }]);
  });

  it('keeps runs as long as the payload says', { tags: 'check' }, async () => {
    await kit.runOnce(noted);
    await kit.clock.advance('29d');
    await kit.runOnce(pruneHistory, { keep: '30d' });
    expect(await left()).toMatchObject([{ runs: 1 }]);
    await kit.clock.advance('2d');
    expect((await kit.runOnce(pruneHistory, { keep: '30d' })).status).toBe('succeeded');
    expect(await left()).toMatchObject([{ runs: 0 }]);
  });

  it('keeps them by their state, and tells of the partitions', { tags: 'check' }, async () => {
    await kit.runOnce(noted);
    await kit.clock.advance('31d');
    const payload = { keep: { succeeded: '40d', default: '7d' }, partition: 'month' } as const;
    expect((await kit.runOnce(pruneHistory, payload)).output).toMatchObject({ left: [], partition: 'month' });
    expect(await left()).toMatchObject([{ runs: 1 }]);
    await kit.clock.advance('10d');
    await kit.runOnce(pruneHistory, payload);
    expect(await left()).toMatchObject([{ runs: 0 }]);
  });

  it('refuses a state that no finished run has', { tags: 'check' }, async () => {
    await expect(kit.runOnce(pruneHistory, { keep: { failed: '7d' } as never })).rejects.toMatchObject({
      code: 'TOCK_BAD_PAYLOAD',
    });
  });

  it('fails, and so comes again, where locks could not be had', { tags: 'check' }, async () => {
    const run = await kit.runOnce(
      pruneHistory,
      {},
      {
        context: withScheduler({ prune: async () => ({ left: ['job_runs_finished_2025_01'] }) as never }),
      },
    );
    expect(run).toMatchObject({
      status: 'failed',
      errors: [{ message: 'other sessions held locks for too long on: job_runs_finished_2025_01' }],
    });
  });
});
