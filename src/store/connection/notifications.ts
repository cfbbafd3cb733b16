// The payload of a NOTIFY: there is a new run, one is to be cancelled, one waits for other code, there is
// something to reap, the outbox has rows, a run has ended for which somebody waits, or there are changes to
// read. Only a hint: every
// role that may connect can send one.
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
  /** An event was emitted: the outbox has rows. */
  | { readonly kind: 'outbox' }
  /** Runs of fair keys have come: the outbox has rows. */
  | { readonly kind: 'fair' }
  /** A worker did not know the jobs of some runs, which wait for one that does. */
  | { readonly kind: 'code' }
  /** What has become of runs is to be read. */
  | { readonly kind: 'changes' }
  /** A run has ended for which somebody waits. */
  | { readonly kind: 'ended'; readonly runId: string };

const PLAIN: ReadonlySet<string> = new Set(['soon', 'reap', 'code', 'outbox', 'fair', 'changes']);

/** Null for a payload that Tock does not send. */
export function readNotification(payload: string): Notification | null {
  if (payload === 'queued') return { kind: 'queued', lane: null };
  if (PLAIN.has(payload))
    return { kind: payload as 'soon' | 'reap' | 'code' | 'outbox' | 'fair' | 'changes' };
  const [, kind, runId] = /^(cancel|ended):(\d{1,19})$/.exec(payload) ?? [];
  if (runId !== undefined) return { kind: kind as 'cancel' | 'ended', runId };
  const [, number, queue] = /^queued:(-?\d{1,10}):(.{1,200})$/.exec(payload) ?? [];
  const priority = Number(number);
  if (queue === undefined || !isName(queue) || priority !== (priority | 0)) return null;
  return { kind: 'queued', lane: { queue, priority } };
}
