// The payload of a NOTIFY: there is a new run, one is to be cancelled, one waits for other code, there is
// something to reap, or a run has ended for which somebody waits. Only a hint: every role that may connect
// can send one.
import { isName } from '../../model/names.js';
import type { QueueLane } from '../runs/claim/claim.js';

/** `lane`: in which there is a new run that is due; null: in any. */
export type Notification =
  | { readonly kind: 'queued'; readonly lane: QueueLane | null }
  /** There is a new run, which is due before the next poll. */
  | { readonly kind: 'soon' }
  | { readonly kind: 'cancel'; readonly runId: string }
  /** A run that was handed off is decided or cancelled. */
  | { readonly kind: 'reap' }
  /** A worker did not know the jobs of some runs, which wait for one that does. */
  | { readonly kind: 'code' }
  /** A run has ended for which somebody waits. */
  | { readonly kind: 'ended'; readonly runId: string };

/** Null for a payload that Tock does not send. */
export function readNotification(payload: string): Notification | null {
  if (payload === 'queued') return { kind: 'queued', lane: null };
  if (payload === 'soon' || payload === 'reap' || payload === 'code') return { kind: payload };
  const [, kind, runId] = /^(cancel|ended):(\d{1,19})$/.exec(payload) ?? [];
  if (runId !== undefined) return { kind: kind as 'cancel' | 'ended', runId };
  const [, number, queue] = /^queued:(-?\d{1,10}):(.{1,200})$/.exec(payload) ?? [];
  const priority = Number(number);
  if (queue === undefined || !isName(queue) || priority !== (priority | 0)) return null;
  return { kind: 'queued', lane: { queue, priority } };
}
