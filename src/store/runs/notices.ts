// Room: store. What NOTIFY says: that there is a new run, or that somebody asked to cancel one.
// In: a queue and priority. Out: a payload; and back. `queued` alone: somewhere. Only a hint: every role that may connect
// can send one, so that looks at the tables are the truth.
import { isName } from '../../model/names.js';
import type { QueuePriority } from './claim/claim.js';

/** `lane`: the one queue and priority in which there is something new; null: it may be in any. */
export type Notice =
  | { readonly kind: 'queued'; readonly lane: QueuePriority | null }
  | { readonly kind: 'cancel'; readonly runId: string };

/** Reads a payload; null for one that Tock does not send. */
export function readNotice(payload: string): Notice | null {
  if (payload === 'queued') return { kind: 'queued', lane: null };
  const runId = /^cancel:(\d{1,19})$/.exec(payload)?.[1];
  if (runId !== undefined) return { kind: 'cancel', runId };
  const [, number, queue] = /^queued:(-?\d{1,10}):(.{1,200})$/.exec(payload) ?? [];
  const priority = Number(number);
  if (queue === undefined || !isName(queue) || priority !== (priority | 0)) return null;
  return { kind: 'queued', lane: { queue, priority } };
}
