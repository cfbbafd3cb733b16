// The payload of a NOTIFY: there is a new run, one is to be cancelled, or there is something to reap. Only a
// hint: every role that may connect can send one.
import { isName } from '../../model/names.js';
import type { QueuePriority } from '../runs/claim/claim.js';

/** `queuePriority`: where there is a new run that is due; null: anywhere. */
export type Notice =
  | { readonly kind: 'queued'; readonly queuePriority: QueuePriority | null }
  /** There is a new run, which is due before the next look. */
  | { readonly kind: 'soon' }
  | { readonly kind: 'cancel'; readonly runId: string }
  /** A run that was handed over is decided or cancelled. */
  | { readonly kind: 'reap' };

/** Null for a payload that Tock does not send. */
export function readNotice(payload: string): Notice | null {
  if (payload === 'queued') return { kind: 'queued', queuePriority: null };
  if (payload === 'soon' || payload === 'reap') return { kind: payload };
  const runId = /^cancel:(\d{1,19})$/.exec(payload)?.[1];
  if (runId !== undefined) return { kind: 'cancel', runId };
  const [, number, queue] = /^queued:(-?\d{1,10}):(.{1,200})$/.exec(payload) ?? [];
  const priority = Number(number);
  if (queue === undefined || !isName(queue) || priority !== (priority | 0)) return null;
  return { kind: 'queued', queuePriority: { queue, priority } };
}
