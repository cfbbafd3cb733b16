// The driver for NATS JetStream, against Debian's server, alone and as a cluster; and its options.
import { jetstreamManager } from '@nats-io/jetstream';
import { connect } from '@nats-io/transport-node';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { jetstream } from '../../src/relay.js';
import type { BrokerServers } from '../support/killable-process.js';
import { hasNoNats, startNats } from '../support/nats-server.js';
import { until } from '../support/until.js';
import { describeContract, messageOf } from './broker-contract.js';

const within = async <T>(
  servers: readonly string[],
  work: (manager: Awaited<ReturnType<typeof jetstreamManager>>) => Promise<T>,
): Promise<T> => {
  const connection = await connect({ servers: [...servers] });
  try {
    return await work(await jetstreamManager(connection));
  } finally {
    await connection.close();
  }
};

describeContract({
  name: 'NATS JetStream',
  start: async () => await startNats(),
  open: ({ urls }, prefix, publishTimeout) =>
    jetstream({ servers: urls, prefix, logger: false, publishTimeout }),
  deleteQueue: async ({ urls }, prefix) => {
    await within(urls, manager => manager.streams.delete(`${prefix}-work`));
  },
  isMissing: hasNoNats,
  dropsDuplicates: true,
});

describe.skipIf(hasNoNats())('a cluster of three', () => {
  let servers: BrokerServers;
  beforeAll(async () => {
    servers = await startNats(3);
  });
  afterAll(async () => await servers?.remove());

  it('has streams of three replicas, as work queues; and goes on when one server is killed', async () => {
    const broker = jetstream({ servers: servers.urls, logger: false });
    // A stream takes an id once, so a second attempt of this test needs others.
    const first = Date.now();
    expect(await broker.publish([messageOf(first, { queue: 'a.b' })])).toEqual([null]);
    await within(servers.urls, async manager => {
      const { config } = await manager.streams.info('tock-work');
      expect(config).toMatchObject({ num_replicas: 3, retention: 'workqueue', subjects: ['tock.work.*'] });
    });
    const received: string[] = [];
    await broker.receiveMessages({ queues: ['a.b'], concurrency: 1 }, async body => {
      received.push((body as { run: string }).run);
    });
    await until(async () => received.includes(String(first)), 'the first message');
    await servers.nodes[0]?.kill();
    await until(
      async () => (await broker.publish([messageOf(first + 1, { queue: 'a.b' })]))[0] === null,
      'a confirmation',
      90_000,
    );
    await until(async () => received.includes(String(first + 1)), 'the second message', 90_000);
    await servers.nodes[0]?.start();
    await broker.close();
    // What was not acknowledged when the server was killed may come again.
    expect(new Set(received)).toEqual(new Set([String(first), String(first + 1)]));
  });
});

describe('jetstream()', () => {
  it('refuses options that it does not have, and says what is meant', () => {
    expect(() => jetstream({ server: 'nats://127.0.0.1' } as never)).toThrow(/did you mean "servers"/);
    expect(() => jetstream({ servers: [] })).toThrow(/servers is missing/);
    expect(() => jetstream({ servers: 'nats://host', replicas: 6 })).toThrow(/replicas 6/);
    expect(() => jetstream({ servers: 'nats://host', prefix: 'a*' })).toThrow(/prefix "a\*"/);
  });

  it('says after its timeout why a message was not confirmed, and nothing after close', async () => {
    const broker = jetstream({ servers: 'nats://127.0.0.1:1', logger: false, publishTimeout: '300ms' });
    const [error] = await broker.publish([messageOf(1)]);
    expect(error?.message).toMatch(/not confirm it within 300ms: ./);
    await broker.close();
    expect((await broker.publish([messageOf(1)]))[0]?.message).toMatch(/closed/);
  });
});
