// Engine: one key, runs in several queues. A free slot reaches every queue that can use it, whatever waits before it.
import { afterEach, beforeEach, expect, it } from 'vitest';
import { type AnyJob, defineJob } from '../../src/index.js';
import { openForEach } from '../support/open.js';
import { reuseTestTock, until } from '../support/test-tock.js';

const test = openForEach(reuseTestTock);
let order: string[];
let release: () => void;
beforeEach(async () => {
  order = [];
  await test.setClock('2026-03-01T12:00:00Z');
});
afterEach(() => {
  release();
});

/** A job with one slot. Its run `holder` fails once it is released: the slot is freed, not passed on. */
function sharedJob(): AnyJob {
  const released = new Promise<void>(resolve => {
    release = resolve;
  });
  return defineJob({
    name: 'shared',
    concurrency: { limit: 1 },
    retry: { maxAttempts: 2, base: '1h', jitter: 0 },
    async run(_ctx, name: unknown) {
      order.push(String(name));
      if (name !== 'holder') return;
      await released;
      throw new Error('by design');
    },
  });
}

const waiting = async (queue: string) => {
  const [row] = await test.sql<{ blocked: number; claimable: number }>(
    `select count(*) filter (where blocked_on is not null)::int as blocked,
      count(*) filter (where blocked_on is null)::int as claimable
    from tock.job_runs_live where queue = $1 and status = 'queued'`,
    [queue],
  );
  return row;
};

/** A run holds the slot in `office`; three of `night` and then one of `office` wait for it. Returns the tick that holds it. */
async function fourWait(queues?: readonly string[]) {
  const job = sharedJob();
  const tock = test.another({ jobs: [job], lease: '1h' });
  await tock.enqueue(job, 'holder', { queue: 'office' });
  const holding = tock.tick(queues === undefined ? {} : { queues });
  await until(async () => order.includes('holder'), 'the holder to begin');
  for (const name of ['n1', 'n2', 'n3']) await tock.enqueue(job, name, { queue: 'night' });
  await tock.enqueue(job, 'd1', { queue: 'office' });
  await test.another({ jobs: [job], lease: '1h' }).tick();
  expect(await waiting('night')).toEqual({ blocked: 3, claimable: 0 });
  expect(await waiting('office')).toEqual({ blocked: 1, claimable: 0 });
  return { tock, job, holding };
}

it.each<[string, () => Promise<unknown>, (() => Promise<unknown>)?]>([
  ['is paused', () => test.tock.queues.pause('night'), () => test.tock.queues.resume('night')],
  [
    'is outside of its hours',
    () => test.tock.queues.set('night', { window: '12:01-13:00', timezone: 'UTC' }),
    () => test.advance('1m'),
  ],
  [
    'has used up its rate',
    async () => {
      await test.tock.queues.set('night', { rate: { count: 60, per: '1m' } });
      await test.sql(`update tock.job_queues set rate_next_at = tock.now() + interval '1 second'`);
    },
    () => test.tock.queues.set('night', { rate: null }),
  ],
  [
    'is full',
    async () => {
      await test.tock.queues.set('night', { concurrency: 1 });
      await test.sql(`insert into tock.job_slots values ('queue:night', 1, 999999, 1)`);
    },
    () => test.sql(`delete from tock.job_slots where run_id = 999999`),
  ],
  ['is served by nobody', async () => undefined],
])(
  'a slot that becomes free reaches the run of an open queue while a queue that waits before it %s',
  async (what, close, reopen = async () => undefined) => {
    const { tock, holding } = await fourWait(what === 'is served by nobody' ? ['office'] : undefined);
    await close();
    release();
    await holding;
    expect(order).toEqual(['holder', 'd1']);
    // What waits in the closed queue begins as soon as that opens, in its order, and nobody looks for it first.
    await reopen();
    expect((await waiting('night'))?.claimable).toBe(1);
    await tock.tick();
    expect(order).toEqual(['holder', 'd1', 'n1', 'n2', 'n3']);
    expect(await test.sql('select from tock.job_slots')).toEqual([]);
  },
);

it('a closed queue has one run for each free slot unblocked, however often slots become free elsewhere', {
  tags: 'check',
}, async () => {
  const { tock, job, holding } = await fourWait();
  await tock.queues.pause('night');
  release();
  await holding;
  for (let turn = 0; turn < 5; turn++) {
    // Nobody passes a slot on where nobody waits in an open queue.
    await tock.enqueueMany([{ job, payload: 'more', queue: 'office' }]);
    await tock.tick();
  }
  expect(order).toHaveLength(7);
  expect(await waiting('night')).toEqual({ blocked: 2, claimable: 1 });
});
