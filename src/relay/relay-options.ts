// What a relay is given, and what it gives.
import type { Duration } from '../model/duration.js';
import type { QueueHandOffs } from '../model/scheduler-view.js';
import type { Tock } from '../tock/types.js';
import type { Broker } from './broker.js';

/** Options of `createRelay`. */
export interface RelayOptions {
  /** If it has jobs, they are registered, and payloads are checked before they are published. */
  readonly tock: Tock;
  /** The queues to hand off. From now on only workers that name them claim from them. */
  readonly queues: readonly string[];
  /** It stays yours: close it after the relay has stopped. */
  readonly broker: Broker;
  /** From the handoff until a consumer's first answer: 1 second to 366 days. Default `5m`. */
  readonly lease?: Duration;
  /** It claims no more while so many runs are handed off and not completed. Default 10,000. */
  readonly maxOutstanding?: number;
  /** The most runs that are being published at once. Default 1,000. */
  readonly concurrency?: number;
}

/** Figures of a relay. All counts but those of `queues` and `outstanding` are since it was started. */
export interface RelayFigures {
  /** Messages that the broker has confirmed. */
  readonly published: number;
  /** Messages that it has not confirmed, to be published again; and those that it has refused. */
  readonly unconfirmed: number;
  /** Answers that succeeded. */
  readonly completed: number;
  /** Answers that failed. */
  readonly failed: number;
  /** Leases that were prolonged. */
  readonly extended: number;
  /** Answers that came too late, and changed nothing. */
  readonly refused: number;
  /** Messages to the relay that were no answer. */
  readonly malformed: number;
  /** Runs that are handed off and wait for an answer, of all relays of these queues. */
  readonly outstanding: number;
  readonly isBrokerAway: boolean;
  /** What became of the runs that were handed off in the last 24 hours, by queue, whichever relay did it. */
  readonly queues: readonly QueueHandOffs[];
}

/** A relay that was started in this process. */
export interface Relay {
  /** Of its worker. */
  readonly id: string;
  figures(): Promise<RelayFigures>;
  /** Resolves once it has stopped: to null after `stop`, otherwise to why it cannot go on. Never rejects. */
  readonly ended: Promise<Error | null>;
  /** Claims no more, waits until what is being published is recorded, and receives no more answers. */
  stop(): Promise<void>;
}
