// The streams and the durable consumers of a relay, made where they are missing.
import type * as Jet from '@nats-io/jetstream';
import { asError } from '../driver/deadline.js';
import type { Link, Open } from './link.js';

export interface StreamName {
  readonly name: string;
  readonly subjects: readonly string[];
}

/** What one durable consumer delivers. */
export interface Source {
  readonly stream: StreamName;
  readonly durable: string;
  readonly subject: string;
}

export interface Streams {
  readonly ensureStream: (open: Open, stream: StreamName) => Promise<void>;
  readonly consumerOf: (open: Open, source: Source) => Promise<Jet.Consumer>;
  /** Looks again with the next use: it may have been deleted. */
  readonly forget: (stream: StreamName) => void;
}

/** What is not acknowledged, nor said to be in progress, is delivered again after this time. */
export const ACK_WAIT_MS = 10_000;
/** How long JetStream knows the id of a message that was published. */
const DUPLICATE_WINDOW_MS = 120_000;
const DEFAULT_REPLICAS = 3;
const MAX_WAITING_PULLS = 8192;

/** Codes of the API's errors. */
const STREAM_NOT_FOUND = 10_059;
const CONSUMER_NOT_FOUND = 10_014;
const STREAM_NAME_IN_USE = 10_058;
/** No suitable peers; not enough storage; no cluster. */
const TOO_MANY_REPLICAS = [10_005, 10_023, 10_074];

/** @param replicas null: as many as the cluster has, up to three */
export function openStreams(link: Link, replicas: number | null): Streams {
  const known = new Map<string, Promise<void>>();

  const makeStream = async ({ manager, transport }: Open, { name, subjects }: StreamName) => {
    const found = await manager.streams.info(name).catch(unless(STREAM_NOT_FOUND));
    if (found) return;
    for (let count = replicas ?? DEFAULT_REPLICAS; ; count--) {
      try {
        await manager.streams.add({
          name,
          subjects: [...subjects],
          retention: 'workqueue',
          storage: 'file',
          num_replicas: count,
          duplicate_window: transport.nanos(DUPLICATE_WINDOW_MS),
        });
        (await link.logger()).info(
          { event: 'broker.stream_made', broker: 'nats', stream: name, replicas: count },
          `made the stream ${name} with ${count === 1 ? '1 replica' : `${count} replicas`}`,
        );
        return;
      } catch (error) {
        const code = codeOf(error);
        // Another process was quicker.
        if (code === STREAM_NAME_IN_USE) return;
        if (replicas === null && count > 1 && TOO_MANY_REPLICAS.some(each => each === code)) continue;
        throw error;
      }
    }
  };

  const ensureStream = async (open: Open, stream: StreamName) => {
    let making = known.get(stream.name);
    if (making === undefined) {
      making = makeStream(open, stream);
      known.set(stream.name, making);
      making.catch(() => known.delete(stream.name));
    }
    await making;
  };

  return {
    ensureStream,
    async consumerOf(open, source) {
      const { stream, durable, subject } = source;
      await ensureStream(open, stream);
      const { manager, client, transport } = open;
      const found = await manager.consumers.info(stream.name, durable).catch(unless(CONSUMER_NOT_FOUND));
      if (!found)
        await manager.consumers.add(stream.name, {
          durable_name: durable,
          filter_subject: subject,
          ack_policy: 'explicit',
          deliver_policy: 'all',
          replay_policy: 'instant',
          ack_wait: transport.nanos(ACK_WAIT_MS),
          max_deliver: -1,
          max_ack_pending: -1,
          max_waiting: MAX_WAITING_PULLS,
        });
      return await client.consumers.get(stream.name, durable);
    },
    forget: ({ name }) => void known.delete(name),
  };
}

function codeOf(error: unknown): unknown {
  return (asError(error) as { readonly code?: unknown }).code;
}

/** Null for the error with this code; the others are thrown on. */
function unless(code: number): (error: unknown) => null {
  return error => {
    if (codeOf(error) === code) return null;
    throw error;
  };
}
