// What each driver of a broker must do, tried against real servers.
// In: a driver and its servers. Out: the same sentences for each of them.
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { Duration } from '../../src/model/duration.js';
import { type Broker, MessageRefused, type RelayMessage } from '../../src/relay.js';
import { gate } from '../support/gate.js';
import type { BrokerServers } from '../support/killable-process.js';
import { until } from '../support/until.js';
import { messageFor } from './fake-broker.js';

export interface Contestant {
  readonly name: string;
  readonly start: () => Promise<BrokerServers>;
  readonly open: (servers: BrokerServers, prefix: string, publishTimeout: Duration) => Broker;
  /** Deletes what holds the messages of a queue, behind the driver's back. */
  readonly deleteQueue: (servers: BrokerServers, prefix: string, queue: string) => Promise<void>;
  readonly isMissing: () => boolean;
  /** Whether a second message under an id is never delivered. */
  readonly dropsDuplicates: boolean;
}

export const messageOf = (run: number, more: Partial<RelayMessage> = {}): RelayMessage =>
  messageFor('mail', {
    run: String(run),
    fence: 1,
    queue: 'mail.out:eu@1_-',
    payload: { to: 'ada' },
    ...more,
  });

const range = (count: number, from = 1) => Array.from({ length: count }, (_, index) => from + index);
const runOf = (body: unknown) => Number((body as { run: string }).run);

