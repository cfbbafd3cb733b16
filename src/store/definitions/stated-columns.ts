// The columns of job_definitions that code or an operator states. Durations are read as milliseconds,
// instants by their epochs.
import type { ExpressionBuilder } from 'kysely';
import type { DefinitionColumns, StoredColumns } from '../../model/planning/definition.js';
import { selectedInstant } from '../connection/query.js';
import { instant } from '../connection/values/readable-instant.js';
import type { Schema } from '../schema/tables.js';

/** All of them: leaving one out does not compile. */
const COLUMNS = {
  name: 'plain',
  job: 'plain',
  payload: 'plain',
  cron: 'plain',
  every_ms: 'duration',
  phase_ms: 'duration',
  at: 'instant',
  after: 'plain',
  timezone: 'plain',
  dst: 'plain',
  start_at: 'instant',
  end_at: 'instant',
  exclude: 'plain',
  overlap: 'plain',
  catchup: 'plain',
  catchup_window_ms: 'duration',
  start_deadline_ms: 'duration',
  jitter_ms: 'duration',
  remaining_count: 'plain',
  pause_on_failure_count: 'plain',
  expect_within_ms: 'duration',
  max_duration_ms: 'duration',
  active_window: 'plain',
  outside_window: 'plain',
  queue: 'plain',
  priority: 'plain',
  max_attempts: 'plain',
  on_dead: 'plain',
} as const satisfies Record<keyof DefinitionColumns, 'plain' | 'duration' | 'instant'>;

type Column = keyof typeof COLUMNS;
type PlainColumn = { [C in Column]: (typeof COLUMNS)[C] extends 'plain' ? C : never }[Column];

export const STATED_COLUMNS = Object.keys(COLUMNS) as Column[];

/** Those that are read as they are. */
export const PLAIN_COLUMNS = STATED_COLUMNS.filter(
  (column): column is PlainColumn => COLUMNS[column] === 'plain',
);

/** The others, in a query over definitions `d`. */
export const selectTimes = (eb: ExpressionBuilder<Schema & { d: Schema['tock.job_definitions'] }, 'd'>) =>
  [
    selectedInstant(eb.ref('d.at')).as('at'),
    selectedInstant(eb.ref('d.start_at')).as('start_at'),
    selectedInstant(eb.ref('d.end_at')).as('end_at'),
    eb.cast<number | null>('d.every_ms', 'float8').as('every_ms'),
    eb.cast<number>('d.phase_ms', 'float8').as('phase_ms'),
    eb.cast<number | null>('d.catchup_window_ms', 'float8').as('catchup_window_ms'),
    eb.cast<number | null>('d.start_deadline_ms', 'float8').as('start_deadline_ms'),
    eb.cast<number>('d.jitter_ms', 'float8').as('jitter_ms'),
    eb.cast<number | null>('d.expect_within_ms', 'float8').as('expect_within_ms'),
    eb.cast<number | null>('d.max_duration_ms', 'float8').as('max_duration_ms'),
  ] as const;

const SELECTED = {
  plain: (column: Column) => column,
  duration: (column: Column) => `${column}::float8`,
  instant: (column: Column) => `${instant(column)} as ${column}`,
} as const;

const selected = (columns: readonly Column[]): string =>
  columns.map(column => SELECTED[COLUMNS[column]](column)).join(', ');

/** All of them, as a list for a statement's SELECT. */
export const STORED_COLUMNS = selected(STATED_COLUMNS);

const NOT_FOR_PLANNING = [
  'payload',
  'pause_on_failure_count',
  'expect_within_ms',
  'max_duration_ms',
  'queue',
  'priority',
  'max_attempts',
  'on_dead',
] as const satisfies readonly Column[];

/** Those that decide which occurrences a definition has, and when. */
export type PlanningColumns = Omit<StoredColumns, (typeof NOT_FOR_PLANNING)[number]>;

/** Those, as a list for a statement's SELECT. */
export const PLANNING_COLUMNS = selected(
  STATED_COLUMNS.filter(column => !(NOT_FOR_PLANNING as readonly string[]).includes(column)),
);
