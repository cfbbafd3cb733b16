// Room: test support. The processes of a relayed queue: relays by the command line, and consumers.
// In: addresses. Out: processes that may be killed.

import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { CLI, type Running, startProcess, writeJobs } from '../support/processes.js';

const DIST = path.dirname(CLI);
const moduleOf = (name: string) => JSON.stringify(pathToFileURL(path.join(DIST, name)).href);

/** How long a consumer has for its first answer. */
export const LEASE = '6s';

/** Each attempt takes a moment; one in twenty fails the first time. */
const JOBS = `
import { defineJob } from ${moduleOf('index.js')};
export const jobs = [
  defineJob({
    name: 'count',
    queue: 'work',
    retry: { maxAttempts: 1000, backoff: 'fixed', base: '100ms' },
    async run(ctx, payload) {
      await new Promise(resolve => setTimeout(resolve, 5 + (payload.n * 7919) % 60));
      if (ctx.attempt === 1 && payload.n % 20 === 0) throw new Error('the first time fails');
      return { n: payload.n };
    },
  }),
];
`;

/** Answers one attempt in ten twice: the second answer must be refused. */
const CONSUMER = (jobs: string) => `
import { consume, rabbitmq, jetstream } from ${moduleOf('relay.js')};
import { jobs } from ${JSON.stringify(pathToFileURL(jobs).href)};
const urls = process.env.BROKER_URLS.split(',');
const real = urls[0].startsWith('amqp:')
  ? rabbitmq({ url: urls, logger: false, publishTimeout: '4s' })
  : jetstream({ servers: urls, logger: false, publishTimeout: '4s' });
const broker = {
  ...real,
  async answer(body) {
    await real.answer(body);
    if (body.kind === 'succeeded' && body.result.n % 10 === 1) await real.answer(body);
  },
};
const consumer = await consume({ broker, jobs, concurrency: 20, logger: false });
process.once('SIGTERM', async () => {
  await consumer.stop({ grace: '5s' });
  await real.close();
});
`;

export interface Fixture {
  readonly startRelay: () => Running;
  readonly startConsumer: () => Running;
}

export async function openFixture(databaseUrl: string, brokerUrls: readonly string[]): Promise<Fixture> {
  const jobs = await writeJobs(JOBS);
  const script = await writeJobs(CONSUMER(jobs));
  const urls = brokerUrls.join(',');
  return {
    startRelay: () =>
      startProcess(CLI, { DATABASE_URL: databaseUrl, TOCK_JOBS: jobs, TOCK_BROKER_URL: urls }, [
        'relay',
        '--queues',
        'work',
        '--lease',
        LEASE,
        '--max-outstanding',
        '400',
      ]),
    startConsumer: () => startProcess(script, { BROKER_URLS: urls }),
  };
}
