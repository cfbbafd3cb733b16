// A job in code and its definition in the database, and how the two differ.

import type { AnyJob } from '../../model/job/job.js';
import { describeDefinition, fingerprintOf } from '../../model/planning/definition.js';
import {
  columnsOf,
  type DefinitionRecord,
  type ShownColumns,
} from '../../model/planning/definition-columns.js';
import { localTime } from './time-text.js';

export interface Listed {
  readonly name: string;
  readonly record: DefinitionRecord | null;
  readonly job: AnyJob | null;
  /** Whether this process has the job that executes the definition's runs. */
  readonly hasHandler: boolean;
  /** It belongs to another service. */
  readonly isElsewhere: boolean;
}

/** Remarks with reasons: paused, broken, vanished, not registered yet, … */
export function flagsOf({ record, job, hasHandler, isElsewhere }: Listed): string[] {
  if (record === null) return ['not registered yet: the next tick registers it'];
  const { pausedAt, pausedUntil, pauseReason, brokenReason, vanishedAt } = record;
  return [
    pausedAt
      ? `paused${pausedUntil === null ? '' : ` until ${localTime(pausedUntil)}`}${pauseReason === null ? '' : `: ${pauseReason}`}`
      : null,
    brokenReason === null ? null : `broken: ${brokenReason}`,
    vanishedAt ? (job ? 'not in the version of the code that is in force' : 'vanished from code') : null,
    !hasHandler && !vanishedAt && !isElsewhere ? `this code has no job ${record.job}` : null,
    job && !vanishedAt && differs(job, record) ? 'changed in code: the next tick registers it' : null,
  ].filter(flag => flag !== null);
}

/**
 * Compares all columns but three: `remaining` counts down, and records do not show `onDead` and `changes`.
 */
function differs(job: AnyJob, record: DefinitionRecord): boolean {
  if (record.origin !== 'code') return false;
  const { on_dead: _onDead, keeps_changes: _keepsChanges, ...inCode } = describeDefinition(job).columns;
  const compared = ({ remaining_count: _remaining, ...columns }: ShownColumns) => fingerprintOf(columns);
  return compared(inCode) !== compared(columnsOf(record));
}