export function describeContract(contestant: Contestant): void {
  describe.skipIf(contestant.isMissing())(`the driver for ${contestant.name}`, () => {
    const queue = messageOf(1).queue;
    let servers: BrokerServers;
    let serial = 0;
    let prefix = '';
    const opened: Broker[] = [];
    /** @param publishTimeout default: long enough for what is confirmed, on a busy machine too */
    const open = (publishTimeout: Duration = '1m') => {
      const broker = contestant.open(servers, prefix, publishTimeout);
      opened.push(broker);
      return broker;
    };
    beforeAll(async () => {
      servers = await contestant.start();
    });
    afterEach(async () => {
      await Promise.all(opened.splice(0).map(broker => broker.close()));
    });
    afterAll(async () => await servers?.remove());
    /**
     * The prefix of queues that the servers have had through a restart: RabbitMQ 3.10 loses a quorum queue, with
     * all that is in it, if it is killed in the seconds after the queue was made.
     */
    const settled = async () => {
      const broker = fresh();
      await broker.publish([messageOf(0)]);
      await broker.answer({ tock: 1, kind: 'succeeded', run: '0', fence: 1 });
      for (const node of servers.nodes) {
        await node.stop();
        await node.start();
      }
      // Its servers will be away, which a test need not sit through.
      return open('5s');
    };
    /** A prefix that no other test has used. */
    const fresh = () => {
      prefix = `t${++serial}`;
      return open();
    };

    it('confirms what it publishes, and delivers all of it, unchanged', async () => {
      const broker = fresh();
      const messages = range(500).map(run => messageOf(run, { payload: { text: 'Zoë', run } }));
      expect(await broker.publish(messages)).toEqual(messages.map(() => null));
      const received = new Map<number, unknown>();
      const subscription = await open().receiveMessages({ queues: [queue], concurrency: 20 }, async body => {
        received.set(runOf(body), body);
      });
      await until(async () => received.size === messages.length, 'all messages');
      await subscription.stop();
      expect([...received.values()].sort((a, b) => runOf(a) - runOf(b))).toEqual(messages);
    });

    it('works on no more messages at a time than it is allowed to, of all queues together', async () => {
      const broker = fresh();
      await broker.publish(range(60).map(run => messageOf(run, { queue: run % 2 === 0 ? 'a' : 'b.c' })));
      let atWork = 0;
      let most = 0;
      let ended = 0;
      const subscription = await broker.receiveMessages(
        { queues: ['a', 'b.c'], concurrency: 3 },
        async () => {
          most = Math.max(most, ++atWork);
          await until(async () => most === 3, 'three at a time');
          await new Promise(resolve => setImmediate(resolve));
          atWork--;
          ended++;
        },
      );
      await until(async () => ended === 60, 'all messages');
      await subscription.stop();
      expect(most).toBe(3);
    });

    it('refuses a message that no queue takes, and makes the queue again with the next one', async () => {
      const broker = fresh();
      expect(await broker.publish([messageOf(1)])).toEqual([null]);
      await contestant.deleteQueue(servers, prefix, queue);
      const [error] = await broker.publish([messageOf(2)]);
      expect(error).toBeInstanceOf(Error);
      expect(await broker.publish([messageOf(3)])).toEqual([null]);
      const received: number[] = [];
      await broker.receiveMessages({ queues: [queue], concurrency: 1 }, async body => {
        received.push(runOf(body));
      });
      await until(async () => received.includes(3), 'the message');
      expect(received).toEqual([3]);
    });

    it('says which messages it refuses for what they hold, and confirms the others, also those of other batches', async () => {
      const broker = fresh();
      const tooLarge = { payload: 'x'.repeat(2 * 1024 * 1024) };
      const tooDeep = { payload: JSON.parse('['.repeat(5000) + ']'.repeat(5000)) as [] };
      const refused = expect.any(MessageRefused);
      expect(await broker.publish([messageOf(1, tooLarge)])).toEqual([refused]);
      expect(await broker.publish([messageOf(2, tooDeep)])).toEqual([refused]);
      // No header of NATS has two lines, and none of RabbitMQ so many bytes.
      const noHeader = { traceparent: '\n'.repeat(200_000) };
      expect(await broker.publish([messageOf(3, noHeader), messageOf(4)])).toEqual([refused, null]);
      const bad = new Set([5, 11, 12]);
      const [mixed, ...others] = await Promise.all([
        broker.publish(range(16, 5).map(run => messageOf(run, bad.has(run) ? tooLarge : {}))),
        ...range(5, 21).map(async run => await broker.publish([messageOf(run)])),
      ]);
      expect(mixed).toEqual(range(16, 5).map(run => (bad.has(run) ? refused : null)));
      expect(others).toEqual(others.map(() => [null]));
      await expect(broker.answer({ tock: 1, result: tooLarge.payload })).rejects.toThrow(MessageRefused);
      const received = new Set<number>();
      const subscription = await broker.receiveMessages({ queues: [queue], concurrency: 20 }, async body => {
        received.add(runOf(body));
      });
      await until(async () => received.size === 19, 'all that were confirmed');
      await subscription.stop();
      expect([...bad].filter(run => received.has(run))).toEqual([]);
    });

    it('confirms a message whose id was published before', async () => {
      const broker = fresh();
      expect(await broker.publish([messageOf(1)])).toEqual([null]);
      expect(await broker.publish([messageOf(1), messageOf(2)])).toEqual([null, null]);
      const received: number[] = [];
      await broker.receiveMessages({ queues: [queue], concurrency: 1 }, async body => {
        received.push(runOf(body));
      });
      await until(async () => received.includes(2), 'both');
      expect(received).toEqual(contestant.dropsDuplicates ? [1, 2] : [1, 1, 2]);
    });

    it('delivers a message again that its handler has rejected', async () => {
      const broker = fresh();
      await broker.publish([messageOf(1)]);
      let calls = 0;
      const subscription = await broker.receiveMessages({ queues: [queue], concurrency: 1 }, async () => {
        if (++calls < 3) throw new Error('not yet');
      });
      await until(async () => calls === 3, 'the third delivery');
      await subscription.stop();
      expect(calls).toBe(3);
    });

    it('gives a batch of answers again that was rejected, and none twice that was not', async () => {
      const broker = fresh();
      await Promise.all(
        range(250).map(run => broker.answer({ tock: 1, kind: 'succeeded', run: String(run), fence: 1 })),
      );
      const sizes: number[] = [];
      const taken: number[] = [];
      const subscription = await open().receiveAnswers({ maxBatch: 100 }, async bodies => {
        sizes.push(bodies.length);
        if (sizes.length === 1) throw new Error('not yet');
        taken.push(...bodies.map(runOf));
      });
      await until(async () => taken.length >= 250, 'all answers');
      await subscription.stop();
      expect(Math.max(...sizes)).toBeLessThanOrEqual(100);
      expect(taken.sort((a, b) => a - b)).toEqual(range(250));
    });

    it('stops when what it works on has ended, and the rest goes to others', async () => {
      const broker = fresh();
      await broker.publish(range(20).map(run => messageOf(run)));
      const begun: number[] = [];
      const { opened: held, open: release } = gate();
      const first = await broker.receiveMessages({ queues: [queue], concurrency: 5 }, async body => {
        begun.push(runOf(body));
        await held;
      });
      await until(async () => begun.length === 5, 'five at work');
      let isStopped = false;
      const stopping = first.stop().then(() => {
        isStopped = true;
      });
      const others: number[] = [];
      await open().receiveMessages({ queues: [queue], concurrency: 5 }, async body => {
        others.push(runOf(body));
      });
      await until(async () => others.length === 15, 'the others');
      expect(isStopped).toBe(false);
      release();
      await stopping;
      expect(begun).toHaveLength(5);
      expect([...begun, ...others].sort((a, b) => a - b)).toEqual(range(20));
    });

    it('says of each message that it is not confirmed while the broker is away, and goes on when it is back', async () => {
      const broker = await settled();
      const received = new Set<number>();
      const answers = new Set<number>();
      await open().receiveMessages({ queues: [queue], concurrency: 5 }, async body => {
        await broker.answer({ tock: 1, kind: 'succeeded', run: String(runOf(body)), fence: 1 });
        received.add(runOf(body));
      });
      await open().receiveAnswers({ maxBatch: 10 }, async bodies => {
        for (const body of bodies) answers.add(runOf(body));
      });
      await until(async () => (await broker.publish([messageOf(1)]))[0] === null, 'the first confirmation');
      await until(async () => answers.has(1), 'the first answer');
      await Promise.all(servers.nodes.map(node => node.kill()));
      const away = await broker.publish([messageOf(2), messageOf(3)]);
      expect(away).toEqual([expect.any(Error), expect.any(Error)]);
      await expect(broker.answer({ tock: 1, kind: 'succeeded', run: '4', fence: 1 })).rejects.toThrow(/./);
      await Promise.all(servers.nodes.map(node => node.start()));
      await until(async () => (await broker.publish([messageOf(5)]))[0] === null, 'a confirmation', 90_000);
      await until(async () => answers.has(5), 'the answer', 90_000);
      expect(received.has(5)).toBe(true);
    });

    it('kill -9 of the broker loses nothing that was confirmed', async () => {
      const broker = await settled();
      const confirmed = new Set<number>();
      let run = 0;
      let mustEnd = false;
      const publishing = (async () => {
        while (!mustEnd) {
          const messages = range(50, run + 1).map(each => messageOf(each));
          run += 50;
          const results = await broker.publish(messages);
          for (const [index, error] of results.entries())
            if (error === null) confirmed.add(Number(messages[index]?.run));
        }
      })();
      await until(async () => confirmed.size >= 500, 'some confirmations');
      await Promise.all(servers.nodes.map(node => node.kill()));
      mustEnd = true;
      await publishing;
      await Promise.all(servers.nodes.map(node => node.start()));
      const received = new Set<number>();
      await open().receiveMessages({ queues: [queue], concurrency: 50 }, async body => {
        received.add(runOf(body));
      });
      await until(async () => [...confirmed].every(each => received.has(each)), 'all confirmed ones', 90_000);
      expect(received.size).toBeGreaterThanOrEqual(confirmed.size);
    });
  });
}
