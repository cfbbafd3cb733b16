// Room: model. Hooks: the app's own functions that are told what becomes of runs. Types only.
// In: nothing. Out: what each hook is called with.

import type { ErrorEntry } from '../run/sanitize.js';
import type { Trigger } from '../run/states.js';
import type { Json } from './job.js';

/** A run as hooks see it. Its payload is left out: it may hold what does not belong into a log. */
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
 * Called in the process that executed the attempt, after its outcome is written (onStart: before the handler begins).
 *
 * A hook cannot harm the run: it is not waited for, and what it throws or rejects is logged (`hook.failed`). Nor is it
 * a guarantee: a process that dies calls none. What must follow from a run belongs into `onDead` of the job, or into a
 * definition that runs `after` it.
 */
export interface Hooks {
  onStart?(run: HookRun): unknown;
  onSuccess?(run: HookRun, result: { readonly output: Json | null; readonly durationMs: number }): unknown;
  /** An attempt failed and another follows, so long after the failure. */
  onFailure?(run: HookRun, failure: { readonly error: ErrorEntry; readonly retryInMs: number }): unknown;
  /** The run is dead: by its handler, or taken back by this process's reaper after its last attempt. */
  onDead?(run: HookRun, failure: { readonly error: ErrorEntry }): unknown;
}
