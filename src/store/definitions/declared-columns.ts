// How the columns of job_definitions that code or an operator states are read: durations as milliseconds,
// instants by their epochs.
import { type AliasedExpression, type RawBuilder, sql } from 'kysely';
import {
  COLUMNS,
  type Column,
  type DefinitionColumns,
  RECORD_NAMES,
  SHOWN_COLUMNS,
  type ShownColumn,
} from '../../model/planning/definition-columns.js';
import { readableInstant, selectedInstant } from '../connection/query.js';
import { instant } from '../connection/values/readable-instant.js';

const isDuration = (column: Column) => column.endsWith('_ms');
const isInstant = (column: Column) => column.endsWith('_at');

/** A column of definitions `d`. */
function read(column: Column, readInstant: (at: RawBuilder<Date | null>) => RawBuilder<unknown>) {
  const stored = sql.ref<Date | null>(`d.${column}`);
  if (isDuration(column)) return sql`cast(${stored} as float8)`;
  return isInstant(column) ? readInstant(stored) : stored;
}

type Selected<Names extends Partial<Record<Column, string>>> = {
  [C in Column & keyof Names]: AliasedExpression<DefinitionColumns[C], Names[C] & string>;
}[Column & keyof Names];

/** All of them, in a query over definitions `d`. */
export const DECLARED = COLUMNS.map(column => read(column, selectedInstant).as(column)) as Selected<{
  [C in Column]: C;
}>[];

/** Those that a record shows, by their names there. Every reader can hold their instants. */
export const SHOWN = SHOWN_COLUMNS.map(column =>
  read(column, readableInstant).as(RECORD_NAMES[column]),
) as Selected<Pick<typeof RECORD_NAMES, ShownColumn>>[];

function selected(column: Column): string {
  if (isDuration(column)) return `${column}::float8`;
  return isInstant(column) ? `${instant(column)} as ${column}` : column;
}

/** All of them, as a list for a statement's SELECT. */
export const STORED_COLUMNS = COLUMNS.map(selected).join(', ');

const NOT_FOR_PLANNING = [
  'payload',
  'pause_on_failure_count',
  'expect_within_ms',
  'max_duration_ms',
  'queue',
  'priority',
  'max_attempts',
  'tags',
  'on_dead',
  'keeps_changes',
] as const satisfies readonly Column[];

/** Those that decide which occurrences a definition has, and when. */
export type PlanningColumns = Omit<DefinitionColumns, (typeof NOT_FOR_PLANNING)[number]>;

/** Those, as a list for a statement's SELECT. */
export const PLANNING_COLUMNS = COLUMNS.filter(
  column => !(NOT_FOR_PLANNING as readonly string[]).includes(column),
)
  .map(selected)
  .join(', ');
