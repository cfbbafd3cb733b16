// Room: model. Hooks: the app's own functions that observe runs. Types only.
// In: nothing. Out: what each hook is called with.

import type { ErrorEntry } from '../run/sanitize.js';
import type { Trigger } from '../run/states.js';
import type { Json } from './job.js';

/** A run as hooks see it. Its payload is left out: it may hold what does not belong in a log. */
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
 * (`hook.failed`). They are no guarantee: a process that dies calls none. For follow-up that must happen, set
 * `onDead` of the job, or define a job that runs `after` it.
 */
export interface Hooks {
  /** An attempt begins. */
  onStart?(run: HookRun): unknown;
  /** The run has succeeded. */
  onSuccess?(run: HookRun, result: { readonly output: Json | null; readonly durationMs: number }): unknown;
  /** An attempt failed, and another follows after `retryInMs`. */
  onFailure?(run: HookRun, failure: { readonly error: ErrorEntry; readonly retryInMs: number }): unknown;
  /**
   * The run is dead: by its handler, or because its lease expired on the last attempt and this process reaped
   * it.
   */
  onDead?(run: HookRun, failure: { readonly error: ErrorEntry }): unknown;
}
