// Checks the options of a relay.
import { checkConcurrency, checkQueues } from '../engine/engine.js';
import { TockError } from '../model/errors.js';
import { readLease } from '../model/job/hand-off.js';
import { quote } from '../model/names.js';
import { checkOptions, optionNames } from '../model/options.js';
import type { Broker } from './broker.js';
import type { RelayOptions } from './relay-options.js';

const OPTIONS = optionNames<RelayOptions>({
  tock: true,
  queues: true,
  broker: true,
  lease: true,
  maxOutstanding: true,
  concurrency: true,
});
const METHODS = ['publish', 'receiveAnswers', 'receiveMessages', 'answer', 'close'] as const;
const MAX_OUTSTANDING = 10_000_000;

export interface CheckedOptions {
  readonly tock: object;
  readonly queues: readonly string[];
  readonly broker: Broker;
  readonly leaseMs: number;
  readonly maxOutstanding: number;
  readonly concurrency: number;
}

const bad = (message: string) => new TockError('TOCK_BAD_OPTION', message);

/** @throws TockError TOCK_BAD_OPTION, TOCK_BAD_DURATION */
export function readRelayOptions(options: RelayOptions): CheckedOptions {
  checkOptions(options, OPTIONS, 'createRelay');
  const { tock, queues, broker, lease = '5m', maxOutstanding = 10_000, concurrency } = options;
  if (typeof tock !== 'object' || tock === null) throw bad('tock is missing: pass what createTock gives');
  if (!Array.isArray(queues) || queues.length === 0)
    throw bad("queues is missing: name the queues to hand off, as in queues: ['mail']");
  checkQueues(queues);
  checkBroker(broker);
  const leaseMs = readLease(lease);
  if (!Number.isInteger(maxOutstanding) || maxOutstanding < 1 || maxOutstanding > MAX_OUTSTANDING)
    throw bad(`maxOutstanding ${quote(maxOutstanding)} is not a whole number from 1 to ${MAX_OUTSTANDING}`);
  return {
    tock,
    queues: [...new Set(queues)],
    broker,
    leaseMs,
    maxOutstanding,
    concurrency: checkConcurrency(concurrency) ?? Math.min(1000, maxOutstanding),
  };
}

function checkBroker(broker: unknown): void {
  if (typeof broker !== 'object' || broker === null)
    throw bad('broker is missing: pass what rabbitmq({ url }) or jetstream({ servers }) gives');
  const given = broker as Readonly<Record<string, unknown>>;
  const missing = METHODS.find(method => typeof given[method] !== 'function');
  if (missing !== undefined)
    throw bad(`broker has no method ${missing}; pass an object with all members of Broker`);
  if (typeof given['name'] !== 'string') throw bad('broker has no name');
}
