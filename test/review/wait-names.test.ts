// Review: odd names and keys of waits, and reasons.
import { expect, it } from 'vitest';
import { defineJob, Snooze } from '../../src/index.js';
import { currentWait } from '../../src/model/run/run-wait.js';
import { openForEach } from '../support/open.js';
import { openTestTock } from '../support/test-tock.js';

const two = defineJob({
  name: 'two',
  retry: { maxAttempts: 1 },
  async run(ctx) {
    const a = await ctx.waitFor<number>('paid', { key: 'k' });
    const b = await ctx.waitFor<number>('paid', { key: 'k ' });
    return [a.payload, b.payload];
  },
});
const snoozes = defineJob({
  name: 'snoozes',
  run() {
    throw new Snooze('2h', { reason: 'the export is not ready' });
  },
});
const fails = { isBroken: true };
const member = defineJob({
  name: 'member',
  retry: { maxAttempts: 1 },
  run() {
    if (fails.isBroken) throw new Error('no');
    return 1;
  },
});
const total = defineJob({ name: 'total', run: () => 1 });
const own = defineJob({
  name: 'own',
  retry: { maxAttempts: 1 },
  run: async ctx => void (await ctx.waitForRuns([`0${ctx.runId}`])),
});
const test = openForEach(() => openTestTock([two, snoozes, member, total, own]));

it('keys that end in a blank are keys of their own', async () => {
  await test.tock.emit('paid', { key: 'k', payload: 1 });
  await test.tock.emit('paid', { key: 'k ', payload: 2 });
  const id = await test.tock.enqueue(two);
  await test.sql(`update tock.job_events set created_at = tock.now() + interval '1 hour'`);
  await test.tock.tick();
  const run = await test.tock.runs.get(id);
  expect(run?.errors.map(({ message }) => message)).toEqual([]);
  expect(run).toMatchObject({ status: 'succeeded', output: [1, 2] });
});

it('a run that snoozed, was cancelled and is retried is due, and does not wait', async () => {
  await test.setClock('2026-03-01T12:00:00Z');
  const id = await test.tock.enqueue(snoozes);
  await test.tock.tick();
  await test.tock.runs.cancel(id);
  await test.tock.runs.retry(id);
  const run = await test.tock.runs.get(id);
  const now = new Date('2026-03-01T12:00:00Z');
  expect(run).toMatchObject({ status: 'queued', runAt: now });
  // What tock show and tock why say of it.
  expect(run && currentWait(run, now)).toBeUndefined();
});

it('a group says what became of a member that was retried after its join ran', async () => {
  await test.setClock('2026-03-01T12:00:00Z');
  fails.isBroken = true;
  const group = await test.tock.enqueueGroup([{ job: member }], { then: { job: total }, on: 'completion' });
  await test.tock.tick();
  await test.tock.tick();
  fails.isBroken = false;
  expect(await test.tock.retryGroup(group.id)).toMatchObject({ done: 1 });
  await test.tock.tick();
  expect(await test.tock.runs.get(group.runs[0] ?? '')).toMatchObject({ status: 'succeeded' });
  expect(await test.tock.group(group.id)).toMatchObject({ states: { dead: 0, succeeded: 1 } });
});

it('a wait for the run itself is refused, however its id is written', async () => {
  const id = await test.tock.enqueue(own);
  await test.tock.tick();
  expect(await test.tock.runs.get(id)).toMatchObject({ status: 'dead', errors: [{ code: 'TOCK_BAD_STATE' }] });
});
