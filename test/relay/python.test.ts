// The consumer in Python that the examples have, against RabbitMQ: the protocol is what its page says.
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Broker, type RelayAnswer, rabbitmq } from '../../src/relay.js';
import { type BrokerServers, type KillableProcess, startKillable } from '../support/killable-process.js';
import { lacks } from '../support/needs.js';
import { hasNoRabbitmq, startRabbitmq } from '../support/rabbitmq-server.js';
import { until } from '../support/until.js';
import { messageFor } from './fake-broker.js';

const SCRIPT = path.join(import.meta.dirname, '..', '..', 'examples', 'consumers', 'python', 'consumer.py');
const PYTHON = '/usr/bin/python3';
const hasNoPika = () => lacks('python3-pika');

describe.skipIf(hasNoRabbitmq() || hasNoPika())('examples/consumers/python/consumer.py', () => {
  let servers: BrokerServers;
  let broker: Broker;
  const answers: RelayAnswer[] = [];
  const consumers: KillableProcess[] = [];
  const start = () => {
    const consumer = startKillable(PYTHON, [SCRIPT, servers.urls[0] ?? '', 'py'], {});
    consumers.push(consumer);
    return consumer;
  };
  const publish = async (run: string, job: string, more: object) =>
    await broker.publish([messageFor(job, { run, queue: 'py', ...more })]);
  const answerTo = async (run: string) =>
    await until(
      async () => answers.find(answer => answer.run === run && /succeeded|failed/.test(answer.kind)),
      `the answer to ${run}`,
    );

  beforeAll(async () => {
    servers = await startRabbitmq();
    broker = rabbitmq({ url: servers.urls, logger: false });
    await broker.receiveAnswers({ maxBatch: 100 }, async bodies => {
      answers.push(...(bodies as RelayAnswer[]));
    });
    start();
  });
  afterAll(async () => {
    for (const each of consumers) await each.kill();
    await broker?.close();
    await servers?.remove();
  });

  it('answers with results, failures, and the end of a run', async () => {
    await publish('1', 'py-add', { payload: { numbers: [1, 2, 3.5] } });
    expect(await answerTo('1')).toEqual({
      tock: 1,
      run: '1',
      fence: 3,
      kind: 'succeeded',
      result: { sum: 6.5 },
    });
    await publish('2', 'py-add', { payload: {} });
    expect(await answerTo('2')).toMatchObject({ kind: 'failed', name: 'KeyError', retry: true });
    await publish('3', 'py-dead', { payload: { account: 7 } });
    expect(await answerTo('3')).toMatchObject({
      kind: 'failed',
      retry: false,
      message: 'account 7 is closed',
      stack: expect.stringContaining('consumer.py'),
    });
    await publish('4', 'nothing', {});
    expect(await answerTo('4')).toMatchObject({ kind: 'failed', message: 'no handler for job nothing' });
  });

  it('extends its lease while it works', async () => {
    await publish('5', 'py-slow', { payload: { seconds: 8 }, leaseMs: 6000 });
    expect(await answerTo('5')).toMatchObject({ kind: 'succeeded', result: { attempt: 1 } });
    const extensions = answers.filter(answer => answer.run === '5' && answer.kind === 'extend');
    expect(extensions.length).toBeGreaterThan(1);
    expect(extensions[0]).toEqual({ tock: 1, run: '5', fence: 3, kind: 'extend', leaseMs: 6000 });
  });

  it('drops what is too late or no message of a relay, and goes on', async () => {
    const publishedAt = new Date(Date.now() - 120_000).toISOString();
    await publish('6', 'py-add', { payload: { numbers: [1] }, publishedAt });
    await broker.publish([{ ...messageFor('py-add', { run: '7', queue: 'py' }), tock: 2 as never }]);
    await publish('8', 'py-add', { payload: { numbers: [1] } });
    expect(await answerTo('8')).toMatchObject({ kind: 'succeeded' });
    expect(answers.filter(answer => ['6', '7'].includes(answer.run))).toEqual([]);
    expect(consumers[0]?.output()).toMatch(/dropped run 6: its lease has ended[^]*version 2 of the protocol/);
  });

  it('kill -9 leaves its message to another; SIGTERM lets it finish', async () => {
    await publish('9', 'py-slow', { payload: { seconds: 3 } });
    await publish('10', 'py-add', { payload: { numbers: [] } });
    await answerTo('10');
    await consumers[0]?.kill();
    const second = start();
    await publish('11', 'py-add', { payload: { numbers: [] } });
    await answerTo('11');
    await second.kill('SIGTERM');
    expect(await answerTo('9')).toMatchObject({ kind: 'succeeded' });
  });
});
