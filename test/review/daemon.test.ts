// Review: daemons in virtual time, with fair keys, rates of queues and limits that were lowered.
import { afterEach, beforeEach, expect, it } from 'vitest';
import { type Daemon, type DaemonOptions, startDaemon } from '../../src/daemon/daemon.js';
import { defineJob } from '../../src/index.js';
import { admitRuns } from '../../src/store/runs/claim/admit.js';
import { openForEach } from '../support/open.js';
import { reuseTestTock } from '../support/test-tock.js';
import { openVirtualProcess } from '../support/virtual-process.js';

const START = '2026-03-02T12:00:00Z';
const BEAT = { expression: '0 0 29 2 *' };
let begun: number[];
const run = () => void begun.push(virtual.clock.now());
const send = defineJob({ name: 'send', queue: 'mail', run });
const narrow = defineJob({ name: 'narrow', concurrency: { limit: 2 }, run });
const serial = defineJob({ name: 'serial', queue: 'mail', concurrency: { limit: 1 }, run });
const JOBS = [send, narrow, serial];
const test = openForEach(() => reuseTestTock(JOBS));
const virtual = openForEach(() => openVirtualProcess(test, START, JOBS));
let daemon: Daemon;
const start = async (options: DaemonOptions = {}) => {
  daemon = await startDaemon(virtual.engine, options, undefined, BEAT);
  await virtual.clock.advance(0);
};
beforeEach(() => {
  begun = [];
});
afterEach(async () => {
  virtual.roundTripMs = 0;
  const stopped = daemon.stop();
  await virtual.clock.advance(60_000);
  await stopped;
});

it.each([
  [0, false],
  [0, true],
  [3000, false],
  [6000, false],
  [60_000, false],
])('a queue starts the next run when its rate allows it, %i ms after the daemon began, fair: %j', async (idleMs, isFair) => {
  if (isFair) await test.sql(`insert into tock.fair_scopes (queue, path) values ('mail', '$.tenant')`);
  await test.tock.queues.set('mail', { rate: { count: 2, per: '1s' } });
  await start();
  virtual.roundTripMs = 1;
  await virtual.clock.advance(idleMs);
  const from = virtual.clock.now();
  await test.tock.enqueueMany(
    Array.from({ length: 3 }, (_, n) => ({ job: send, payload: { tenant: `t${n}` } })),
  );
  await virtual.clock.advance(10_000);
  expect(begun.map(ms => Math.round((ms - from) / 500))).toEqual([0, 0, 1]);
});

it('does not claim and block a run again and again beside a slot above a lowered limit', async () => {
  const workerId = '00000000-0000-4000-8000-000000000009';
  const id = String(await test.tock.enqueue('narrow', {}));
  await admitRuns(virtual.engine.database, [id], { workerId, leaseMs: 3_600_000 });
  // It was claimed when the limit was 5.
  await test.sql('update tock.job_slots set slot = 5');
  await start();
  virtual.roundTripMs = 1;
  await test.tock.enqueue('narrow', {});
  await virtual.clock.advance(1000);
  const before = virtual.sent.length;
  await virtual.clock.advance(10_000);
  expect([begun.length, virtual.sent.length - before < 100]).toEqual([1, true]);
});

it('starts a run of a free key within five seconds, beside 1000 keys that wait for the slot of their job', async () => {
  const workerId = '00000000-0000-4000-8000-000000000009';
  await test.sql(`insert into tock.fair_scopes (queue, path) values ('mail', '$.tenant')`);
  // Another host executes a run of the job for an hour: without a tenant, it has no fair key.
  const id = String(await test.tock.enqueue('serial', {}));
  await admitRuns(virtual.engine.database, [id], { workerId, leaseMs: 3_600_000 });
  await start({ concurrency: 2 });
  await test.tock.enqueueMany(
    Array.from({ length: 1000 }, (_, n) => ({ job: serial, payload: { tenant: `t${n}` } })),
  );
  await test.tock.enqueue(send, { tenant: 'z' });
  virtual.roundTripMs = 1;
  const from = virtual.clock.now();
  for (let second = 0; begun.length === 0 && second < 120; second++) await virtual.clock.advance(1000);
  expect((begun[0] ?? Infinity) - from).toBeLessThan(6000);
});
