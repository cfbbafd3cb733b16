// Room: store. Puts runs into the queue some of which have a key that is unique only while its run is live.
// In: rows as the engine has checked them, and any client. Out: which run each row stands for.
import type { Session } from '../connection/database.js';
import { PREPARED } from '../connection/prepared.js';
import { type EnqueuedRow, type EnqueuedRun, type RunShape, withoutNulls } from './enqueued-run.js';

// For its parameter and columns see enqueue-runs.ts.
const ENQUEUE_LIVE = 'select place, made, replaced, id from tock.enqueue_live($1::text) order by place';

/**
 * Enqueues a batch in one statement. The answers are in the order of the rows; an id is empty where somebody else used the
 * key at this very moment: in the snapshot of the statement there is none of it.
 */
export async function enqueueLiveRuns(
  session: Session,
  rows: readonly EnqueuedRow[],
): Promise<EnqueuedRun[]> {
  const shapes = new Map<RunShape, string>();
  const fieldsOf = (shape: RunShape) => {
    const known = shapes.get(shape);
    if (known !== undefined) return known;
    const fields = JSON.stringify(withoutNulls(shape)).slice(1, -1);
    shapes.set(shape, fields);
    return fields;
  };
  const texts = rows.map(
    ({ shape, payload, key }, place) =>
      `{"place":${place},"key":${JSON.stringify(key)},"payload":${payload},${fieldsOf(shape)}}`,
  );
  const enqueued = await session.run<Omit<EnqueuedRun, 'id'> & { readonly id: string | null }>(
    ENQUEUE_LIVE,
    [`[${texts.join()}]`],
    PREPARED,
  );
  return enqueued.map(({ id, made, replaced }) => ({ id: id ?? '', made, replaced }));
}
