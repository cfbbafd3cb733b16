// Rates count starts: a run that is given back before its handler was called costs none, of its key or of its queue.
import { beforeEach, describe, expect, it } from 'vitest';
import { defineJob, typeOnly } from '../../src/index.js';
import { storeTest } from '../support/open.js';
import { openTestTock } from '../support/test-tock.js';

let started = 0;
const HOURLY = { limit: 1, per: '1h', burst: 1, key: '$.tenant' } as const;
const job = {
  name: 'paced',
  payload: typeOnly<{ tenant: string }>(),
  run: () => {
    started++;
  },
};
const other = defineJob({ name: 'other', run: () => undefined });
const { test } = storeTest('2026-03-02T09:00:00Z', () => openTestTock([other]));
beforeEach(async () => {
  await test.sql('delete from tock.registrations');
  await test.tock.tick();
  started = 0;
});

describe.each([
  ['key', { rate: HOURLY }],
  ['queue', {}],
])('the rate of a %s counts no start', (of, more) => {
  beforeEach(async () => {
    if (of === 'queue') await test.tock.queues.set('default', { rate: { count: 1, per: '1h' } });
  });

  it.each([
    ['by code that learns only then which slot the run needs', false],
    ['by older code, which does not have the job', true],
  ])('%s', async (_, isOlderFirst) => {
    const tock = test.another({ jobs: [other, defineJob({ ...job, ...more, concurrency: { limit: 5 } })] });
    await tock.tick();
    await test.sql(`select tock.enqueue('paced', '{"tenant": "a"}') from generate_series(1, 2)`);
    for (let minute = 0; minute < 3; minute++) {
      if (isOlderFirst) await test.tock.tick();
      await tock.tick();
      await test.advance('1m');
    }
    // The first of the two, and the other in an hour.
    expect(started).toBe(1);
    await test.advance('1h');
    await tock.tick();
    expect(started).toBe(2);
    await tock.close();
  });
});
