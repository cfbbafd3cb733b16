// The driver for RabbitMQ, against Debian's server; and its options.
import { Connection } from 'rabbitmq-client';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { MessageRefused, rabbitmq } from '../../src/relay.js';
import type { BrokerServers } from '../support/killable-process.js';
import { hasNoRabbitmq, startRabbitmq } from '../support/rabbitmq-server.js';
import { until } from '../support/until.js';
import { describeContract, messageOf } from './broker-contract.js';

const within = async <T>(url: string, work: (connection: Connection) => Promise<T>): Promise<T> => {
  const connection = new Connection(url);
  try {
    return await work(connection);
  } finally {
    await connection.close();
  }
};

describeContract({
  name: 'RabbitMQ',
  start: async () => await startRabbitmq(),
  open: ({ urls }, prefix, publishTimeout) => rabbitmq({ url: urls, prefix, logger: false, publishTimeout }),
  deleteQueue: async ({ urls }, prefix, queue) => {
    await within(urls[0] ?? '', connection => connection.queueDelete(`${prefix}.work.${queue}`));
  },
  isMissing: hasNoRabbitmq,
  dropsDuplicates: false,
});

describe.skipIf(hasNoRabbitmq())('messages in RabbitMQ', () => {
  let servers: BrokerServers;
  beforeAll(async () => {
    servers = await startRabbitmq();
  });
  afterAll(async () => await servers?.remove());

  it('are JSON, persistent, in quorum queues, with id and trace, and expire with their lease', async () => {
    const url = servers.urls[0] ?? '';
    const broker = rabbitmq({ url, logger: false });
    const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';
    expect(await broker.publish([messageOf(7, { queue: 'mail', traceparent })])).toEqual([null]);
    await within(url, async connection => {
      const message = await connection.basicGet('tock.work.mail');
      expect(message).toMatchObject({
        messageId: '7.1',
        contentType: 'application/json',
        durable: true,
        headers: { traceparent },
        body: { run: '7', queue: 'mail' },
      });
      expect(Number(message?.expiration)).toBe(60_000);
      await expect(connection.queueDeclare({ queue: 'tock.work.mail', durable: true })).rejects.toThrow(
        /x-queue-type/,
      );
    });
    await broker.publish([messageOf(8, { queue: 'short', leaseMs: 50 })]);
    await within(url, async connection => {
      const left = async () =>
        (await connection.queueDeclare({ queue: 'tock.work.short', passive: true })).messageCount;
      await until(async () => (await left()) === 0, 'the message to expire');
      expect(await connection.basicGet('tock.work.short')).toBeUndefined();
    });
    await broker.close();
  });

  it('are not at fault if their queue is there with other arguments', async () => {
    const url = servers.urls[0] ?? '';
    await within(url, async connection => {
      await connection.queueDeclare({ queue: 'tock.work.classic', durable: true });
    });
    const broker = rabbitmq({ url, logger: false });
    const [error, other] = await broker.publish([messageOf(1, { queue: 'classic' }), messageOf(2)]);
    expect(error?.message).toMatch(/x-queue-type/);
    expect(error).not.toBeInstanceOf(MessageRefused);
    expect(other).toBeNull();
    await broker.close();
  });
});

describe('rabbitmq()', () => {
  it('refuses options that it does not have, and says what is meant', () => {
    expect(() => rabbitmq({ urls: 'amqp://127.0.0.1' } as never)).toThrow(
      /no option "urls"; did you mean "url"/,
    );
    expect(() => rabbitmq({} as never)).toThrow(/url is missing/);
    expect(() => rabbitmq({ url: [] })).toThrow(/url is missing/);
    expect(() => rabbitmq({ url: 'http://user:secret@host' })).toThrow(/begins with amqp:\/\//);
    expect(() => rabbitmq({ url: 'http://user:secret@host' })).not.toThrow(/secret/);
    expect(() => rabbitmq({ url: 'amqp://host', prefix: 'a.b' })).toThrow(/prefix "a.b"/);
    expect(() => rabbitmq({ url: 'amqp://host', publishTimeout: '1h' })).toThrow(/publishTimeout/);
  });

  it('says after its timeout why a message was not confirmed, and nothing after close', async () => {
    const broker = rabbitmq({ url: 'amqp://127.0.0.1:1', logger: false, publishTimeout: '300ms' });
    const [error] = await broker.publish([messageOf(1)]);
    expect(error?.message).toMatch(/not confirm it within 300ms: .*ECONNREFUSED/);
    await broker.close();
    expect((await broker.publish([messageOf(1)]))[0]?.message).toMatch(/closed/);
  });
});
