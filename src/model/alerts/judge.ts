// The flip rule: how an alert's state changes, and whether channels are notified.
import type { Rule } from './read-alerts.js';

export type AlertStatus = 'up' | 'down';
/** `up`: it has recovered. */
export type FlipKind = 'down' | 'up' | 'reminder';

/** One rule's view of one subject: a definition, a job, a queue, a host. Instants in epoch milliseconds. */
export interface AlertState {
  readonly rule: string;
  readonly subject: string;
  readonly status: AlertStatus;
  readonly since: number;
  /** Grows with each write: the compare-and-set compares it. 0: there is no row yet. */
  readonly version: number;
  /** Failed attempts in a row. */
  readonly failures: number;
  /** The job whose successes matter to it; null: none do. */
  readonly job: string | null;
  /** The definition of the run; null for a one-off run. */
  readonly definitionId: string | null;
  readonly runId: string | null;
  /** When the condition was last seen to be met. */
  readonly lastAt: number;
  /** When channels were last notified that it is down; null: never. */
  readonly notifiedAt: number | null;
  /** What is wrong, in a sentence. */
  readonly detail: string;
}

/** The subject of a folder in which nothing ticks. No name of a host has a colon. */
export const folderSubject = (host: string, folder: string) => `${host}:${folder}`;

/** Names by which an alert is muted: its rule, its subject, the host of a folder in which nothing ticks. */
export const mutedBy = (rule: Pick<Rule, 'name' | 'when'>, subject: string): readonly string[] => [
  rule.name,
  subject,
  ...(rule.when === 'silent' ? [subject.slice(0, Math.max(subject.indexOf(':'), 0))] : []),
];

/** What an evaluation found out about a subject. */
export interface Observation {
  readonly subject: string;
  readonly isDown: boolean;
  readonly detail: string;
  readonly failures?: number;
  readonly job?: string | null;
  readonly definitionId?: string | null;
  readonly runId?: string | null;
  readonly lastAt?: number;
}

export interface Change {
  readonly was: AlertState | null;
  readonly state: AlertState;
  /** Null: nothing flips, such as another failure of a few. */
  readonly flip: FlipKind | null;
  /** Whether channels are notified of the flip. */
  readonly isNotified: boolean;
}

export interface JudgeOptions {
  readonly rule: string;
  /** Null: no reminders. */
  readonly remindMs: number | null;
  readonly isMuted: boolean;
  readonly now: number;
}

/**
 * Decides. Channels are notified once when a condition is met, once when it has recovered, and by reminders
 * in between. While it is muted, they are not: if it is still down afterwards, they are notified then. A
 * recovery is not sent if its outage was not.
 * @returns null where the stored state stays as it is
 */
export function judge(was: AlertState | null, seen: Observation, options: JudgeOptions): Change | null {
  const { rule, remindMs, isMuted, now } = options;
  const wasDown = was?.status === 'down';
  const failures = seen.failures ?? 0;
  if (!wasDown && !seen.isDown && failures === (was?.failures ?? 0)) return null;
  const kept = {
    job: seen.job === undefined ? (was?.job ?? null) : seen.job,
    definitionId: seen.definitionId === undefined ? (was?.definitionId ?? null) : seen.definitionId,
    runId: seen.runId === undefined ? (was?.runId ?? null) : seen.runId,
  };
  const base = {
    rule,
    subject: seen.subject,
    version: was?.version ?? 0,
    failures,
    ...kept,
    lastAt: seen.lastAt ?? was?.lastAt ?? now,
  };
  const detail = seen.detail === '' ? (was?.detail ?? '') : seen.detail;
  if (seen.isDown && !wasDown) {
    const state: AlertState = {
      ...base,
      detail,
      status: 'down',
      since: now,
      notifiedAt: isMuted ? null : now,
    };
    return { was, state, flip: 'down', isNotified: !isMuted };
  }
  if (was !== null && wasDown && seen.isDown) {
    const again = (flip: FlipKind): Change => {
      const state: AlertState = { ...base, detail, status: 'down', since: was.since, notifiedAt: now };
      return { was, state, flip, isNotified: true };
    };
    if (!isMuted && was.notifiedAt === null) return again('down');
    if (!isMuted && remindMs !== null && now - (was.notifiedAt ?? now) >= remindMs) return again('reminder');
    if (failures === was.failures && base.runId === was.runId && base.lastAt === was.lastAt) return null;
    const state: AlertState = {
      ...base,
      detail,
      status: 'down',
      since: was.since,
      notifiedAt: was.notifiedAt,
    };
    return { was, state, flip: null, isNotified: false };
  }
  if (was !== null && wasDown) {
    const state: AlertState = { ...base, detail, status: 'up', since: now, notifiedAt: null };
    return { was, state, flip: 'up', isNotified: !isMuted && was.notifiedAt !== null };
  }
  // Up before and after: only the failures in a row have changed.
  const since = was?.since ?? now;
  const state: AlertState = { ...base, detail, status: 'up', since, notifiedAt: null };
  return { was, state, flip: null, isNotified: false };
}
