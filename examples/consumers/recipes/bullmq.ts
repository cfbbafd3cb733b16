import { type ConnectionOptions, Queue, Worker } from 'bullmq';
import { type Broker, messageId, type OnAnswers, type RelayMessage } from 'pg-tock/relay';

/** What is rejected comes again after a second, however often. */
const AGAIN = {
  attempts: Number.MAX_SAFE_INTEGER,
  backoff: { type: 'fixed', delay: 1000 },
  removeOnComplete: true,
  removeOnFail: true,
};

export function bullmq(connection: ConnectionOptions, prefix = 'tock'): Broker {
  const queues = new Map<string, Queue>();
  const queueOf = (name: string): Queue => {
    const known = queues.get(name);
    if (known) return known;
    // Publishing fails while Redis is away, instead of waiting.
    const made = new Queue(name, { connection, prefix, skipWaitingForReady: true });
    made.on('error', () => undefined);
    queues.set(name, made);
    return made;
  };
  const work = (name: string, concurrency: number, handle: (body: unknown) => Promise<void>): Worker => {
    const worker = new Worker(name, async job => await handle(job.data), { connection, prefix, concurrency });
    worker.on('error', () => undefined);
    return worker;
  };

  return {
    name: 'bullmq',
    async publish(messages) {
      const results = new Map<RelayMessage, Error | null>();
      for (const queue of new Set(messages.map(message => message.queue))) {
        const ofQueue = messages.filter(message => message.queue === queue);
        const jobs = ofQueue.map(message => ({
          name: message.job,
          data: message,
          opts: { ...AGAIN, jobId: messageId(message) },
        }));
        const error = await queueOf(`work.${queue}`)
          .addBulk(jobs)
          .then(
            () => null,
            (thrown: Error) => thrown,
          );
        for (const message of ofQueue) results.set(message, error);
      }
      return messages.map(message => results.get(message) ?? null);
    },
    async answer(body) {
      await queueOf('answers').add('answer', body, AGAIN);
    },
    async receiveAnswers({ maxBatch }, onAnswers) {
      const worker = work('answers', maxBatch, gather(onAnswers));
      return { stop: async () => await worker.close() };
    },
    async receiveMessages({ queues: names, concurrency }, onMessage) {
      const each = Math.max(1, Math.floor(concurrency / names.length));
      const workers = names.map(name => work(`work.${name}`, each, onMessage));
      return { stop: async () => void (await Promise.all(workers.map(worker => worker.close()))) };
    },
    async close() {
      await Promise.all([...queues.values()].map(queue => queue.close()));
    },
  };
}

/** One call of `onAnswers` at a time, with all that has come meanwhile. If it rejects, all of them come again. */
function gather(onAnswers: OnAnswers): (body: unknown) => Promise<void> {
  let waiting: unknown[] = [];
  let next: Promise<void> | null = null;
  let last: Promise<unknown> = Promise.resolve();
  return async body => {
    waiting.push(body);
    next ??= last.then(async () => {
      const batch = waiting;
      waiting = [];
      next = null;
      await onAnswers(batch);
    });
    const mine = next;
    last = mine.catch(() => undefined);
    await mine;
  };
}
