// Shell: cli. A job in code and its definition in the database, and where the two disagree.
// In: both, or one of them. Out: what a person should know of it.

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

/** What is odd about it: paused, broken, vanished, not registered yet, … with reasons. */
export function flagsOf({ record, job, hasHandler }: Listed): string[] {
  if (record === null) return ['not registered yet: the next tick does it'];
  const { pausedAt, pauseReason, brokenReason, vanishedAt } = record;
  return [
    pausedAt ? `paused${pauseReason === null ? '' : `: ${pauseReason}`}` : null,
    brokenReason === null ? null : `broken: ${brokenReason}`,
    vanishedAt ? (job ? 'not in the version of the code that is in force now' : 'vanished from code') : null,
    !hasHandler && !vanishedAt ? `this code has no job ${record.job}` : null,
    job && !vanishedAt && differs(job, record) ? 'changed in code: the next tick registers it' : null,
  ].filter(flag => flag !== null);
}

function differs(job: AnyJob, record: DefinitionRecord): boolean {
  if (record.origin !== 'code') return false;
  const { columns } = describeDefinition(job);
  return (
    columns.cron !== record.cron ||
    columns.every_ms !== record.everyMs ||
    (columns.at ?? null) !== (record.at?.toISOString() ?? null) ||
    columns.timezone !== record.timezone ||
    columns.dst !== record.dst ||
    columns.overlap !== record.overlap ||
    columns.catchup !== record.catchup ||
    fingerprintOf(columns.after) !== fingerprintOf(record.after) ||
    columns.active_window !== record.window ||
    columns.outside_window !== record.outsideWindow ||
    columns.pause_on_failure_count !== record.pauseOnFailure ||
    columns.queue !== record.queue ||
    columns.priority !== record.priority
  );
}
