// What notifications make a daemon do.
import { beforeEach, describe, expect, it } from 'vitest';
import { createNotificationReceiver } from '../../src/daemon/notification-receiver.js';
import type { Notification } from '../../src/store/connection/notifications.js';
import type { QueueLane } from '../../src/store/runs/claim/claim.js';
import { createVirtualClock, type VirtualClock } from '../support/virtual-clock.js';

const SOON: Notification = { kind: 'soon' };
const QUEUED: Notification = { kind: 'queued', lane: null };

let clock: VirtualClock;
beforeEach(() => {
  clock = createVirtualClock();
});
const pass = (ms: number) => clock.pass(ms);

function receiver(queues: readonly string[] | null = null) {
  const done: string[] = [];
  const asked: (QueueLane | null)[] = [];
  const notifications = createNotificationReceiver({
    clock,
    worker: {
      ask: lane => void asked.push(lane ?? null),
      wake: () => void done.push('wake'),
      wakeNotified: () => void done.push('claim'),
      checkCancel: id => void done.push(`cancel ${id}`),
      expect: what => void done.push(what),
    },
    serves: queue => queues?.includes(queue) ?? true,
    onReap: () => void done.push('reap'),
    onOutbox: () => void done.push('outbox'),
    onFair: () => void done.push('fair'),
  });
  return { ...notifications, done, asked };
}

describe('a notification', () => {
  it('of each kind has its effect', () => {
    const { receive, done } = receiver();
    receive({ kind: 'cancel', runId: '7' });
    receive(SOON);
    receive(QUEUED);
    pass(1000);
    receive({ kind: 'reap' });
    receive({ kind: 'code' });
    pass(1000);
    receive({ kind: 'outbox' });
    expect(done).toEqual(['cancel 7', 'wake', 'claim', 'reap', 'claim', 'waiting', 'outbox', 'claim']);
  });

  it('of a run names the lane in which it is; that there is something to reap, none', () => {
    const { receive, done, asked } = receiver();
    const lane = { queue: 'mails', priority: 0 };
    receive({ kind: 'queued', lane });
    receive(QUEUED);
    receive({ kind: 'reap' });
    pass(1000);
    expect([done, asked]).toEqual([
      ['claim', 'reap', 'claim'],
      [lane, null],
    ]);
  });

  it('of a run in a queue that the worker does not serve has none', () => {
    const { receive, done } = receiver(['mails']);
    receive({ kind: 'queued', lane: { queue: 'reports', priority: 0 } });
    expect(done).toEqual([]);
    receive({ kind: 'queued', lane: { queue: 'mails', priority: 0 } });
    expect(done).toEqual(['claim']);
  });

  it('of runs that are due has its effect at once, however many there are of runs that are due soon', () => {
    const { receive, done } = receiver();
    for (let at = 0; at < 5000; at += 10) {
      receive(SOON);
      pass(10);
    }
    const wakes = done.length;
    expect(wakes).toBeGreaterThan(18);
    expect(wakes).toBeLessThan(30);
    receive(QUEUED);
    expect(done.slice(wakes)).toEqual(['claim']);
  });

  it('tells the worker nothing between two checks, however many come: one that is awake would act on each', () => {
    const { receive, done, asked } = receiver();
    const kinds = ['reap', 'outbox', 'fair'] as const;
    const flood = (n: number) => {
      receive({ kind: 'queued', lane: { queue: `queue-${n}`, priority: n } });
      receive({ kind: kinds[n % 3] ?? 'fair' });
    };
    for (let n = 0; n < 3000; n++) flood(n);
    // The first has its effect at once.
    expect([done, asked]).toEqual([['claim'], [{ queue: 'queue-0', priority: 0 }]]);
    pass(5);
    expect(done.toSorted()).toEqual(['claim', 'claim', 'fair', 'outbox', 'reap']);
    expect(asked).toEqual([{ queue: 'queue-0', priority: 0 }, null]);
    for (let n = 0; n < 3000; n++) flood(n);
    expect(asked).toHaveLength(2);
    pass(1000);
    expect(asked).toHaveLength(3);
  });

  it('that waits for a check has its effect once a claim has found runs', () => {
    const notifications = receiver();
    const { receive, done, asked } = notifications;
    for (let n = 0; n < 100; n++) {
      receive(QUEUED);
      pass(20);
    }
    const before = [done.length, asked.length];
    receive(QUEUED);
    expect([done.length, asked.length]).toEqual(before);
    notifications.found();
    expect([done.length, asked.length]).toEqual(before.map(count => count + 1));
    pass(1000);
    expect(done).toHaveLength((before[0] ?? 0) + 1);
  });

  it('has none once the daemon stops', () => {
    const { receive, close, done } = receiver();
    receive(SOON);
    receive(SOON);
    receive(QUEUED);
    receive(QUEUED);
    close();
    pass(1000);
    expect(done).toEqual(['wake', 'claim']);
  });
});
