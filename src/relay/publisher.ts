// Publishes attempts in batches: those that become ready in the same turn go together. What no broker has
// confirmed is given back, and published again under the next fence.

import { type ActiveRun, mayBegin } from '../engine/execute/active-run.js';
import type { RelaySeam } from '../engine/execute/relay-seam.js';
import type { Clock, Timer } from '../model/clock.js';
import { TockError } from '../model/errors.js';
import type { Json } from '../model/job/job.js';
import type { Logger } from '../model/logger.js';
import type { Ending } from '../model/run/decide.js';
import type { Database } from '../store/connection/database.js';
import { readAnswered, readBatchFacts } from '../store/runs/hand-off/relayed.js';
import { afterFailure, type Breaker, delayMs, isOpen, WORKING } from './breaker.js';
import { type Broker, isRefused } from './broker.js';
import { asError, within } from './driver/deadline.js';
import { messageOf, receiverOf } from './message-of.js';
import type { RelayMessage } from './messages.js';

const MAX_BATCH = 1000;
const MAX_BATCH_CHARS = 4 * 1024 * 1024;
/** Of a message without its payload, about. */
const FRAME_CHARS = 600;
/** How many runs are published to find out whether the broker is back. */
const PROBE = 10;
/** A broker that answers nothing for so long has confirmed nothing. */
const PUBLISH_TIMEOUT_MS = 30_000;
/**
 * So often a run is published again without counting the attempt, where the broker confirms others and does
 * not say that it refuses this one.
 */
const MAX_UNCOUNTED = 100;

/** How long an answer waits for the handoff of its run to be on record. */
const MAX_UNRECORDED_MS = 250;

interface Entry {
  readonly active: ActiveRun;
  readonly payload: Json;
  readonly size: number;
  readonly resolve: (ending: Ending) => void;
}

export interface PublisherOptions {
  readonly clock: Clock;
  readonly database: Database;
  readonly logger: Logger;
  readonly broker: Broker;
  readonly queues: readonly string[];
  /** How long consumers have. */
  readonly leaseMs: number;
  /** How long the relay's own lease lasts, until a run is handed off. */
  readonly claimLeaseMs: number;
  /** How many more runs may be handed off, while so many are claimed and not handed off. */
  readonly roomFor: (held: number) => number;
  /** There may be room for claims again. */
  readonly onChange: () => void;
  /** For tests. */
  readonly publishTimeoutMs?: number;
}

export class Publisher implements RelaySeam {
  published = 0;
  unconfirmed = 0;
  private readonly options: PublisherOptions;
  private waiting: Entry[] = [];
  private breaker: Breaker = WORKING;
  private retry: Timer | undefined;
  /** Ids of runs that are published, and whose handoff is not on record yet; and what waits for that. */
  private readonly unrecorded = new Map<string, (() => void)[]>();

  constructor(options: PublisherOptions) {
    this.options = options;
  }

  get isBrokerAway(): boolean {
    return this.breaker.failures > 0;
  }

  room(held: number): number {
    if (!this.isBrokerAway) return this.options.roomFor(held);
    return isOpen(this.breaker, this.options.clock.now()) ? 0 : Math.max(0, PROBE - held);
  }

  handOff(active: ActiveRun, payload: unknown): Promise<Ending> {
    const text = textOf(payload);
    const size = text.length + FRAME_CHARS;
    // What code has computed may not be JSON.
    const json = (payload === active.run.payload ? payload : JSON.parse(text)) as Json;
    return new Promise(resolve => {
      if (this.waiting.length === 0) setImmediate(() => this.flush());
      this.waiting.push({ active, payload: json, size, resolve });
    });
  }

  onWritten({ run: { id } }: ActiveRun): void {
    const waiting = this.unrecorded.get(id);
    this.unrecorded.delete(id);
    for (const resolve of waiting ?? []) resolve();
  }

  /** Whether this relay has begun to publish the run, and its handoff is not on record yet. */
  isUnrecorded(id: string): boolean {
    return this.unrecorded.has(id);
  }

  /** Resolves when those handoffs of these runs that this relay makes are on record, or after a while. */
  async recorded(ids: Iterable<string>): Promise<void> {
    const waits: Promise<void>[] = [];
    for (const id of ids) {
      const waiting = this.unrecorded.get(id);
      if (waiting) waits.push(new Promise(resolve => waiting.push(resolve)));
    }
    if (waits.length > 0) await within(MAX_UNRECORDED_MS, Promise.all(waits));
  }

  stop(): void {
    this.options.clock.clear(this.retry);
  }

  private flush(): void {
    const entries = this.waiting;
    this.waiting = [];
    for (const batch of batchesOf(entries)) void this.publish(batch);
  }

