// Review: odd members of groups.
import { beforeEach, expect, it } from 'vitest';
import { Dead, defineJob, typeOnly } from '../../src/index.js';
import { openForEach } from '../support/open.js';
import { openTestTock } from '../support/test-tock.js';

let inKeyed: () => Promise<unknown> = async () => undefined;
let executed: number[] = [];
const keyed = defineJob({
  name: 'keyed',
  payload: typeOnly<{ n: number }>(),
  async run(_ctx, { n }) {
    executed.push(n);
    await inKeyed();
  },
});
const dies = defineJob({
  name: 'dies',
  run() {
    throw new Dead('no');
  },
});
const grows = defineJob({
  name: 'grows',
  retry: { maxAttempts: 1 },
  run: async ctx => (await ctx.group.add('more', [{ job: dies }])).length,
});
const total = defineJob({ name: 'total', run: ctx => Object.keys(ctx.parents) });
const test = openForEach(() => openTestTock([keyed, dies, grows, total]));
beforeEach(async () => {
  executed = [];
  inKeyed = async () => undefined;
  await test.setClock('2026-03-01T12:00:00Z');
});
const drain = async () => {
  for (let n = 0; n < 6; n++) {
    await test.tock.tick();
    await test.advance('1m');
  }
};

it('a run of a flow that is cancelled for a parent has a reason on record', async () => {
  const ids = await test.tock.enqueueFlow({
    first: { job: grows },
    second: { job: total, after: ['first'], ifParentFails: 'cancel' },
  });
  await drain();
  const run = await test.tock.runs.get(ids['second'] ?? '');
  // Either nothing was added, or what was added is named.
  if (run?.status === 'cancelled') expect(run.skipReason).toMatch(/^parent /);
  else expect(run).toMatchObject({ status: 'succeeded', output: ['first'] });
});

it('cancelling a group cancels a member that is a successor still', async () => {
  const live = { key: 'k', unique: 'live' } as const;
  inKeyed = async () => {
    inKeyed = async () => undefined;
    const group = await test.tock.enqueueGroup(
      [{ job: keyed, payload: { n: 2 }, ...live, replace: true }],
      { then: { job: total } },
    );
    await test.tock.cancelGroup(group.id);
  };
  await test.tock.enqueue(keyed, { n: 1 }, live);
  await drain();
  expect(executed).toEqual([1]);
});
