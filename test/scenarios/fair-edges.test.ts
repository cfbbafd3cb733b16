// Fair keys at the edges: odd names, clocks and rates that are changed, ticks alone.
import { beforeEach, describe, expect, it } from 'vitest';
import { defineJob } from '../../src/index.js';
import { fairKeysFromOutbox } from '../../src/store/runs/fair/arrive.js';
import { claimFair } from '../../src/store/runs/fair/claim-fair.js';
import { storeTest } from '../support/open.js';
import { whileLocked } from '../support/runs.js';
import { openTestTock } from '../support/test-tock.js';

const started: string[] = [];
const send = defineJob({
  name: 'send',
  queue: 'mail',
  async run(ctx, payload) {
    const { tenant, more } = payload as { tenant: unknown; more?: number };
    started.push(JSON.stringify(tenant));
    if (more) await ctx.enqueueMany([{ job: 'send', payload: { tenant, more: more - 1 } }]);
  },
});
const { test, database } = storeTest('2026-03-02T09:00:00Z', () => openTestTock([send]));
beforeEach(async () => {
  await test.sql(`insert into tock.fair_scopes (queue, path) values ('mail', '$.tenant')`);
  started.length = 0;
});
const enqueue = (tenants: readonly unknown[]) =>
  test.tock.enqueueMany(tenants.map(tenant => ({ job: send, payload: { tenant } })));

describe('the name of a key', () => {
  it('may be anything that JSON has; numbers and texts of the same form are one key', async () => {
    const long = 'x'.repeat(10_000);
    const odd = [17, '17', 'a/b', '~a//b', '/', '~', "'", '\\', '%', '💶', 'ä'.repeat(400), long, `${long}y`];
    await enqueue([...odd, true, { id: 1 }, ['a'], '', null, ' ']);
    const keys = await test.sql<{ keys: number; without: number }>(
      'select count(distinct slot_keys[1])::integer as keys, count(*) filter (where slot_keys is null)::integer as without from tock.job_runs',
    );
    // One key of 17 and '17', and one of the long texts, which begin alike; null and '' are no key.
    expect(keys).toEqual([{ keys: 15, without: 2 }]);
    await test.tock.tick();
    expect(started).toHaveLength(19);
  });

  it('is found by its own name, whatever it has in it', { tags: 'check' }, async () => {
    await test.sql(`update tock.fair_scopes set slot_limit = 5`);
    for (const key of ['a/b', '~a//b', '/', '💶']) {
      await test.tock.keys.set(key, { rate: { limit: 1, per: '1h' } });
      await enqueue([key, key]);
      await test.tock.tick();
      expect((await test.tock.keys.get(key)).states).toMatchObject([{ queue: 'mail', waiting: 1 }]);
    }
    expect(started).toHaveLength(4);
  });
});

describe('what waits for its rate', () => {
  const waits = async (rate: string) => {
    await test.sql(`update tock.fair_scopes set ${rate}`);
    await enqueue(['a', 'a', 'a']);
    await test.tock.tick();
  };

  it('does not wait for the clock to come back where it was set back', { tags: 'check' }, async () => {
    await waits('rate_count = 1, rate_period_ms = 1000, rate_burst = 1');
    await test.setClock('2026-03-02T05:00:00Z');
    await test.sql(`update tock.job_runs_live set run_at = '2026-03-02T04:00:00Z'`);
    await test.tock.tick();
    expect(started).toHaveLength(2);
  });

  it('does not wait for a rate that is another now', { tags: 'check' }, async () => {
    await waits('rate_count = 1, rate_period_ms = 86400000, rate_burst = 1');
    expect(started).toHaveLength(1);
    await test.sql(`update tock.fair_scopes set rate_count = 1000, rate_period_ms = 1000, rate_burst = 1000`);
    await test.tock.tick();
    expect(started).toHaveLength(3);
  });
});

it('are served within a tick also where its own runs have enqueued more', { tags: 'check' }, async () => {
  await test.tock.enqueue(send, { tenant: 'a', more: 5 });
  await test.tock.tick();
  expect(started).toHaveLength(6);
});

it('replaced under a live key, a run takes the turn of its new key', { tags: 'check' }, async () => {
  await test.sql(`insert into tock.job_queues (name, concurrency) values ('mail', 1)`);
  await test.tock.enqueue(send, { tenant: 'a' }, { key: 'x', unique: 'live', replace: true });
  await test.sql(`update tock.job_runs_live set unblocked_on = '~mail//a'`);
  await test.tock.enqueue(send, { tenant: 'b' }, { key: 'x', unique: 'live', replace: true });
  expect(await test.sql('select slot_keys, blocked_on, unblocked_on from tock.job_runs_live')).toEqual([
    { slot_keys: ['~mail//b'], blocked_on: '~mail//b', unblocked_on: null },
  ]);
  await test.tock.tick();
  expect(started).toEqual(['"b"']);
});

it('locked by another transaction, runs are no reason to claim at once again', async () => {
  await enqueue(['a', 'b']);
  await fairKeysFromOutbox(database, 20);
  const workerId = '00000000-0000-4000-8000-000000000009';
  const claim = () => claimFair(database, { limit: 10, workerId, leaseMs: 60_000, queues: null });
  const ids = (await test.tock.runs.list()).map(({ id }) => id);
  // Regression: a worker claimed without a pause for as long as they were locked.
  await whileLocked(test, ids, async () => expect(await claim()).toMatchObject({ runs: [], hasMore: false }));
  await test.advance('1s');
  expect((await claim()).runs).toHaveLength(2);
});
