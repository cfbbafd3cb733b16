// Store: what a claim says of a run.
import { describe, expect, it } from 'vitest';
import { admitRuns } from '../../../../src/store/runs/claim/admit.js';
import { claimFreeRun } from '../../../../src/store/runs/claim/claim.js';
import { type ClaimedRow, claimedRun, sortedAs } from '../../../../src/store/runs/claim/claimed-run.js';
import { storeTest } from '../../../support/open.js';
import { addRuns, type RunRow } from '../../../support/runs.js';

const NOW = '2026-03-02T12:00:00.25Z';
const WORKER = '00000000-0000-4000-8000-000000000001';

const { test, database } = storeTest(NOW);

const claim = async (row: RunRow) => {
  const [id = ''] = await addRuns(test, row);
  const { runs } = await claimFreeRun(database, id, { workerId: WORKER, leaseMs: 60_000 });
  return runs[0];
};
const PLAIN = {
  job: 'noop',
  definition: null,
  scheduled_for: null,
  interval_start: null,
  occurrence_count: 1,
  slot_keys: null,
  is_late: false,
  window: null,
  begun: null,
  has_parents: false,
  trace: null,
  defect: null,
  is_large: false,
};

describe('a claimed run', () => {
  it('is its row, and no more where it was enqueued once', async () => {
    expect(
      await claim({ payload: '{"a":[1,"ä"]}', idempotency_key: 'k', max_attempts: 3, trigger: 'manual' }),
    ).toEqual({
      ...PLAIN,
      id: '1',
      fence: 1,
      attempts: 1,
      max_attempts: 3,
      payload: { a: [1, 'ä'] },
      payload_length: '{"a": [1, "ä"]}'.length,
      idempotency_key: 'k',
      trigger: 'manual',
    });
    // Tracing says what it needs in the same column.
    expect(await claim({ traceparent: 'a span', queue: 'slow' })).toMatchObject({
      ...PLAIN,
      trace: { traceparent: 'a span', queue: 'slow' },
    });
    expect(await claim({ payload: null })).toMatchObject({
      payload: null,
      payload_length: 0,
      occurrence_count: 1,
    });
  });

  it('names its definition, with the window that this has', async () => {
    await test.sql(`insert into tock.job_definitions (name, job, active_window, timezone, outside_window) values
      ('nightly', 'noop', '22:00-06:00', 'Europe/Berlin', 'skip'), ('daily', 'noop', null, 'UTC', 'defer')`);
    const planned = {
      scheduled_for: '2026-03-02T11:00:00Z',
      interval_start: '2026-03-02T10:00:00.5Z',
      occurrence_count: 4,
    };
    const times = {
      scheduled_for: Date.parse('2026-03-02T11:00:00Z'),
      interval_start: Date.parse('2026-03-02T10:00:00.5Z'),
      occurrence_count: 4,
    };
    expect(await claim({ definition_id: 1, ...planned })).toMatchObject({
      ...times,
      definition: 'nightly',
      window: { hours: '22:00-06:00', timezone: 'Europe/Berlin', outside: 'skip', now: Date.parse(NOW) },
    });
    expect(await claim({ definition_id: 2, ...planned })).toMatchObject({
      ...times,
      definition: 'daily',
      window: null,
    });
    expect(await claim({ definition_id: 2 })).toMatchObject({ ...PLAIN, definition: 'daily' });
    expect(await claim({ definition_id: 99 })).toMatchObject({ ...PLAIN, window: null });
    expect(await claim({ scheduled_for: planned.scheduled_for })).toMatchObject({
      ...PLAIN,
      scheduled_for: times.scheduled_for,
    });
  });

  it('is late where its start deadline has passed and no attempt has begun', async () => {
    const past = { start_by: '2026-03-02T12:00:00.249Z' };
    expect(await claim(past)).toMatchObject({ is_late: true });
    // It was given back before its handler was called.
    expect(await claim({ ...past, fence: 1, attempts: 0 })).toMatchObject({ is_late: true });
    expect(await claim({ ...past, fence: 1, attempts: 1 })).toMatchObject({ is_late: false });
    // A drain interrupted its first attempt.
    expect(await claim({ ...past, fence: 1, attempts: 0, releases: 1 })).toMatchObject({ is_late: false });
    // An operator has cancelled it, and wants it after all.
    expect(await claim({ ...past, fence: 1, attempts: 0, generation: 2 })).toMatchObject({ is_late: false });
    expect(await claim({ start_by: NOW })).toMatchObject({ is_late: false });
    expect(await claim({ definition_id: 7 })).toMatchObject({ is_late: false });
  });

  it('says under which keys it holds slots', async () => {
    const [id = ''] = await addRuns(test, { slot_keys: ['job:x'], slot_limits: [1] });
    const { admitted } = await admitRuns(database, [id], { workerId: WORKER, leaseMs: 60_000 });
    expect(admitted).toMatchObject([{ ...PLAIN, slot_keys: ['job:x'] }]);
  });

  it('names no keys where its row has none', () => {
    const planned = { ...PLAIN, slot_keys: ['job:x'] };
    const row = { id: '1', payload: null, planned } as unknown as ClaimedRow;
    expect(claimedRun(row)).toMatchObject({ slot_keys: ['job:x'], definition: null, window: null });
    expect(claimedRun({ ...row, planned: null })).toMatchObject(PLAIN_COLUMNS);
  });
});

const { job: _job, ...PLAIN_COLUMNS } = PLAIN;

describe('sortedAs', () => {
  const runs = (...ids: string[]) => ids.map(id => ({ id })) as unknown as Parameters<typeof sortedAs>[0];

  it('puts runs into the order of the ids, and leaves them where they are in it', () => {
    const sorted = runs('3', '1', '2');
    expect(sortedAs(sorted, ['3', '1', '2'])).toBe(sorted);
    expect(sortedAs(runs('1', '2', '3'), ['3', '1', '2']).map(run => run.id)).toEqual(['3', '1', '2']);
    expect(sortedAs(runs('2', '1'), ['1', '2', '3']).map(run => run.id)).toEqual(['1', '2']);
    expect(sortedAs([], [])).toEqual([]);
  });
});
