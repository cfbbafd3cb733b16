// Starts a relay: a daemon whose attempts are published in place of being executed, and what takes answers.
import { type Daemon, startDaemon } from '../daemon/daemon.js';
import type { Engine } from '../engine/engine.js';
import { relayQueues } from '../engine/operate/relay-queues.js';
import { readQueueHandOffs } from '../store/reads/queue-hand-offs.js';
import { startWithEngine } from '../tock/engine-of.js';
import { Answers } from './answers.js';
import { Outstanding } from './outstanding.js';
import { Publisher } from './publisher.js';
import { type CheckedOptions, readRelayOptions } from './read-relay-options.js';
import type { Relay, RelayFigures, RelayOptions } from './relay-options.js';

/** What tests may shorten. */
export interface RelayTuning {
  readonly publishTimeoutMs?: number;
}

export async function startRelay(options: RelayOptions, tuning: RelayTuning = {}): Promise<Relay> {
  const checked = readRelayOptions(options);
  return await startWithEngine(checked.tock, engine => openRelay(engine, checked, tuning));
}

/**
 * The daemon knows nothing of brokers: it claims as far as the publisher has room, and writes how the
 * publisher's attempts end.
 */
async function openRelay(
  base: Engine,
  { queues, broker, leaseMs, maxOutstanding, concurrency }: CheckedOptions,
  tuning: RelayTuning,
): Promise<Relay> {
  const { clock, database, logger } = base;
  await relayQueues(base, queues, broker.name);
  let daemon: Daemon | null = null;
  /** Room was asked for, and there was none. */
  let isFull = false;
  const wake = () => {
    for (const worker of base.workers) if (worker.id === daemon?.id) worker.wake();
  };
  const outstanding = new Outstanding({
    clock,
    database,
    logger,
    queues,
    handedOff: () => daemon?.outcomeCounts.handedOff ?? 0,
    onFewer: () => {
      if (isFull) wake();
    },
  });
  const publisher = new Publisher({
    clock,
    database,
    logger,
    broker,
    queues,
    leaseMs,
    claimLeaseMs: base.settings.leaseMs,
    roomFor: held => {
      const room = Math.max(0, maxOutstanding - outstanding.count - held);
      isFull = room === 0;
      return room;
    },
    onChange: wake,
    ...tuning,
  });
  // Alerts are evaluated by those that execute runs.
  const engine: Engine = { ...base, relay: publisher, alerting: undefined };
  try {
    await outstanding.recount();
    daemon = await startDaemon(engine, { kind: 'relay', queues, concurrency });
  } catch (error) {
    outstanding.stop();
    throw error;
  }
  const started = daemon;
  const answers = new Answers({
    engine,
    broker,
    publisher,
    onDecided: count => outstanding.noteAnswered(count),
  });
  logger.info(
    { event: 'relay.started', broker: broker.name, queues, worker: started.id },
    `relays ${queues.join(', ')} to ${broker.name}`,
  );

  const figures = async (): Promise<RelayFigures> => ({
    published: publisher.published,
    unconfirmed: publisher.unconfirmed,
    completed: answers.completed,
    failed: answers.failed,
    extended: answers.extended,
    refused: answers.refused,
    malformed: answers.malformed,
    outstanding: outstanding.count,
    isBrokerAway: publisher.isBrokerAway,
    queues: await readQueueHandOffs(database, queues),
  });
  const end = async () => {
    try {
      await started.stop();
    } finally {
      publisher.stop();
      outstanding.stop();
      await answers.stop();
    }
    logger.info(
      { event: 'relay.stopped', broker: broker.name, queues },
      `relays ${queues.join(', ')} no more`,
    );
  };
  let ending: Promise<void> | null = null;
  const stop = () => (ending ??= end());
  const ended = started.ended.then(async cause => {
    await stop().catch(() => undefined);
    return cause;
  });
  return { id: started.id, figures, ended, stop };
}
