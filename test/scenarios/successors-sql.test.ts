// SQL: tock.enqueue with keys that are unique while their run is live, and the errors that say what does not go together.
import { beforeEach, describe, expect, it } from 'vitest';
import { defineJob } from '../../src/index.js';
import { openForEach } from '../support/open.js';
import { otherSessions } from '../support/runs.js';
import { reuseTestTock } from '../support/test-tock.js';

const test = openForEach(() => reuseTestTock([sync]));
const { begin, blocked } = otherSessions(test);
const seen: unknown[] = [];
let meanwhile: () => Promise<unknown>;
const sync = defineJob({
  name: 'sync',
  retry: { maxAttempts: 6 },
  queue: 'syncs',
  concurrency: { limit: 1 },
  run: async (_ctx, payload: unknown) => {
    seen.push(payload);
    const once = meanwhile;
    meanwhile = () => Promise.resolve();
    await once();
  },
});
beforeEach(async () => {
  seen.length = 0;
  meanwhile = () => Promise.resolve();
  await test.setClock('2026-03-01T12:00:00Z');
  await test.tock.register();
});
const enqueue = async (payload: unknown, more: string) => {
  const [row] = await test.sql<{ id: string }>(`select tock.enqueue('sync', $1, ${more}) as id`, [
    JSON.stringify(payload),
  ]);
  return row?.id ?? '';
};

describe('tock.enqueue', () => {
  it('with unique_live gives the live run of the key, and makes one when that has ended', async () => {
    const id = await enqueue(1, `'k', unique_live => true`);
    expect(await enqueue(2, `'k', unique_live => true`)).toBe(id);
    expect(await test.tock.enqueue(sync, 3, { key: 'k', unique: 'live' })).toBe(id);
    expect(await test.tock.runs.get(id)).toMatchObject({ payload: 1, queue: 'syncs', maxAttempts: 6 });
    await test.tock.tick();
    expect(await enqueue(4, `'k', unique_live => true`)).not.toBe(id);
    // A key that is used up for good is another one.
    expect(await enqueue(5, `'k'`)).not.toBe(await enqueue(6, `'k', unique_live => true`));
  });

  it('with debounce starts so long after the last call, at the latest ten times as long after the first', async () => {
    const id = await enqueue(0, `'k', debounce => '10 s'`);
    const due = async () => (await test.tock.runs.get(id))?.runAt.toISOString().slice(11, 19);
    expect(await due()).toBe('12:00:10');
    for (let call = 1; call <= 11; call++) {
      await test.advance('9s');
      expect(await enqueue(call, `'k', debounce => '10 s'`)).toBe(id);
    }
    expect(await due()).toBe('12:01:40');
    await test.advance('1s');
    await test.tock.tick();
    expect(seen).toEqual([11]);
  });

  it('whose run is claimed meanwhile does not hold it while it waits for another caller', {
    tags: 'check',
  }, async () => {
    meanwhile = () => Promise.reject(new Error('once more'));
    const id = await test.tock.enqueue(sync, 1, { key: 'k', unique: 'live' });
    await test.tock.tick();
    expect(await test.tock.runs.get(id)).toMatchObject({ status: 'failed' });
    // As the function has it, in which the schema's name is put.
    const caller = await begin(`select pg_advisory_xact_lock(hashtextextended('"tock".live_key:k', 0))`);
    const worker = await begin(
      `update tock.job_runs_live set status = 'running', fence = fence + 1, attempts = attempts + 1, locked_by = gen_random_uuid(), locked_until = tock.now() + interval '1 min' where id = ${id}`,
    );
    const late = enqueue(2, `'k', unique_live => true, replace => true`);
    await blocked(1, `and wait_event = 'transactionid'`);
    await worker.query('commit');
    await blocked(1, `and wait_event = 'advisory'`);
    // The first caller comes to the run: its lock is free.
    await caller.query('select from tock.job_runs_live where id = $1 for key share nowait', [id]);
    await caller.query('commit');
    const next = await late;
    expect(await test.sql('select run_id as id, payload from tock.job_successors')).toEqual([
      { id: next, payload: 2 },
    ]);
  });

  it.each([
    [`unique_live => true`, /need an idempotency key/],
    [`debounce => '1 s'`, /need an idempotency key/],
    [
      `'k', replace => true`,
      /replace needs unique_live: a key that is used up for good keeps its run as it was/,
    ],
    [`'k', debounce => '1 s', run_at => now()`, /leave run_at out/],
    [`'k', debounce => '-1 s'`, /between 0 and 1000 days/],
    [`'k', debounce => '1001 days'`, /between 0 and 1000 days/],
  ])('refuses %s', { tags: 'check' }, async (options, message) => {
    await expect(enqueue(1, options)).rejects.toThrow(message);
    expect(await test.sql('select from tock.job_runs_live')).toEqual([]);
  });
});
