// Tock's relay over a broker, by dist/relay.js: one process publishes and records, another executes.
// In: a database's URL, a broker's URL. Out: what every contestant gives (see contestants/index.mjs), and its parts.
import { createTock, defineJob } from '../../dist/index.js';
import { consume, createRelay, jetstream, rabbitmq } from '../../dist/relay.js';
import { connect } from '../lib/database.mjs';
import { tock } from './tock.mjs';

const QUEUE = 'mail';

const jobOf = handler => defineJob({ name: 'noop', queue: QUEUE, run: (_, payload) => handler(payload) });

function open(url, { handler = () => null, hooks } = {}) {
  return createTock({
    connectionString: url,
    jobs: [jobOf(handler)],
    connections: 10,
    logger: false,
    ...(hooks ? { hooks } : {}),
  });
}

/** Publishes what is due and records what comes back. `completed` is called for each run that is recorded. */
async function startRelay(url, { broker, completed }) {
  const own = open(url, completed ? { hooks: { onSuccess: run => completed(run.id) } } : {});
  const relay = await createRelay({ tock: own, queues: [QUEUE], broker });
  return {
    stop: async () => {
      await relay.stop();
      await broker.close();
      await own.close();
    },
  };
}

/** Executes what the broker delivers, without the database. */
async function startConsumer({ broker, handler, concurrency }) {
  const consumer = await consume({ broker, jobs: [jobOf(handler)], queues: [QUEUE], concurrency });
  return {
    stop: async () => {
      await consumer.stop();
      await broker.close();
    },
  };
}

const over = (name, brokerOf) => ({
  name,
  parts: ['relay', 'consumer'],
  install: async url => {
    const each = open(url);
    await each.migrate();
    await each.register();
    await each.close();
  },
  producer: async url => {
    const each = open(url);
    return {
      add: async payload => await each.enqueue('noop', payload),
      addMany: async payloads => await each.enqueueMany(payloads.map(payload => ({ job: 'noop', payload }))),
      close: async () => await each.close(),
    };
  },
  worker: async (url, { part, brokerUrl, concurrency, handler, completed, times }) => {
    const broker = brokerOf(brokerUrl);
    return part === 'relay'
      ? await startRelay(url, { broker, ...(times ? { completed } : {}) })
      : await startConsumer({ broker, handler, concurrency });
  },
  observe: async url => {
    const sql = await connect(url);
    return {
      waiting: async () =>
        (await sql.one('select exists (select from tock.job_runs_live)::int as waiting')).waiting,
      finished: async () => (await sql.one(tock.counts)).finished,
      close: async () => await sql.close(),
    };
  },
});

export const overRabbit = over('pg-tock over RabbitMQ', url => rabbitmq({ url }));
export const overNats = over('pg-tock over NATS', url => jetstream({ servers: url.split(',') }));
