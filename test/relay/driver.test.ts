// What the drivers share: who takes deliveries, in what order and how many; and packages that are missing.
import { afterEach, describe, expect, it } from 'vitest';
import type { Delivery } from '../../src/relay/driver/delivery.js';
import { loadPackages } from '../../src/relay/driver/options.js';
import { receiveAnswers } from '../../src/relay/driver/receive-answers.js';
import { receiveMessages } from '../../src/relay/driver/receive-messages.js';
import { until } from '../support/until.js';

interface Watched extends Delivery {
  state: 'held' | 'acknowledged' | 'returned';
  isLost: boolean;
}

const deliver = (body: unknown): Watched => {
  const delivery: Watched = {
    body,
    state: 'held',
    isLost: false,
    ack: () => {
      delivery.state = 'acknowledged';
    },
    giveBack: () => {
      delivery.state = 'returned';
    },
    isGone: () => delivery.isLost,
  };
  return delivery;
};
const states = (deliveries: readonly Watched[]) => deliveries.map(each => each.state);

let release = () => undefined as void;
const hold = () =>
  new Promise<void>(resolve => {
    release = resolve;
  });
afterEach(() => release());

describe('receiveMessages', () => {
  it('works on so many at a time, in the order of arrival, and leaves out those whose connection is lost', async () => {
    const begun: unknown[] = [];
    let held = hold();
    const receiver = receiveMessages(1, async body => {
      begun.push(body);
      await held;
    });
    const all = [1, 2, 3].map(deliver);
    for (const each of all) receiver.take(each);
    expect([begun, receiver.room()]).toEqual([[1], 0]);
    if (all[1]) all[1].isLost = true;
    const first = release;
    held = hold();
    first();
    await until(async () => begun.length === 2, 'the next');
    expect(begun).toEqual([1, 3]);
    release();
    await receiver.stop();
    expect(states(all)).toEqual(['acknowledged', 'held', 'acknowledged']);
  });

  it('gives back what a stop finds waiting, and what comes later', async () => {
    const held = hold();
    const receiver = receiveMessages(1, async () => await held);
    const all = [1, 2, 3].map(deliver);
    receiver.take(all[0] as Watched);
    receiver.take(all[1] as Watched);
    const stopped = receiver.stop();
    receiver.take(all[2] as Watched);
    release();
    await stopped;
    expect(states(all)).toEqual(['acknowledged', 'returned', 'returned']);
  });

  it('gives back what was rejected after a moment, and says then that there is room', async () => {
    let isRoom = false;
    const receiver = receiveMessages(1, () => Promise.reject(new Error('no')));
    receiver.onRoom(() => {
      isRoom = receiver.room() === 1;
    });
    const one = deliver(1);
    receiver.take(one);
    await until(async () => isRoom, 'room');
    expect(one.state).toBe('returned');
  });
});

describe('receiveAnswers', () => {
  it('gives one batch at a time, of what has come meanwhile, and the same ones again after a rejection', async () => {
    const batches: (readonly unknown[])[] = [];
    let mustFail = true;
    const receiver = receiveAnswers(3, async bodies => {
      batches.push(bodies);
      if (mustFail) throw new Error('no');
    });
    const all = [1, 2, 3, 4, 5].map(deliver);
    receiver.take(all[0] as Watched);
    await until(async () => batches.length === 1, 'the first batch');
    for (const each of all.slice(1)) receiver.take(each);
    await until(async () => batches.length === 2, 'the second');
    mustFail = false;
    await until(async () => all.every(each => each.state === 'acknowledged'), 'all');
    expect(batches).toEqual([[1], [1, 2, 3], [1, 2, 3], [4, 5]]);
    await receiver.stop();
  });

  it('gives back at a stop what was not accepted', async () => {
    let calls = 0;
    const receiver = receiveAnswers(3, () => {
      calls++;
      return Promise.reject(new Error('no'));
    });
    const all = [1, 2].map(deliver);
    for (const each of all) receiver.take(each);
    await until(async () => calls > 0, 'a call');
    await receiver.stop();
    expect(states(all)).toEqual(['returned', 'returned']);
  });
});

describe('loadPackages', () => {
  it('names the command that installs what is missing', async () => {
    await expect(loadPackages('rabbitmq()', ['no-such-client'])).rejects.toMatchObject({
      code: 'TOCK_BAD_OPTION',
      message: 'rabbitmq() needs the package no-such-client: npm install no-such-client',
    });
  });
});
