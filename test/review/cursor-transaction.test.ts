// Review: a cursor that is advanced, and at once again within a transaction of the handler, which lasts a while.
import { expect, it } from 'vitest';
import { defineJob, typeOnly } from '../../src/index.js';
import { openForEach } from '../support/open.js';
import { WAITING_FOR_A_LOCK } from '../support/runs.js';
import { openTestTock, until } from '../support/test-tock.js';

const pause = async (ms: number) => await new Promise(resolve => setTimeout(resolve, ms));
/** What a handler does in its transaction. */
let work: () => Promise<unknown> = async () => undefined;
const commits = defineJob({
  name: 'commits',
  retry: { maxAttempts: 1 },
  async run(ctx) {
    const rows = await ctx.cursor('rows', 0);
    await rows.advance(1);
    await ctx.transaction(async () => {
      await rows.advance(2);
      await work();
    });
  },
});
const holds = defineJob({
  name: 'holds',
  retry: { maxAttempts: 1 },
  payload: typeOnly<{ isAdvancedBefore?: boolean }>(),
  async run(ctx, { isAdvancedBefore = true }) {
    const rows = await ctx.cursor('rows', 0);
    if (isAdvancedBefore) await rows.advance(1);
    await ctx.once(`work of ${ctx.runId}`, async () => {
      await rows.advance(2);
      await work();
    });
    return rows.value;
  },
});
/** Another run of the same worker. */
const bystander = defineJob({ name: 'bystander', retry: { maxAttempts: 1 }, run: async () => await work() });
const test = openForEach(() => openTestTock([commits, holds, bystander]));
const ended = async (id: string) => {
  await until(
    async () => ['succeeded', 'dead'].includes((await test.tock.runs.get(id))?.status ?? ''),
    'the end',
    60_000,
  );
  return await test.tock.runs.get(id);
};

it('ctx.transaction commits', async () => {
  work = async () => {
    await until(async () => (await test.sql(WAITING_FOR_A_LOCK)).length > 0, 'a report that waits');
    // Longer than deadlock_timeout: the report has looked for a deadlock in vain.
    await pause(1500);
  };
  const id = await test.tock.enqueue(commits);
  const daemon = await test.another().start();
  const run = await ended(id);
  await daemon.stop();
  expect(run?.errors.map(({ message }) => message)).toEqual([]);
  expect(run).toMatchObject({ status: 'succeeded' });
});

it('the run keeps its lease', async () => {
  work = async () => await pause(8000);
  const id = await test.tock.enqueue(holds);
  const daemon = await test.another({ lease: '4s', heartbeat: '1s' }).start();
  const run = await ended(id);
  await daemon.stop();
  expect(run?.errors.map(({ message }) => message)).toEqual([]);
  expect(run).toMatchObject({ status: 'succeeded', output: 2 });
});

it('control: all that holds where the cursor was not advanced before', async () => {
  work = async () => await pause(9000);
  const ids = await test.tock.enqueueMany([
    { job: holds, payload: { isAdvancedBefore: false } },
    { job: bystander },
  ]);
  const daemon = await test.another({ lease: '4s', heartbeat: '1s' }).start();
  const runs = [await ended(ids[0] ?? ''), await ended(ids[1] ?? '')];
  await daemon.stop();
  expect(runs).toMatchObject([{ status: 'succeeded' }, { status: 'succeeded' }]);
});

it('another run of the worker, which has no cursor, keeps its lease', async () => {
  work = async () => await pause(9000);
  const [, other] = await test.tock.enqueueMany([{ job: holds }, { job: bystander }]);
  const daemon = await test.another({ lease: '4s', heartbeat: '1s' }).start();
  const run = await ended(other ?? '');
  await daemon.stop();
  expect(run?.errors.map(({ message }) => message)).toEqual([]);
  expect(run).toMatchObject({ status: 'succeeded' });
});
