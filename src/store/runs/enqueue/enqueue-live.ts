// Puts runs into the queue some of which have a key that is unique only while its run is live.
import type { Session } from '../../connection/database.js';
import { statement } from '../../connection/statement.js';
import { type EnqueuedRow, type EnqueuedRun, type RunShape, withoutNulls } from './enqueued-run.js';

const ENQUEUE_LIVE = statement<
  { readonly rows: string },
  Omit<EnqueuedRun, 'id'> & { readonly id: string | null }
>('enqueue-live', 'select place, made, replaced, id from tock.enqueue_live(:rows::text) order by place', {
  prepared: true,
});

/**
 * Enqueues a batch in one statement. The answers are in the order of the rows; an id is empty where another
 * session used the key at this very moment: the statement cannot see that run.
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
  const enqueued = await ENQUEUE_LIVE.run(session, { rows: `[${texts.join()}]` });
  return enqueued.map(({ id, made, replaced }) => ({ id: id ?? '', made, replaced }));
}
