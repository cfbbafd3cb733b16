// Which definitions are meant, by name, job and state: the condition of lists, and of acts on many.
import { type Expression, type ExpressionBuilder, type SqlBool, sql } from 'kysely';
import { isAnyOf, now } from '../connection/query.js';
import type { Schema } from '../schema/tables.js';
import { isPlanned } from './stored-definition.js';

/**
 * - `scheduled`: it makes runs by itself
 * - `late`: its next occurrence has been due for two minutes
 * - `manual`: it has no schedule
 * - `removed`: removed, or vanished from code
 */
export const DEFINITION_STATES = ['scheduled', 'late', 'paused', 'broken', 'manual', 'removed'] as const;
/** One of {@link DEFINITION_STATES}. */
export type DefinitionState = (typeof DEFINITION_STATES)[number];

/** Which definitions: those for which all of it holds; `{}`: all. */
export interface ScheduleMatch {
  /** Only these. */
  readonly names?: readonly string[];
  /** Only those that this act has paused, and that nobody has touched since: an id of `schedules.pauses`. */
  readonly pause?: string;
  /** A part of the name, in any case. */
  readonly name?: string | null;
  readonly job?: string | null;
  /** Default: all but those removed; with `pause`, also what has vanished from code meanwhile. */
  readonly state?: DefinitionState | null;
}

export type Definitions = ExpressionBuilder<Schema & { d: Schema['tock.job_definitions'] }, 'd'>;

/** Whether a definition `d` has a next occurrence that is known. */
export const isFinite = (eb: Definitions) => sql<SqlBool>`isfinite(${eb.ref('d.next_at')})`;

function inState(eb: Definitions, state: DefinitionState | null): Expression<SqlBool> {
  const is = (column: 'd.paused_at' | 'd.broken_at') =>
    eb.and([eb(column, 'is not', null), eb('d.vanished_at', 'is', null)]);
  switch (state) {
    case 'scheduled':
      return isPlanned(eb);
    case 'late':
      return eb.and([
        isPlanned(eb),
        isFinite(eb),
        eb('d.next_at', '<', sql<Date>`${now} - interval '2 minutes'`),
      ]);
    case 'paused':
      return is('d.paused_at');
    case 'broken':
      return is('d.broken_at');
    case 'manual':
      return eb.and([
        eb('d.cron', 'is', null),
        eb('d.every_ms', 'is', null),
        eb('d.at', 'is', null),
        eb('d.after', 'is', null),
        eb('d.vanished_at', 'is', null),
      ]);
    case 'removed':
      return eb('d.vanished_at', 'is not', null);
    case null:
      return eb('d.vanished_at', 'is', null);
  }
}

/** One that was removed keeps its row, hidden. */
export const isShown = (eb: Definitions) =>
  eb.or([eb('d.origin', '=', 'code'), eb('d.vanished_at', 'is', null)]);

/** Whether a definition `d` is among those of a filter. */
export function matches(
  eb: Definitions,
  { names, pause, name, job, state = null }: ScheduleMatch,
): Expression<SqlBool> {
  return eb.and([
    pause !== undefined && state === null ? isShown(eb) : inState(eb, state),
    ...(pause === undefined ? [] : [eb('d.pause_id', '=', pause)]),
    ...(names ? [isAnyOf(eb.ref('d.name'), names, 'text')] : []),
    ...(name ? [sql<SqlBool>`position(lower(${name}) in lower(${eb.ref('d.name')})) > 0`] : []),
    ...(job ? [eb('d.job', '=', job)] : []),
  ]);
}
