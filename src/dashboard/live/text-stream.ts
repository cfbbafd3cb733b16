// Server-sent events: the body of an answer that goes on. It is read only as fast as its client takes it,
// says that it is alive while nothing comes, and ends after ten minutes.

/** Proxies cut connections that are silent for a minute. */
const HEARTBEAT_MS = 15_000;
/** Then the client connects again, and is asked again who it is. */
const LIFE_MS = 10 * 60_000;
/** After which a browser connects again. */
const RETRY_MS = 3000;
/** Each is a connection that stays open. */
const MAX_STREAMS = 200;

/** What a stream tells, as text of its format. */
export interface TextSource {
  /** Sent first. */
  readonly first: string;
  /** Resolves to the next event; null: there will be no more. */
  readonly next: () => Promise<string | null>;
  /** Sent when nothing has come for a while. */
  readonly alive: () => string;
  /** Called once the stream has ended, however it did. */
  readonly end: () => Promise<unknown> | void;
}

/** In milliseconds; for tests. */
export interface StreamTimes {
  readonly heartbeatMs?: number;
  readonly lifeMs?: number;
}

/** @param signal ends it at once, also while nobody reads it */
export function textStream(
  source: TextSource,
  signal: AbortSignal,
  { heartbeatMs = HEARTBEAT_MS, lifeMs = LIFE_MS }: StreamTimes = {},
): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder();
  let controller: ReadableStreamDefaultController<Uint8Array> | undefined;
  let coming: Promise<unknown> | null = null;
  let arrived: { readonly text: string | null } | null = null;
  let hasBegun = false;
  let hasEnded = false;
  const end = async () => {
    if (hasEnded) return;
    hasEnded = true;
    clearTimeout(life);
    signal.removeEventListener('abort', close);
    await source.end();
  };
  const close = () => {
    if (hasEnded) return;
    controller?.close();
    // Nobody is left who could be told of an error.
    void end().catch(() => undefined);
  };
  const life = setTimeout(close, lifeMs).unref();
  signal.addEventListener('abort', close);
  /** The next piece of text; null: it is over. */
  const next = async (): Promise<string | null> => {
    if (!hasBegun) {
      hasBegun = true;
      return `retry: ${RETRY_MS}\n\n${source.first}`;
    }
    coming ??= source.next().then(text => (arrived = { text }));
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<void>(resolve => {
      timer = setTimeout(resolve, heartbeatMs);
    });
    await Promise.race([coming, late]).finally(() => clearTimeout(timer));
    const alive = source.alive();
    // An event that has been given may still be on its way here: it must not follow an id that is after it.
    await new Promise(resolve => setImmediate(resolve));
    const result = arrived;
    if (result === null) return alive;
    coming = null;
    arrived = null;
    return result.text;
  };
  return new ReadableStream<Uint8Array>(
    {
      start(given) {
        controller = given;
        if (signal.aborted) close();
      },
      async pull(given) {
        // What the client is to know, it learns by the status of its next request.
        const text = await next().catch(() => null);
        if (hasEnded) return;
        if (text !== null) return given.enqueue(encoder.encode(text));
        given.close();
        await end();
      },
      cancel: end,
    },
    // Nothing is read for a client that does not ask, such as that of a HEAD.
    { highWaterMark: 0 },
  );
}

/** The streams of a dashboard that are open. */
export interface OpenStreams {
  /** Counts one more, which ends with its client's signal. Null: there are too many, or all were closed. */
  readonly open: (client: AbortSignal) => OpenStream | null;
  /** Ends all, and opens none afterwards. */
  readonly close: () => void;
}

export interface OpenStream {
  /** Aborts when it is to end, or has ended. */
  readonly signal: AbortSignal;
  /** May be repeated. */
  readonly end: () => void;
}

export function countStreams(max = MAX_STREAMS): OpenStreams {
  const ends = new Set<() => void>();
  let isClosed = false;
  return {
    open(client) {
      if (isClosed || ends.size >= max) return null;
      const ending = new AbortController();
      const end = () => {
        ends.delete(end);
        client.removeEventListener('abort', end);
        ending.abort();
      };
      ends.add(end);
      client.addEventListener('abort', end);
      if (client.aborted) end();
      return { signal: ending.signal, end };
    },
    close() {
      isClosed = true;
      for (const end of ends) end();
    },
  };
}

export const NO_STREAM = {
  body: { code: 'TOCK_NO_CONNECTION', message: 'too many streams are open' },
  headers: { 'retry-after': '30' },
} as const;

export const STREAM_HEADERS = {
  'content-type': 'text/event-stream; charset=utf-8',
  'cache-control': 'no-store',
  // nginx would hold the events back.
  'x-accel-buffering': 'no',
} as const;