  /** Ends each attempt of the batch. Never rejects. */
  private async publish(batch: readonly Entry[]): Promise<void> {
    const { clock, database, broker, queues, leaseMs, claimLeaseMs } = this.options;
    const [only] = queues;
    try {
      const isOne = queues.length === 1;
      const facts = await readBatchFacts(database, isOne ? [] : batch.map(({ active }) => active.run.id));
      const { nowMs } = facts;
      const queueOf = ({ active }: Entry) => (isOne ? only : facts.queues[active.run.id]) ?? null;
      if (isOpen(this.breaker, clock.now())) return this.giveBack(batch, nowMs);
      const now = clock.now();
      const sent = batch.filter(
        entry => mayBegin(entry.active, claimLeaseMs, now) && queueOf(entry) !== null,
      );
      const messages = sent.map(entry =>
        messageOf(entry.active.run, {
          queue: queueOf(entry) ?? '',
          payload: entry.payload,
          leaseMs,
          publishedMs: nowMs,
        }),
      );
      for (const { run } of messages) if (!this.unrecorded.has(run)) this.unrecorded.set(run, []);
      const errors = await this.send(messages);
      const confirmed = sent.filter((_, index) => errors[index] === null);
      const refused = sent.filter((_, index) => errors[index] !== null);
      this.published += confirmed.length;
      this.unconfirmed += refused.length;
      // One that is refused says nothing of the broker.
      this.note(confirmed.length, errors.find(error => error !== null && !isRefused(error)) ?? null);
      const answered =
        refused.length === 0 ? new Set<string>() : await readAnswered(database, refused.map(heldOf));
      for (const [index, entry] of sent.entries()) {
        const error = errors[index] ?? null;
        if (error === null || answered.has(entry.active.run.id)) {
          const to = receiverOf(broker, queueOf(entry) ?? '');
          entry.resolve({ kind: 'handedOff', handOff: { leaseMs, to } });
        } else if (isRefused(error) || (confirmed.length > 0 && isWornOut(entry))) {
          entry.resolve({ kind: 'threw', error: unpublishable(broker, error) });
        }
      }
      this.giveBack(batch, nowMs);
    } catch (error) {
      this.options.logger.warn(
        { event: 'relay.unpublished', error: String(error), count: batch.length },
        `${batch.length} ${batch.length === 1 ? 'run' : 'runs'} could not be published now; they are published again`,
      );
      this.giveBack(batch, Date.now());
    }
  }

  /** One answer for each message, whatever the broker does. */
  private async send(messages: readonly RelayMessage[]): Promise<readonly (Error | null)[]> {
    const { clock, broker, publishTimeoutMs = PUBLISH_TIMEOUT_MS } = this.options;
    if (messages.length === 0) return [];
    let timer: Timer | undefined;
    const late = new Promise<readonly Error[]>(resolve => {
      const error = new Error(`${broker.name} has not answered within ${publishTimeoutMs}ms`);
      timer = clock.setTimeout(() => resolve(messages.map(() => error)), publishTimeoutMs);
    });
    const asked = Promise.resolve()
      .then(() => broker.publish(messages))
      .catch((error: unknown) => messages.map(() => asError(error)));
    const errors = await Promise.race([asked, late]);
    clock.clear(timer);
    const missing = new Error(`${broker.name} said nothing of this message`);
    return messages.map((_, index) => {
      const error = errors[index];
      return error === undefined ? missing : error;
    });
  }

  private note(confirmed: number, error: Error | null): void {
    const { clock, logger, broker, onChange } = this.options;
    if (confirmed > 0) {
      if (!this.isBrokerAway) return;
      this.breaker = WORKING;
      clock.clear(this.retry);
      logger.info({ event: 'relay.broker_back', broker: broker.name }, `${broker.name} is back`);
      onChange();
      return;
    }
    if (error === null) return;
    const before = this.breaker;
    this.breaker = afterFailure(before, clock.now());
    if (this.breaker === before) return;
    clock.clear(this.retry);
    this.retry = clock.setTimeout(onChange, delayMs(this.breaker) + 1);
    if (before.failures === 0)
      logger.warn(
        { event: 'relay.broker_away', broker: broker.name, error: String(error) },
        `${broker.name} confirms nothing: ${error.message}; the runs wait, and it is tried again`,
      );
  }

  /** Those of the batch that have not ended otherwise. @param nowMs by the database's clock */
  private giveBack(batch: readonly Entry[], nowMs: number): void {
    const retryAt = nowMs + delayMs(this.breaker);
    for (const { resolve } of batch) resolve({ kind: 'unpublished', retryAt });
  }
}

const heldOf = ({ active }: Entry) => ({ id: active.run.id, fence: active.run.fence });

/** Each claim raises the fence; only attempts that count raise the other. */
const isWornOut = ({ active: { run } }: Entry) => run.fence - run.attempts >= MAX_UNCOUNTED;

const unpublishable = ({ name }: Broker, cause: Error) =>
  new TockError('TOCK_UNPUBLISHED', `${name} does not take this message: ${cause.message}`, { cause });

/** Checked here, so that one payload cannot fail the batch of a broker that encodes them all at once. */
function textOf(payload: unknown): string {
  try {
    return JSON.stringify(payload) ?? 'null';
  } catch (cause) {
    const reason = `its payload cannot be written as JSON: ${asError(cause).message}`;
    throw new TockError('TOCK_UNPUBLISHED', reason, { cause });
  }
}

function batchesOf(entries: readonly Entry[]): Entry[][] {
  const batches: Entry[][] = [];
  let size = 0;
  for (const entry of entries) {
    const batch = batches.at(-1);
    if (batch === undefined || batch.length >= MAX_BATCH || size + entry.size > MAX_BATCH_CHARS) {
      batches.push([entry]);
      size = entry.size;
    } else {
      batch.push(entry);
      size += entry.size;
    }
  }
  return batches;
}
