// Fair keys that jobs state: they are registered, changed and removed with the code.
import { beforeEach, describe, expect, it } from 'vitest';
import { defineJob, typeOnly } from '../../src/index.js';
import { openTestTock as openKit } from '../../src/testing.js';
import { storeTest } from '../support/open.js';
import { openTestTock } from '../support/test-tock.js';

const started: string[] = [];
const payload = typeOnly<{ tenant?: string; customer?: { id: number } }>();
const run = (_ctx: unknown, { tenant }: { tenant?: string | undefined }) => {
  started.push(String(tenant));
};
const plain = defineJob({ name: 'send', queue: 'mail', payload, run });
const fair = defineJob({
  name: 'send',
  aliases: ['post'],
  queue: 'mail',
  payload,
  fair: { key: ({ tenant }) => tenant, limit: 3 },
  rate: { limit: 2, per: '1s' },
  run,
});
const { test } = storeTest('2026-03-02T09:00:00Z', () => openTestTock([plain]));
beforeEach(async () => {
  await test.sql('delete from tock.registrations');
  started.length = 0;
});
const scopes = () =>
  test.sql(
    'select queue, job, path::text, slot_limit, rate_count, rate_period_ms::integer, rate_burst from tock.fair_scopes order by job',
  );

describe('a job with a fair key', () => {
  it('is registered with the code, also under its aliases, and no longer when the code has it no more', async () => {
    const of = (job: string) => ({
      queue: '',
      job,
      path: '$."tenant"',
      slot_limit: 3,
      rate_count: 2,
      rate_period_ms: 1000,
      rate_burst: 2,
    });
    await test.tock.tick();
    expect(await scopes()).toEqual([]);
    const another = test.another({ jobs: [fair] });
    await another.tick();
    expect(await scopes()).toEqual([of('post'), of('send')]);
    await another.enqueueMany(['a', 'a', 'a', 'a', 'b'].map(tenant => ({ job: fair, payload: { tenant } })));
    await another.tick();
    expect(started.sort()).toEqual(['a', 'a', 'b']);
    // The code is rolled back: what waits still starts, and nothing limits it.
    await test.advance('10m');
    const withoutIt = test.another({ jobs: [plain, defineJob({ name: 'other', run })] });
    await withoutIt.tick();
    expect(await scopes()).toEqual([]);
    expect(started).toHaveLength(5);
    await withoutIt.enqueue(plain, { tenant: 'c' });
    await withoutIt.tick();
    expect(await test.sql(`select slot_keys from tock.job_runs where payload ->> 'tenant' = 'c'`)).toEqual([
      { slot_keys: null },
    ]);
    await withoutIt.close();
    await another.close();
  });

  it('comes before the key of its queue', { tags: 'check' }, async () => {
    await test.sql(`insert into tock.fair_scopes (queue, path) values ('mail', '$.customer.id')`);
    const another = test.another({ jobs: [fair, defineJob({ name: 'note', queue: 'mail', payload, run })] });
    await another.tick();
    await another.enqueue('send', { tenant: 'a', customer: { id: 7 } });
    await another.enqueue('note', { tenant: 'a', customer: { id: 7 } });
    expect(await test.sql('select job, slot_keys, blocked_on from tock.job_runs order by id')).toEqual([
      { job: 'send', slot_keys: ['~mail/send/a'], blocked_on: '~mail/send/a' },
      { job: 'note', slot_keys: ['~mail//7'], blocked_on: '~mail//7' },
    ]);
    await another.tick();
    expect(started).toHaveLength(2);
    await another.close();
  });

  it('is refused with the form to write', () => {
    expect(() => defineJob({ name: 'x', payload, fair: { key: p => `${p.tenant}` }, run })).toThrow(
      'job "x": fair.key is a function that the database cannot evaluate: let it pick one member, ({ tenant }) => tenant or p => p.customer.id, or write the path, \'$.customer.id\'',
    );
  });
});

it('runs in the kit for tests', { tags: 'check' }, async () => {
  const kit = await openKit({ jobs: [fair], now: '2026-03-02T09:00:00Z' });
  // The first tick registers the job.
  await kit.drain();
  for (const tenant of ['a', 'a', 'a', 'b']) await kit.tock.enqueue(fair, { tenant });
  await kit.drain();
  expect(started.sort()).toEqual(['a', 'a', 'b']);
  await kit.clock.advance('1s');
  await kit.drain();
  expect(started).toHaveLength(4);
  await kit.close();
});
