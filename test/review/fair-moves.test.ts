// Review: fair keys, strict orders and rates while jobs change their queue or name, and beside older code.
import { beforeEach, describe, expect, it } from 'vitest';
import { defineJob, typeOnly } from '../../src/index.js';
import { storeTest } from '../support/open.js';
import { openTestTock } from '../support/test-tock.js';

const started: string[] = [];
let failing = new Set<string>();
const payload = typeOnly<{ account: string; n: number }>();
const run = (_ctx: unknown, { account, n }: { account: string; n: number }) => {
  started.push(`${account}${n}`);
  if (failing.has(`${account}${n}`)) throw new Error('not today');
};
const retry = { maxAttempts: 3, backoff: 'fixed', base: '10m', jitter: 0 } as const;
const strict = { limit: 1, key: (p: { account: string }) => p.account, order: 'strict' } as const;
const apply = defineJob({ name: 'apply', payload, retry, concurrency: strict, run });
const applyElsewhere = defineJob({
  name: 'apply',
  queue: 'ledger',
  payload,
  retry,
  concurrency: strict,
  run,
});
const renamed = defineJob({
  name: 'apply-change',
  aliases: ['apply'],
  payload,
  retry,
  concurrency: strict,
  run,
});
const other = defineJob({ name: 'other', run: () => undefined });
const { test } = storeTest('2026-03-02T09:00:00Z', () => openTestTock([apply, other]));
beforeEach(async () => {
  await test.sql('delete from tock.registrations');
  await test.tock.tick();
  started.length = 0;
  failing = new Set();
});
const drain = async (tock = test.tock) => {
  while ((await tock.tick({ concurrency: 4 })).executed.claimed > 0);
};

describe('a strict order holds', () => {
  it('where a deploy moves the job to another queue', async () => {
    failing.add('a1');
    await test.tock.enqueue(apply, { account: 'a', n: 1 });
    await drain();
    const newer = test.another({ jobs: [applyElsewhere, other] });
    await newer.tick();
    await newer.enqueue(applyElsewhere, { account: 'a', n: 2 });
    await drain(newer);
    // The first has failed, and is tried again in ten minutes.
    expect(started).toEqual(['a1']);
    await newer.close();
  });

  it('where one of two is enqueued to another queue', async () => {
    failing.add('a1');
    await test.tock.enqueue(apply, { account: 'a', n: 1 });
    await test.tock.enqueue(apply, { account: 'a', n: 2 }, { queue: 'urgent' });
    await drain();
    expect(started).toEqual(['a1']);
  });

  it('where a deploy renames the job', async () => {
    failing.add('a1');
    await test.tock.enqueue(apply, { account: 'a', n: 1 });
    await drain();
    const newer = test.another({ jobs: [renamed, other] });
    await newer.tick();
    await newer.enqueue(renamed, { account: 'a', n: 2 });
    await drain(newer);
    expect(started).toEqual(['a1']);
    await newer.close();
  });
});

describe('the limit and the rate of a key of a job hold', () => {
  const limited = defineJob({
    name: 'limited',
    payload,
    fair: { key: '$.account', limit: 1 },
    rate: { limit: 1, per: '1h', burst: 1 },
    run,
  });

  it('over its queues', async () => {
    const tock = test.another({ jobs: [apply, other, limited] });
    await tock.tick();
    await tock.enqueue(limited, { account: 'a', n: 1 });
    await tock.enqueue(limited, { account: 'a', n: 2 }, { queue: 'urgent' });
    await drain(tock);
    await test.advance('1m');
    await drain(tock);
    expect(started).toHaveLength(1);
    await tock.close();
  });
});

describe('a run with a rate is not kept for ever', () => {
  const paced = defineJob({
    name: 'paced',
    payload,
    rate: { limit: 1, per: '1m', burst: 1, key: '$.account' },
    run,
  });

  it('by a host with older code that ticks first each minute', async () => {
    const newer = test.another({ jobs: [apply, other, paced] });
    await newer.tick();
    await newer.enqueue(paced, { account: 'a', n: 1 });
    for (let minute = 0; minute < 30; minute++) {
      await test.tock.tick();
      await newer.tick();
      await test.advance('1m');
    }
    expect(started).toEqual(['a1']);
    await newer.close();
  });
});
