// What comes into a queue that is behind, and what ends: read where it is, and reckoned.
import { flowSpan, type QueueFlow, queueFlow } from '../model/explain/queue-flow.js';
import type { Session } from '../store/connection/database.js';
import { readQueueDue } from '../store/reads/metrics/queue-due.js';
import { readQueueEnds } from '../store/reads/metrics/rollup.js';

/** With more waiting runs than this, a page says nothing of their times. */
const MAX_DUE = 50_000;

/** Null: it is not behind, or too much waits for a page. @param limit of waiting runs that are looked at */
export async function readQueueFlow(
  session: Session,
  { name, oldestAt }: { readonly name: string; readonly oldestAt: Date | null },
  { now, limit = MAX_DUE }: { readonly now: Date; readonly limit?: number },
): Promise<QueueFlow | null> {
  const span = flowSpan(oldestAt, now);
  if (span === null) return null;
  const waiting = await readQueueDue(session, name, { span, limit: limit + 1 });
  if (waiting.reduce((sum, { count }) => sum + count, 0) > limit) return null;
  return queueFlow(span, waiting, await readQueueEnds(session, name, span));
}
