// Engine: retention and the audit. Old rows of it go; a prune by hand leaves a row, the nightly one does not.
import { describe, expect, it } from 'vitest';
import { defineJob } from '../../../src/index.js';
import { openForEach } from '../../support/open.js';
import { openRetentionKit } from './retention-kit.js';

const nightly = defineJob({
  name: 'nightly',
  run: async ctx => {
    await ctx.scheduler.prune({ keepKeys: '400d' });
  },
});

const kit = openForEach(
  () => openRetentionKit([nightly]),
  ({ make }) => make('2031-01-10'),
);

const oldKeys = (count: number) =>
  kit.sql(
    `insert into tock.job_keys (idempotency_key, run_id, created_at) select 'key-' || i, -i, '2029-01-01' from generate_series(1, $1::int) i`,
    [count],
  );
const oldRow = (at: string, operator: string) =>
  kit.sql(
    `insert into tock.audit (created_at, operator, via, action, count) values ($1, $2, 'cli', 'queues.pause', 1)`,
    [at, operator],
  );
const operators = async () =>
  (await kit.tock.audit.list({ action: 'queues.pause' })).map(row => row.operator);
const prunes = () => kit.tock.audit.list({ action: 'prune' });

describe('prune', () => {
  it('deletes rows of the audit after a year, or as long as is asked', async () => {
    await oldRow('2030-01-10T11:59:59Z', 'old');
    await oldRow('2030-01-10T12:00:00Z', 'a year old');
    await oldRow('2031-01-10T11:00:00Z', 'new');
    expect(await kit.tock.prune({ keepKeys: '4000d' })).toMatchObject({ deletedAudit: 1 });
    expect(await operators()).toEqual(['new', 'a year old']);
    expect(await kit.tock.prune({ keepAudit: '1d' })).toMatchObject({ deletedAudit: 1 });
    expect(await operators()).toEqual(['new']);
  });

  it('by hand leaves a row with what it removed, and none if that was nothing', {
    tags: 'check',
  }, async () => {
    await oldKeys(3);
    await kit.tock.prune();
    const removed = {
      action: 'prune',
      targets: [],
      count: 1,
      details: { deletedKeys: 3, deletedRuns: 0, deletedAudit: 0, droppedPartitions: [] },
    };
    expect(await prunes()).toMatchObject([removed]);
    expect((await prunes())[0]?.details).not.toHaveProperty('isStopped');
    await kit.tock.prune();
    expect(await prunes()).toHaveLength(1);
  });

  it('by hand leaves a row of what it had removed before it was stopped', { tags: 'check' }, async () => {
    await oldKeys(3);
    await kit.sql(`insert into tock.job_effects (key, run_id, created_at) values ('old', 1, '2029-01-01')`);
    const controller = new AbortController();
    const stopped = kit.tock.prune({
      signal: controller.signal,
      onProgress: ({ stage }) => {
        if (stage === 'old rows of job_effects') controller.abort();
      },
    });
    await expect(stopped).rejects.toThrow(/abort/);
    expect(await prunes()).toMatchObject([
      { details: { isStopped: true, deletedEffects: 1, deletedKeys: 0 } },
    ]);
    expect(await kit.sql('select from tock.job_keys')).toHaveLength(3);
  });

  it('of a job leaves no row', { tags: 'check' }, async () => {
    await oldKeys(3);
    await kit.tock.enqueue('nightly');
    await kit.tock.tick();
    expect(await kit.sql('select from tock.job_keys')).toEqual([]);
    expect(await prunes()).toEqual([]);
  });
});
