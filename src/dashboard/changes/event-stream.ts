// Changes as server-sent events. Each has its cursor as its id, which a browser sends again when it
// reconnects (Last-Event-ID). A stream holds what the subscription holds.
import type { Change, ChangeSubscription } from '../../model/changes/change.js';
import { type StreamTimes, textStream } from '../live/text-stream.js';

export interface Streaming {
  /** The change that is sent first; null: none. If the subscription gives it too, it is not sent again. */
  readonly first: Change | null;
  /** Called once it has ended, however it did. */
  readonly onEnd: () => void;
  /** Ends it. */
  readonly signal: AbortSignal;
}

const eventOf = ({ cursor, ...change }: Change) =>
  `id: ${cursor}\nevent: ${change.kind}\ndata: ${JSON.stringify(change)}\n\n`;

/** An id without data is no event for a client, but is where it goes on after it reconnects. */
const placeAt = (cursor: string | null) => (cursor === null ? '' : `id: ${cursor}\n\n`);

/**
 * The body of an answer with the changes of a subscription that has begun. Ends the subscription with the
 * stream.
 */
export function eventStream(
  subscription: ChangeSubscription,
  { first, onEnd, signal }: Streaming,
  times: StreamTimes = {},
): ReadableStream<Uint8Array> {
  // What is sent first is its end: what comes later was before it.
  const isTold = ({ runId, generation }: Change) =>
    first !== null && runId === first.runId && generation <= first.generation;
  return textStream(
    {
      first: first === null ? placeAt(subscription.cursor) : eventOf(first),
      next: async () => {
        const { done, value } = await subscription.next();
        if (done) return null;
        return isTold(value) ? placeAt(value.cursor) : eventOf(value);
      },
      alive: () => `: alive\n${placeAt(subscription.cursor) || '\n'}`,
      end: async () => {
        onEnd();
        await subscription.return();
      },
    },
    signal,
    times,
  );
}
