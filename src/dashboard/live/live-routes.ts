// The stream that an open page follows: it says that there is something new to show, and never what. The page
// then fetches itself, with the rights that its reader has by then.
import type { App } from '../view.js';
import { NO_STREAM, type OpenStreams, STREAM_HEADERS, type StreamTimes, textStream } from './text-stream.js';
import type { Watch } from './watch.js';

const ALIVE = 'event: alive\ndata: 0\n\n';
const CHANGED = 'event: changed\ndata: 0\n\n';
/** A browser that reconnects sends it again, and is told whether there has been more. */
const placeAt = (seen: string) => `id: ${seen}\n`;

export function addLive(app: App, watch: Watch, streams: OpenStreams, times: StreamTimes = {}): void {
  app.get('/live', c => {
    if (c.req.method === 'HEAD') return c.body(null, 200, STREAM_HEADERS);
    const stream = streams.open(c.req.raw.signal);
    if (stream === null) return c.json(NO_STREAM.body, 503, NO_STREAM.headers);
    const { version, frame } = c.get('view');
    const { seen } = frame;
    const shown = c.req.header('last-event-id') || c.req.query('seen');
    // Something may have been told since the view was read, and a new follower is told of later changes only.
    const isCurrent = shown === seen && version === watch.version;
    const follower = watch.join(seen);
    const end = () => {
      follower.leave();
      stream.end();
    };
    const body = textStream(
      {
        first: placeAt(seen) + (isCurrent ? ALIVE : CHANGED),
        next: async () => {
          const isFollowing = await follower.next();
          return isFollowing ? placeAt(watch.seen) + CHANGED : null;
        },
        alive: () => ALIVE,
        end,
      },
      stream.signal,
      times,
    );
    return c.body(body, 200, STREAM_HEADERS);
  });
}
