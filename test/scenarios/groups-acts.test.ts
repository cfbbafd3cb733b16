// What an operator sees of a group, and does to all of it at once.
import { beforeEach, describe, expect, it } from 'vitest';
import { defineJob, typeOnly } from '../../src/index.js';
import { openOnce } from '../support/open.js';
import { openTestTock } from '../support/test-tock.js';

const broken = new Set<number>();
let duringPart: () => Promise<unknown> = async () => undefined;
const part = defineJob({
  name: 'part',
  payload: typeOnly<{ n: number }>(),
  retry: { maxAttempts: 1 },
  async run(_ctx, { n }) {
    await duringPart();
    if (broken.has(n)) throw new TypeError(`part ${n} is broken`);
    return n;
  },
});
const total = defineJob({
  name: 'total',
  async run(ctx) {
    const all = [];
    for await (const { status } of ctx.group.results()) all.push(status);
    return all;
  },
});
const test = openOnce(() => openTestTock([part, total]));
beforeEach(() => broken.clear());
const enqueue = async (count: number, options = {}) =>
  await test.tock.enqueueGroup(
    Array.from({ length: count }, (_, n) => ({ job: part, payload: { n }, ...options })),
    { then: { job: total } },
  );
const drain = async () => {
  while ((await test.tock.tick()).executed.claimed > 0);
};
const audits = async () =>
  await test.sql(`select action, targets, count, details from tock.audit order by id desc limit 2`);

describe('a group', () => {
  it('is seen by its join or a member: states, what it waits for, the slowest, the errors', async () => {
    broken.add(1).add(3);
    const { id, runs } = await enqueue(5);
    expect(await test.tock.group(id)).toMatchObject({
      id,
      job: 'total',
      key: null,
      status: 'queued',
      on: 'success',
      endedAt: null,
      count: 5,
      states: { queued: 5, running: 0, succeeded: 0, dead: 0, pruned: 0 },
      waitsFor: runs.map(run => ({ id: run, status: 'queued' })),
      slowest: [],
      errors: [],
    });
    await drain();
    const group = await test.tock.group(runs[2] ?? '');
    expect(group).toMatchObject({
      id,
      states: { queued: 0, succeeded: 3, dead: 2 },
      waitsFor: [
        { id: runs[1], status: 'dead' },
        { id: runs[3], status: 'dead' },
      ],
      errors: [{ job: 'part', error: { name: 'TypeError', message: 'part <n> is broken' }, count: 2 }],
    });
    expect(group?.slowest.map(({ id: member }) => member).sort()).toEqual([...runs].sort());
    expect(await test.tock.group('999999')).toBeNull();
    expect(await test.tock.group(await test.tock.enqueue(part, { n: 0 }))).toBeNull();
    expect((await test.tock.runs.list({ group: id, status: 'dead' })).map(run => run.id).sort()).toEqual([
      runs[1],
      runs[3],
    ]);
    await expect(test.tock.runs.list({ group: 'x' })).rejects.toMatchObject({ code: 'TOCK_BAD_OPTION' });
  });

  it('has its dead members retried as one act', { tags: 'check' }, async () => {
    broken.add(1).add(3);
    const { id, runs } = await enqueue(5);
    await drain();
    broken.clear();
    expect(await test.tock.retryGroup(runs[0] ?? '')).toEqual({ done: 2, asked: 0, failed: [] });
    expect((await audits())[0]).toMatchObject({
      action: 'groups.retry',
      targets: [id],
      count: 1,
      details: { runs: 2 },
    });
    await drain();
    expect(await test.tock.runs.get(id)).toMatchObject({
      status: 'succeeded',
      output: Array(5).fill('succeeded'),
    });
    expect(await test.tock.retryGroup(id)).toEqual({ done: 0, asked: 0, failed: [] });
    expect((await audits())[0]).toMatchObject({ details: { runs: 2 } });
    expect(await test.tock.group(id)).toMatchObject({
      status: 'succeeded',
      waitsFor: [],
      endedAt: expect.any(Date),
    });
  });

  it('is cancelled with a member that is a successor still', async () => {
    const live = { key: 'k', unique: 'live', replace: true } as const;
    let id = '';
    duringPart = async () => {
      duringPart = async () => undefined;
      ({ id } = await enqueue(1, live));
      expect(await test.tock.cancelGroup(id)).toMatchObject({ done: 2 });
    };
    await test.tock.enqueue(part, { n: 7 }, live);
    await drain();
    expect(await test.tock.group(id)).toMatchObject({ status: 'cancelled', states: { cancelled: 1 } });
  });

  it('is cancelled as one act, and its join with it', { tags: 'check' }, async () => {
    const { id, runs } = await enqueue(1200, { delay: '1d' });
    expect(await test.tock.cancelGroup(runs[7] ?? '', { reason: 'wrong month' })).toEqual({
      done: 1201,
      asked: 0,
      failed: [],
    });
    expect((await audits()).slice(0, 1)).toMatchObject([
      { action: 'groups.cancel', targets: [id], count: 1, details: { runs: 1201, reason: 'wrong month' } },
    ]);
    await drain();
    expect(await test.tock.runs.get(id)).toMatchObject({ status: 'cancelled', skipReason: 'wrong month' });
    expect(await test.tock.group(id)).toMatchObject({ status: 'cancelled', states: { cancelled: 1200 } });
    expect(await test.tock.cancelGroup(id)).toEqual({ done: 0, asked: 0, failed: [] });
    await expect(test.tock.cancelGroup('999999')).rejects.toMatchObject({ code: 'TOCK_NOT_FOUND' });
    const alone = await test.tock.enqueue(part, { n: 1 });
    await expect(test.tock.retryGroup(alone)).rejects.toMatchObject({ code: 'TOCK_NOT_FOUND' });
  });
});
