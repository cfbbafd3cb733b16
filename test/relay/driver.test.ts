// What the drivers share: who takes deliveries, in what order and how many; and packages that are missing.
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { MessageRefused } from '../../src/relay/broker.js';
import type { Delivery } from '../../src/relay/driver/delivery.js';
import { gatherAnswers } from '../../src/relay/driver/gather-answers.js';
import { loadPackages } from '../../src/relay/driver/options.js';
import { receiveAnswers } from '../../src/relay/driver/receive-answers.js';
import { receiveMessages } from '../../src/relay/driver/receive-messages.js';
import type { Link } from '../../src/relay/jetstream/link.js';
import { openOutbox } from '../../src/relay/jetstream/outbox.js';
import type { Streams } from '../../src/relay/jetstream/streams.js';
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

  it('gives back what was rejected after a moment, and says then that there is room', {
    tags: 'check',
  }, async () => {
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
  it('gives one batch at a time, of what has come meanwhile, and the same ones again after a rejection', {
    tags: 'check',
  }, async () => {
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

  it('reads a message with several answers, and ends a batch where they are enough', async () => {
    const batches: (readonly unknown[])[] = [];
    const receiver = receiveAnswers(3, async answers => {
      batches.push(answers);
    });
    const tooMany = Array.from({ length: 1001 }, () => 0);
    const all = [[1, 2], [3, 4], 5, [], [[6]], tooMany].map(deliver);
    for (const each of all) receiver.take(each);
    await until(async () => all.every(each => each.state === 'acknowledged'), 'all');
    // An array that is empty, or too long, is for the reader of answers to refuse.
    expect(batches).toEqual([[1, 2, 3, 4], [5, [], [6]], [tooMany]]);
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

describe('gatherAnswers', () => {
  const sent: unknown[] = [];
  /** Ends what is under way, in the order in which it was sent. */
  const ends: ((error: Error | null) => void)[] = [];
  const answer = gatherAnswers(body => {
    sent.push(body);
    return new Promise<Error | null>(end => ends.push(end));
  });
  const answerAll = (from: number, to: number) =>
    Array.from({ length: to - from + 1 }, (_, index) => answer({ n: from + index }));
  beforeEach(() => {
    sent.length = 0;
    ends.length = 0;
  });

  it('sends one alone, and together what is given in one turn or while enough are under way', async () => {
    const all = [];
    for (const n of [1, 2, 3]) {
      all.push(answer({ n }));
      await until(async () => sent.length === n, 'the message');
    }
    all.push(...answerAll(4, 6));
    await until(async () => sent.length === 4, 'the fourth');
    all.push(answer({ n: 7 }));
    await new Promise(setImmediate);
    all.push(answer({ n: 8 }));
    await new Promise(setImmediate);
    expect(sent).toEqual([{ n: 1 }, { n: 2 }, { n: 3 }, [{ n: 4 }, { n: 5 }, { n: 6 }]]);
    ends[1]?.(null);
    await all[1];
    await until(async () => sent.length === 5, 'the rest');
    expect(sent[4]).toEqual([{ n: 7 }, { n: 8 }]);
    for (const end of ends) end(null);
    await Promise.all(all);
  });

  it('sends at most a hundred together, and large ones apart', async () => {
    const all = [...answerAll(1, 101), answer({ n: 102, result: 'x'.repeat(200_000) }), answer({ n: 103 })];
    await until(async () => sent.length === 4, 'the messages');
    expect(sent.map(body => (Array.isArray(body) ? body.length : 1))).toEqual([100, 1, 1, 1]);
    for (const end of ends) end(null);
    await Promise.all(all);
  });

  it('rejects those that were sent together if they are not confirmed', async () => {
    const all = answerAll(1, 2);
    const ended = Promise.allSettled(all);
    await until(async () => sent.length === 1, 'the message');
    ends[0]?.(new Error('away'));
    expect(await ended).toMatchObject([{ reason: { message: 'away' } }, { reason: { message: 'away' } }]);
    expect(sent).toHaveLength(1);
  });

  it('sends them singly if they are too large together', async () => {
    const all = answerAll(1, 2);
    const ended = Promise.allSettled(all);
    await until(async () => sent.length === 1, 'the message');
    const tooLarge = new MessageRefused('too large');
    ends[0]?.(tooLarge);
    await until(async () => sent.length === 3, 'each');
    ends[1]?.(null);
    ends[2]?.(tooLarge);
    expect(await ended).toMatchObject([{ status: 'fulfilled' }, { reason: tooLarge }]);
  });
});

describe('the outbox of JetStream', () => {
  const message = { subject: 'tock.answers', id: null, body: {}, traceparent: null };
  const notYet = Object.assign(new Error('jetstream is not enabled'), { name: 'JetStreamNotEnabled' });
  const sendWith = async (publish: () => Promise<unknown>) => {
    const open = {
      connection: { info: { max_payload: 1000 } },
      client: { publish },
      transport: { headers: () => ({ set: () => undefined }) },
    };
    const link = { open: () => Promise.resolve(open), problem: () => null } as unknown as Link;
    const streams = { ensureStream: () => Promise.resolve(), forget: () => undefined } as unknown as Streams;
    return await openOutbox(link, streams, 10_000).send({ name: 'answers', subjects: [] }, [message]);
  };

  it('waits until all servers know of a stream that was made just now', { tags: 'check' }, async () => {
    let tries = 0;
    expect(await sendWith(() => (++tries < 3 ? Promise.reject(notYet) : Promise.resolve()))).toEqual([null]);
    expect(tries).toBe(3);
  });

  it('says which errors are the fault of the message', async () => {
    const failWith = async (more: object) =>
      await sendWith(() => Promise.reject(Object.assign(new Error('no'), more)));
    const refused = [{ name: 'InvalidArgumentError' }, { name: 'InvalidSubjectError' }, { code: 10_054 }];
    for (const more of refused) expect(await failWith(more)).toEqual([expect.any(MessageRefused)]);
    // No storage left; no answer; no connection.
    const others = [{ code: 10_047 }, { name: 'TimeoutError' }, { name: 'ClosedConnectionError' }];
    for (const more of others) expect(await failWith(more)).not.toEqual([expect.any(MessageRefused)]);
  });

  it('tries nothing else again, and not for ever', { tags: 'check' }, async () => {
    let tries = 0;
    const fail = (error: Error) => () => {
      tries++;
      return Promise.reject(error);
    };
    expect(await sendWith(fail(new Error('away')))).toMatchObject([{ message: 'away' }]);
    expect(tries).toBe(1);
    expect(await sendWith(fail(notYet))).toEqual([notYet]);
    expect(tries).toBe(6);
  });
});

it('loadPackages names the command that installs what is missing', async () => {
  await expect(loadPackages('rabbitmq()', ['no-such-client'])).rejects.toMatchObject({
    code: 'TOCK_BAD_OPTION',
    message: 'rabbitmq() needs the package no-such-client: npm install no-such-client',
  });
});
