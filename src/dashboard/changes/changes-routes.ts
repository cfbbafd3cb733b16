// What becomes of runs, as server-sent events: of one run, or of jobs. Behind the same door as the pages.
import type { Context } from 'hono';
import { getRun } from '../../answers/runs/lists.js';
import type { SubscribeOptions } from '../../model/changes/change.js';
import { TockError } from '../../model/errors.js';
import { NO_STREAM, type OpenStreams, STREAM_HEADERS, type StreamTimes } from '../live/text-stream.js';
import { readRunId } from '../query.js';
import type { App, View } from '../view.js';
import { eventStream } from './event-stream.js';

/** A browser tries no more after these. */
const REFUSALS: Readonly<Record<string, 400 | 410>> = { TOCK_BAD_CURSOR: 400, TOCK_CHANGES_GONE: 410 };

/** @param times for tests */
export function addChanges(app: App, streams: OpenStreams, times: StreamTimes = {}): void {
  const stream = async (c: Context<{ Variables: { view: View } }>, asked: SubscribeOptions) => {
    if (c.req.method === 'HEAD') return c.body(null, 200, STREAM_HEADERS);
    // Counted from here: it may have to wait for the database, and its client may leave before it is read.
    const open = streams.open(c.req.raw.signal);
    if (open === null) return c.json(NO_STREAM.body, 503, NO_STREAM.headers);
    const from = c.req.header('last-event-id') || c.req.query('from');
    const { tock } = c.get('view');
    const { signal, end } = open;
    const subscription = tock.changes.subscribe({ ...asked, ...(from ? { from } : {}), signal });
    try {
      const cursor = await subscription.begin();
      const ended = await endOf(c, asked, cursor);
      const first = from ? null : ended;
      return c.body(eventStream(subscription, { first, onEnd: end, signal }, times), 200, STREAM_HEADERS);
    } catch (error) {
      end();
      await subscription.return();
      const status = error instanceof TockError ? REFUSALS[error.code] : undefined;
      if (status === undefined) throw error;
      const { code, message } = error as TockError;
      return c.json({ code, message }, status);
    }
  };
  app.get('/changes', async c => {
    const jobs = c.req.queries('job')?.filter(job => job !== '') ?? [];
    return await stream(c, jobs.length === 0 ? {} : { jobs });
  });
  app.get('/runs/:id/changes', async c => await stream(c, { run: readRunId(c.req.param('id')) }));
}

/**
 * The end of the run that is asked for, if it has ended: a stream from now on would never tell it.
 * @throws TockError TOCK_NOT_FOUND
 */
async function endOf(
  c: Context<{ Variables: { view: View } }>,
  { run: id }: SubscribeOptions,
  cursor: string,
) {
  if (id === undefined) return null;
  const run = await getRun(c.get('view').reads, id);
  if (run === null) throw new TockError('TOCK_NOT_FOUND', `there is no run ${id}; it may have been pruned`);
  if (run.finishedAt === null) return null;
  const { job, definition, status, attempts, generation, finishedAt: at } = run;
  return { cursor, kind: 'ended', runId: run.id, job, definition, status, attempts, generation, at } as const;
}
