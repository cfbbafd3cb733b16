// Review: what is cancelled, and is waited for, or waits.
import { beforeEach, expect, it } from 'vitest';
import { defineJob, typeOnly } from '../../src/index.js';
import { openForEach } from '../support/open.js';
import { openTestTock } from '../support/test-tock.js';

let inMember: () => Promise<unknown> = async () => undefined;
let executed: string[] = [];
const keyed = defineJob({
  name: 'keyed',
  payload: typeOnly<{ n: number }>(),
  run: async () => {
    await inMember();
    return 1;
  },
});
const waiter = defineJob({
  name: 'waiter',
  payload: typeOnly<{ ids: string[] }>(),
  run: async (ctx, { ids }) => (await ctx.waitForRuns(ids)).map(({ status }) => status),
});
const part = defineJob({
  name: 'part',
  payload: typeOnly<{ name: string }>(),
  run(_ctx, { name }) {
    executed.push(name);
  },
});
const grows = defineJob({
  name: 'grows',
  retry: { maxAttempts: 1 },
  async run(ctx) {
    await inMember();
    await ctx.group.add('more', [{ job: part, payload: { name: 'added' } }]);
  },
});
const total = defineJob({ name: 'total', run: () => 'joined' });
const test = openForEach(() => openTestTock([keyed, waiter, part, grows, total]));
beforeEach(async () => {
  executed = [];
  inMember = async () => undefined;
  await test.setClock('2026-03-01T12:00:00Z');
});
const drain = async () => {
  for (let n = 0; n < 6; n++) {
    await test.tock.tick();
    await test.advance('1m');
  }
};

it('a run that waits for a successor goes on when that is cancelled', async () => {
  let successor = '';
  inMember = async () => {
    // The live run of the key is executing: this makes its successor.
    successor = await test.tock.enqueue(keyed, { n: 2 }, { key: 'k', unique: 'live', replace: true });
    const id = await test.tock.enqueue(waiter, { ids: [successor] });
    const other = test.another();
    await other.tick();
    expect(await other.runs.get(id)).toMatchObject({ status: 'queued', waits: [{ outcome: null }] });
    await other.runs.cancel(successor);
  };
  await test.tock.enqueue(keyed, { n: 1 }, { key: 'k', unique: 'live' });
  await test.tock.tick({ concurrency: 1 });
  inMember = async () => undefined;
  await drain();
  expect(await test.tock.runs.get(successor)).toMatchObject({ status: 'cancelled' });
  const [run] = await test.tock.runs.list({ job: 'waiter' });
  expect(run).toMatchObject({ status: 'succeeded', output: ['cancelled'] });
});

it('cancelling a group cancels also the members of the groups in it', async () => {
  const group = await test.tock.enqueueGroup(
    [{ runs: [{ job: part, payload: { name: 'inner' }, delay: '1h' }], then: { job: total } }],
    { then: { job: total } },
  );
  await test.tock.cancelGroup(group.id);
  await test.advance('2h');
  await drain();
  expect(executed).toEqual([]);
});

it('retrying a group retries also the dead members of the groups in it', async () => {
  let isBroken = true;
  inMember = async () => {
    if (isBroken) throw new Error('no');
  };
  const group = await test.tock.enqueueGroup(
    [{ runs: [{ job: keyed, payload: { n: 1 }, maxAttempts: 1 }], then: { job: total } }],
    { then: { job: total } },
  );
  await drain();
  isBroken = false;
  expect(await test.tock.retryGroup(group.id)).toMatchObject({ done: 1 });
  await drain();
  expect(await test.tock.runs.get(group.id)).toMatchObject({ status: 'succeeded' });
});

it('a member adds nothing to a group whose join was cancelled', async () => {
  const group = await test.tock.enqueueGroup([{ job: grows }], { then: { job: total } });
  inMember = async () => await test.another().cancelGroup(group.id);
  await drain();
  expect(executed).toEqual([]);
});

it('a member adds to its group although another run comes after it in a flow', async () => {
  const group = await test.tock.enqueueGroup([{ job: grows }], { then: { job: total } });
  await test.tock.enqueueFlow({ later: { job: total, after: [group.runs[0] ?? ''] } });
  await drain();
  expect((await test.tock.runs.get(group.runs[0] ?? ''))?.errors.map(({ message }) => message)).toEqual([]);
});

it('a parent in a flow is no member of a group', async () => {
  const ids = await test.tock.enqueueFlow({
    first: { job: grows },
    second: { job: total, after: ['first'] },
  });
  await drain();
  expect(await test.tock.runs.get(ids['first'] ?? '')).toMatchObject({ errors: [{ code: 'TOCK_BAD_STATE' }] });
});
