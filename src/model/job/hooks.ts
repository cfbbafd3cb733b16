// Hooks: the app's own functions that observe runs.

import type { ErrorEntry } from '../run/sanitize.js';
import type { Trigger } from '../run/states.js';
import type { Json } from './job.js';

/** A run as hooks see it. Its payload is left out, because it may hold what does not belong in a log. */
export interface HookRun {
  readonly id: string;
  readonly job: string;
  /** Null for a one-off run. */
  readonly definition: string | null;
  readonly attempt: number;
  readonly maxAttempts: number;
  readonly scheduledFor: Date | null;
  readonly trigger: Trigger;
}

/**
 * Called in the process that executed the attempt, after its outcome is written (onStart: before the handler
 * begins).
 *
 * Hooks observe runs; they cannot change them. They are not awaited, and what they throw is logged
 * (`hook.failed`). A process that dies calls none. For follow-up that must happen, set `onDead` of the job,
 * or define a job that runs `after` it.
 */
export interface Hooks {
  onStart?(run: HookRun): unknown;
  onSuccess?(run: HookRun, result: { readonly output: Json | null; readonly durationMs: number }): unknown;
  /** An attempt failed, and another follows after `retryInMs`. */
  onFailure?(run: HookRun, failure: { readonly error: ErrorEntry; readonly retryInMs: number }): unknown;
  /** Dead: by its handler, or because its lease expired on the last attempt and this process reaped it. */
  onDead?(run: HookRun, failure: { readonly error: ErrorEntry }): unknown;
}
