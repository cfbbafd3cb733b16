// What a definition consists of: the columns of job_definitions that code or an operator states, and what the
// public API calls them. A column that is named here is stored, read, compared and shown.
import type { Json } from '../job/job.js';
import type { RunStatus } from '../run/states.js';
import type { Shift } from '../schedule/days/shifted-days.js';
import type { Dst, ScheduleSpec } from '../schedule/spec.js';
import type { Chain, IntervalWait } from './chain.js';
import type { CatchupPolicy, OverlapPolicy } from './policies.js';
import type { OutsideWindow } from './window.js';

/** A definition as `tock jobs` shows it. */
export interface DefinitionRecord {
  readonly id: string;
  readonly name: string;
  readonly job: string;
  readonly origin: 'code' | 'runtime';
  /** Whose code defines it; empty: that of the service without a name, or made at run time. */
  readonly service: string;
  /** Grows with each edit, but not with a pause. */
  readonly version: number;
  readonly cron: string | null;
  readonly everyMs: number | null;
  /** With `everyMs`: the offset from its alignment. */
  readonly phaseMs: number;
  /** With `everyMs`: the local time from which whole days are counted; null: it is aligned to the epoch. */
  readonly anchor: string | null;
  /** An instant, `2027-11-12T08:00:00.000Z`, or a local time in `timezone`, `2027-11-12T08:00:00`. */
  readonly at: string | null;
  /** What it runs after; null: it has a schedule of its own, or none. */
  readonly after: Chain | null;
  /** Beside a schedule of its own: whose occurrences each run waits for; null: it starts when it is due. */
  readonly waitsFor: IntervalWait | null;
  readonly timezone: string;
  readonly dst: Dst;
  readonly startAt: Date | null;
  readonly endAt: Date | null;
  /** Business days are among them, as a weekend and a calendar. */
  readonly exclude: NonNullable<ScheduleSpec['exclude']>;
  /** Where an excluded day's occurrences go; null: nowhere. */
  readonly shift: Shift | null;
  /** Local hours in which its runs may start; null: all. */
  readonly window: string | null;
  readonly outsideWindow: OutsideWindow;
  readonly overlap: OverlapPolicy;
  readonly catchup: CatchupPolicy;
  readonly catchupWindowMs: number | null;
  readonly startDeadlineMs: number | null;
  readonly jitterMs: number;
  /** Of the scheduled runs; null if code computes it, or if there is no schedule. */
  readonly payload: unknown;
  readonly queue: string;
  readonly priority: number;
  readonly maxAttempts: number;
  /** Of its runs; null: none. */
  readonly tags: readonly string[] | null;
  readonly remaining: number | null;
  readonly pauseOnFailure: number | null;
  /** A success is expected this long after each occurrence; null: nothing is expected. */
  readonly expectWithinMs: number | null;
  /** How long an attempt should take at most; null: any time. */
  readonly maxDurationMs: number | null;
  readonly cursor: Date;
  readonly nextAt: Date | null;
  readonly pausedAt: Date | null;
  /** When its pause ends by itself; null: it is not paused, or until it is resumed. */
  readonly pausedUntil: Date | null;
  readonly pauseReason: string | null;
  /** Of the act that paused it together with others; null: it is paused on its own, or not at all. */
  readonly pauseId: string | null;
  readonly brokenReason: string | null;
  readonly vanishedAt: Date | null;
  readonly lastRun: {
    readonly id: string;
    readonly status: RunStatus;
    readonly finishedAt: string | null;
  } | null;
}

/** The stated columns, by their names in a record. Durations are called `*_ms`, instants `*_at`. */
export const RECORD_NAMES = {
  name: 'name',
  job: 'job',
  payload: 'payload',
  cron: 'cron',
  every_ms: 'everyMs',
  phase_ms: 'phaseMs',
  anchor: 'anchor',
  at: 'at',
  after: 'after',
  waits_for: 'waitsFor',
  timezone: 'timezone',
  dst: 'dst',
  start_at: 'startAt',
  end_at: 'endAt',
  exclude: 'exclude',
  shift: 'shift',
  overlap: 'overlap',
  catchup: 'catchup',
  catchup_window_ms: 'catchupWindowMs',
  start_deadline_ms: 'startDeadlineMs',
  jitter_ms: 'jitterMs',
  remaining_count: 'remaining',
  pause_on_failure_count: 'pauseOnFailure',
  expect_within_ms: 'expectWithinMs',
  max_duration_ms: 'maxDurationMs',
  active_window: 'window',
  outside_window: 'outsideWindow',
  queue: 'queue',
  priority: 'priority',
  max_attempts: 'maxAttempts',
  tags: 'tags',
  // Not shown.
  on_dead: 'onDead',
  keeps_changes: 'keepsChanges',
} as const;

/** What a record shows, and what it does not. */
type Stated = Omit<DefinitionRecord, 'payload'> & {
  readonly payload: Json | null;
  /** The job that is enqueued for each dead run; only of definitions that have their job's own names. */
  readonly onDead: string | null;
  /** What becomes of its runs is kept; null: not. */
  readonly keepsChanges: boolean | null;
};

export type Column = keyof typeof RECORD_NAMES;

/** A definition as it is stored. */
export type DefinitionColumns = { readonly [C in Column]: Stated[(typeof RECORD_NAMES)[C]] };

type HiddenColumn = 'on_dead' | 'keeps_changes';
export type ShownColumn = Exclude<Column, HiddenColumn>;
export type ShownColumns = Pick<DefinitionColumns, ShownColumn>;

export const COLUMNS = Object.keys(RECORD_NAMES) as Column[];
export const SHOWN_COLUMNS = COLUMNS.filter(
  (column): column is ShownColumn => column !== 'on_dead' && column !== 'keeps_changes',
);

/** The stated columns of a row that has others too. */
export function statedOf(row: DefinitionColumns): DefinitionColumns {
  return Object.fromEntries(COLUMNS.map(column => [column, row[column]])) as unknown as DefinitionColumns;
}

/**
 * What is left of a stated `remaining`: stating the same number again goes on with what is left of it.
 * @param row as it is stored; null: there is none, or it was removed
 */
export function leftOf(
  stated: number | null,
  row: { readonly remaining_count: number | null; readonly remaining_stated: number | null } | null,
): number | null {
  return row !== null && row.remaining_stated === stated ? row.remaining_count : stated;
}

/** What a record shows, as it is stored. */
export function columnsOf(record: DefinitionRecord): ShownColumns {
  const columns = SHOWN_COLUMNS.map(column => [column, record[RECORD_NAMES[column]]]);
  return Object.fromEntries(columns) as ShownColumns;
}

/** The option that states what a record calls `Name`: that of `everyMs` is `every`. */
type OptionOf<Name> = Name extends `${infer Option}Ms` ? Option : Name;
type RecordName<C extends ShownColumn> = (typeof RECORD_NAMES)[C];
export type Option = OptionOf<RecordName<ShownColumn>>;

/** For each option, what `read` gives for its column. */
export function byOption<T>(read: (column: ShownColumn) => T): Readonly<Record<Option, T>> {
  const values = SHOWN_COLUMNS.map(column => [RECORD_NAMES[column].replace(/Ms$/, ''), read(column)]);
  return Object.fromEntries(values) as Readonly<Record<Option, T>>;
}

/** A definition's columns by the options that state them. */
export function optionsOf(columns: ShownColumns) {
  return byOption(column => columns[column]) as {
    readonly [C in ShownColumn as OptionOf<RecordName<C>>]: ShownColumns[C];
  };
}
