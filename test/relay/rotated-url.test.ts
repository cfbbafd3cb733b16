// The relay's connections to brokers are made with the URL as it is at that moment.
import { EventEmitter } from 'node:events';
import { expect, it } from 'vitest';
import { silentLogger } from '../../src/model/logger.js';
import { openLink as openNats } from '../../src/relay/jetstream/link.js';
import { type Client, openLink as openRabbitmq } from '../../src/relay/rabbitmq/link.js';

it('RabbitMQ: a URL that has changed is used once the connection is lost, and not before', async () => {
  const made: FakeConnection[] = [];
  class FakeConnection extends EventEmitter {
    ready = true;
    isDestroyed = false;
    readonly url: string;
    constructor({ url }: { url: string }) {
      super();
      this.url = url;
      made.push(this);
    }
    unsafeDestroy() {
      this.isDestroyed = true;
    }
    close = () => Promise.resolve();
  }
  let url = 'amqp://relay:first@broker';
  const link = openRabbitmq({
    urls: () => [url],
    more: {},
    load: () => Promise.resolve({ Connection: FakeConnection } as unknown as Client),
    openLogger: () => Promise.resolve(silentLogger),
  });
  await link.connection();
  url = 'amqp://relay:second@broker';
  await link.connection();
  expect(made.map(each => each.url)).toEqual(['amqp://relay:first@broker']);
  for (const each of made) each.ready = false;
  await link.connection();
  await link.connection();
  expect(made.map(each => [each.url, each.isDestroyed])).toEqual([
    ['amqp://relay:first@broker', true],
    [url, false],
  ]);
  await link.close();
});

it('NATS: each connection is made with the servers as they are then', async () => {
  let servers = ['nats://relay:first@broker'];
  const asked: string[][] = [];
  let lose: (() => void) | undefined;
  const connect = (options: { servers: string[] }) => {
    asked.push(options.servers);
    const closed = new Promise<void>(resolve => (lose = resolve));
    return Promise.resolve({
      getServer: () => 'broker',
      status: () => (async function* () {})(),
      closed: () => closed,
      isClosed: () => true,
      close: () => Promise.resolve(),
    });
  };
  const clients = {
    transport: { connect },
    jet: { jetstream: () => ({}), jetstreamManager: () => Promise.resolve({}) },
  };
  const link = openNats({
    servers: () => servers,
    more: {},
    load: () => Promise.resolve(clients as never),
    openLogger: () => Promise.resolve(silentLogger),
  });
  await link.open();
  servers = ['nats://relay:second@broker'];
  lose?.();
  await new Promise(resolve => setImmediate(resolve));
  await link.open();
  expect(asked).toEqual([['nats://relay:first@broker'], servers]);
  await link.close();
});
