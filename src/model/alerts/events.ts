// What ended attempts say: failures in a row, and dead runs.
import type { AlertState, Observation } from './judge.js';

/** Failed attempts, runs that ended dead, or successes of a subject that had failed. In epoch ms. */
export interface AttemptEvent {
  readonly kind: 'failed' | 'dead' | 'succeeded';
  /** How many. */
  readonly count: number;
  /** The last of them. */
  readonly runId: string;
  /** Null for a one-off run. */
  readonly definitionId: string | null;
  readonly job: string;
  /** The definition's name; of a one-off run, the job's. */
  readonly subject: string;
  readonly at: number;
}

/** How long a job counts as down after its last dead one-off run, unless that run is retried. */
const DEAD_FOR_MS = 86_400_000;

/** Attempts that failed in a row, by a subject's events in their order. A success resets the count. */
export function observeFailing(
  was: AlertState | null,
  events: readonly AttemptEvent[],
  times: number,
): Observation | null {
  const [first] = events;
  if (first === undefined) return null;
  let failures = was?.failures ?? 0;
  let last = first;
  for (const event of events) {
    failures = event.kind === 'succeeded' ? 0 : failures + event.count;
    last = event;
  }
  const isDown = failures >= times;
  return {
    subject: first.subject,
    isDown,
    failures,
    detail: isDown ? failingText(failures) : 'it succeeds again',
    // From now on its successes are noted.
    job: failures > 0 ? last.job : null,
    definitionId: last.definitionId,
    runId: last.runId,
    lastAt: last.at,
  };
}

function failingText(failures: number): string {
  return failures === 1 ? 'an attempt has failed' : `${failures} attempts in a row have failed`;
}

/**
 * Whether a run has ended dead. It recovers with the next success of its definition; for a one-off run, with
 * the success of that very run after a retry.
 */
export function observeDead(was: AlertState | null, events: readonly AttemptEvent[]): Observation | null {
  const [first] = events;
  if (first === undefined) return null;
  let dead: AttemptEvent | null = null;
  let count = 0;
  let isDown = was?.status === 'down';
  let runId = was?.runId ?? null;
  for (const event of events) {
    if (event.kind === 'dead') [dead, count, isDown, runId] = [event, count + event.count, true, event.runId];
    if (event.kind === 'succeeded' && (event.definitionId !== null || event.runId === runId)) isDown = false;
  }
  if (!isDown) return { subject: first.subject, isDown, detail: 'a run has succeeded', job: null };
  if (dead === null) return null;
  return {
    subject: first.subject,
    isDown,
    detail:
      count === 1
        ? `run ${dead.runId} ended dead`
        : `${count} runs ended dead, run ${dead.runId} the last of them`,
    job: dead.job,
    definitionId: dead.definitionId,
    runId: dead.runId,
    lastAt: dead.at,
  };
}

/** A dead one-off run that is not retried recovers after a day. */
export function isDeadOver(state: AlertState, now: number): boolean {
  return state.definitionId === null && now - state.lastAt >= DEAD_FOR_MS;
}
