// A job in code and its definition in the database, and how the two differ.

import type { AnyJob } from '../../model/job/job.js';
import { describeDefinition, fingerprintOf } from '../../model/planning/definition.js';
import type { DefinitionRecord } from '../../store/reads/runs.js';

export interface Listed {
  readonly name: string;
  readonly record: DefinitionRecord | null;
  readonly job: AnyJob | null;
  /** Whether this process has the job that executes the definition's runs. */
  readonly hasHandler: boolean;
}

/** Remarks with reasons: paused, broken, vanished, not registered yet, … */
export function flagsOf({ record, job, hasHandler }: Listed): string[] {
  if (record === null) return ['not registered yet: the next tick registers it'];
  const { pausedAt, pauseReason, brokenReason, vanishedAt } = record;
  return [
    pausedAt ? `paused${pauseReason === null ? '' : `: ${pauseReason}`}` : null,
    brokenReason === null ? null : `broken: ${brokenReason}`,
    vanishedAt ? (job ? 'not in the version of the code that is in force' : 'vanished from code') : null,
    !hasHandler && !vanishedAt ? `this code has no job ${record.job}` : null,
    job && !vanishedAt && differs(job, record) ? 'changed in code: the next tick registers it' : null,
  ].filter(flag => flag !== null);
}

/** Compares all columns but two: `remaining` counts down, and records do not show `onDead`. */
function differs(job: AnyJob, record: DefinitionRecord): boolean {
  if (record.origin !== 'code') return false;
  const { remaining_count: _remaining, on_dead: _onDead, ...inCode } = describeDefinition(job).columns;
  const stored: Readonly<Record<keyof typeof inCode, unknown>> = {
    name: record.name,
    job: record.job,
    payload: record.payload,
    cron: record.cron,
    every_ms: record.everyMs,
    phase_ms: record.phaseMs,
    at: record.at,
    after: record.after,
    timezone: record.timezone,
    dst: record.dst,
    start_at: record.startAt,
    end_at: record.endAt,
    exclude: record.exclude,
    active_window: record.window,
    outside_window: record.outsideWindow,
    overlap: record.overlap,
    catchup: record.catchup,
    catchup_window_ms: record.catchupWindowMs,
    start_deadline_ms: record.startDeadlineMs,
    jitter_ms: record.jitterMs,
    pause_on_failure_count: record.pauseOnFailure,
    expect_within_ms: record.expectWithinMs,
    max_duration_ms: record.maxDurationMs,
    queue: record.queue,
    priority: record.priority,
    max_attempts: record.maxAttempts,
  };
  return fingerprintOf(inCode) !== fingerprintOf(stored);
}
