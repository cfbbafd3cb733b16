// Inserts the runs of occurrences, and a skipped row for those without a run, in the caller's transaction.
//
// An occurrence has one row in job_occurrences, whose primary key is the promise that it runs once:
//
//   tick A                                        tick B
//   insert occurrence 12:00 -> run 1
//   insert run 1                                  insert occurrence 12:00 -> run 2: waits for A
//   move the cursor past 12:00, commit
//                                                 conflict, nothing inserted; so run 2 is left out too
//
// Occurrences go in sorted, so that two batches never wait for each other in a circle.
import type { Session } from '../connection/database.js';
import { statement } from '../connection/statement.js';
import { numberArray } from '../connection/values/number-array.js';
import {
  type CursorColumns,
  cursorColumns,
  MOVE,
  type MovedCursor,
  moveCursors,
} from '../definitions/due.js';
import { keepsChanges } from './changes.js';
import { fairRunsCome, joinFairSlots } from './fair/slots.js';
import { insertRuns, writeOutbox } from './transition.js';

/**
 * A run or a skip to insert. Job, queue, priority and attempts are those of its definition. Instants in epoch
 * milliseconds.
 */
export interface NewRow {
  readonly definition_id: string;
  /** Undefined: that of its definition. */
  readonly payload?: unknown;
  /** What people and handlers know it by; unique is the occurrence. */
  readonly key: string;
  readonly scheduled_for: number;
  readonly run_at: number;
  readonly start_by: number | null;
  readonly interval_start: number | null;
  readonly occurrence_count: number;
  /** Null: a run. */
  readonly skip_reason: string | null;
  readonly slot_keys: readonly string[] | null;
  readonly slot_limits: readonly number[] | null;
  readonly trigger: 'cron' | 'chain';
}

/** How many rows were inserted; whether the outbox has rows for skipped ones, or for runs of fair keys. */
export interface InsertedRows {
  readonly runs: number;
  readonly skips: number;
  readonly outboxWritten: boolean;
}

const OF_BOTH = {
  ...Object.fromEntries(
    [
      'id',
      'definition_id',
      'job',
      'queue',
      'priority',
      'max_attempts',
      'tags',
      'payload',
      'scheduled_for',
      'run_at',
      'interval_start',
      'occurrence_count',
      'trigger',
    ].map(column => [column, column]),
  ),
  idempotency_key: 'key',
};

interface RunColumns {
  readonly definitionIds: string;
  readonly scheduledFor: string;
  readonly runAt: string;
  readonly startBy: string;
  readonly intervalStart: string;
  readonly counts: string;
  readonly keys: readonly string[];
  readonly payloads: readonly (string | null)[] | null;
  readonly slots: readonly (string | null)[] | null;
}

interface Columns extends RunColumns {
  readonly triggers: readonly string[];
  readonly skipReasons: readonly (string | null)[];
}

// Columns as arrays, and what the definition has is read from it: sent as JSON, a row took twice as long. An
// array that would hold nulls only is null itself. Ids are given in the order of the rows.
const planned = (definitions: string, kind: 'runs' | 'runs and skips') => `planned as materialized (
  select nextval('tock.job_runs_id_seq') as id, o.* from (
    select p.definition_id, d.job, d.queue, d.priority, d.max_attempts, d.tags, ${keepsChanges('d')} as keeps_changes, p.key, p.occurrence_count,
      ${kind === 'runs' ? `'cron'::text as trigger` : 'p.trigger, p.skip_reason'},
      case when p.payload is null then d.payload else nullif(p.payload, 'null') end as payload,
      to_timestamp(p.scheduled_for / 1000) as scheduled_for, to_timestamp(p.run_at / 1000) as run_at,
      to_timestamp(p.start_by / 1000) as start_by, to_timestamp(p.interval_start / 1000) as interval_start,
      case when p.slots is not null then array(select jsonb_array_elements_text(p.slots -> 'keys')) end as slot_keys,
      case when p.slots is not null then array(select jsonb_array_elements_text(p.slots -> 'limits')::integer) end as slot_limits
    from unnest(:definitionIds::bigint[], :scheduledFor::float8[], :runAt::float8[], :startBy::float8[], :intervalStart::float8[],
      :counts::integer[], :keys::text[], :payloads::jsonb[], :slots::jsonb[]${kind === 'runs' ? '' : ', :triggers::text[], :skipReasons::text[]'}) with ordinality
      as p(definition_id, scheduled_for, run_at, start_by, interval_start, occurrence_count, key, payload, slots${kind === 'runs' ? '' : ', trigger, skip_reason'}, place)
    join ${definitions} d on d.id = p.definition_id
    order by p.place) o
)`;

/** CTE `fresh`: the occurrences of `planned` that had no row yet. */
const FRESH = `fresh as (
  insert into tock.job_occurrences (definition_id, scheduled_for, run_id)
  select definition_id, scheduled_for, id from planned order by definition_id, scheduled_for
  on conflict do nothing
  returning run_id
)`;

const FAIR_SLOTS = joinFairSlots({
  queue: 'queue',
  job: 'job',
  payload: 'payload',
  slotKeys: 'slot_keys',
  slotLimits: 'slot_limits',
});

/** @param chosen which of `planned` */
const queueRuns = (chosen: string, condition = '') =>
  insertRuns('job_runs_live', `planned ${chosen} ${FAIR_SLOTS}${condition} order by id`, {
    ...OF_BOTH,
    start_by: 'start_by',
    keeps_changes: 'keeps_changes',
    slot_keys: 'f.keys',
    slot_limits: 'f.limits',
    blocked_on: 'tock.fair_key_in(f.keys)',
    status: `'queued'`,
  });

// A row that stands for several is recorded also where the last of them has a run, as of a backfill: the
// others have none. Once only, also after a reset of the cursor.
const IS_RECORDED = `(fresh.run_id is not null or occurrence_count > 1 and planned.trigger = 'cron' and not exists (
      select from tock.job_runs_finished f
      where f.definition_id = planned.definition_id and f.scheduled_for = planned.scheduled_for and f.status = 'skipped' offset 0))`;

// `taken`: a chained occurrence that was skipped may run after all, after a retry of its parent.
const INSERT = statement<Columns, InsertedRows>(
  'insert-occurrences',
  `
with ${planned('tock.job_definitions', 'runs and skips')}, taken as (
  update tock.job_occurrences o set run_id = p.id from planned p
  where o.definition_id = p.definition_id and o.scheduled_for = p.scheduled_for and p.trigger = 'chain' and p.skip_reason is null
    and exists (select from tock.job_runs_finished f where f.id = o.run_id and f.status = 'skipped')
  returning o.run_id
), ${FRESH}, chosen as (
  select run_id from fresh union all select run_id from taken
), queued as (
  ${queueRuns('join chosen on chosen.run_id = planned.id', ' where skip_reason is null')}
  returning id, blocked_on
), ${fairRunsCome('queued')}, skipped as (
  ${insertRuns(
    'job_runs_finished',
    `planned left join fresh on fresh.run_id = planned.id where skip_reason is not null and ${IS_RECORDED}`,
    { ...OF_BOTH, status: `'skipped'`, finished_at: 'tock.now()', skip_reason: 'skip_reason' },
  )}
  returning id, generation, definition_id, scheduled_for, job, has_waiters
), ${writeOutbox('skipped', `'skipped'`)}
select (select count(*) from queued)::int as runs, (select count(*) from skipped)::int as skips,
  exists (select from noted) or exists (select from come) as "outboxWritten"`,
);

// Most batches have runs only: one statement, without what skips need. What moves the definitions also gives
// what runs take from them.
const INSERT_RUNS_AND_MOVE = statement<RunColumns & CursorColumns, Omit<InsertedRows, 'skips'>>(
  'insert-runs-and-move-cursors',
  `
with moved as (
  ${MOVE}
  returning d.id, d.name, d.job, d.queue, d.priority, d.max_attempts, d.tags, d.keeps_changes, d.payload
), ${planned('moved', 'runs')}, ${FRESH}, queued as (
  ${queueRuns('join fresh on fresh.run_id = planned.id')}
  returning id, blocked_on
), ${fairRunsCome('queued')}
select count(*)::int as runs, exists (select from come) as "outboxWritten" from queued`,
);

/**
 * Inserts rows; what has a row of its occurrence already is left out. The caller holds the locks of the
 * definitions.
 */
export async function insertOccurrences(session: Session, rows: readonly NewRow[]): Promise<InsertedRows> {
  if (rows.length === 0) return NONE;
  const columns: Columns = {
    ...runColumns(rows),
    triggers: rows.map(row => row.trigger),
    skipReasons: rows.map(row => row.skip_reason),
  };
  return (await INSERT.first(session, columns)) ?? NONE;
}

/** As {@link insertOccurrences}, and moves cursors: those of all definitions that have rows, and others. */
export async function insertAndMove(
  session: Session,
  rows: readonly NewRow[],
  cursors: readonly MovedCursor[],
): Promise<InsertedRows> {
  if (rows.length > 0 && rows.every(row => row.skip_reason === null && row.trigger === 'cron')) {
    const made = await INSERT_RUNS_AND_MOVE.first(session, {
      ...runColumns(rows),
      ...cursorColumns(cursors),
    });
    return { ...NONE, ...made };
  }
  const made = await insertOccurrences(session, rows);
  await moveCursors(session, cursors);
  return made;
}

const NONE: InsertedRows = { runs: 0, skips: 0, outboxWritten: false };

const runColumns = (rows: readonly NewRow[]): RunColumns => ({
  definitionIds: numberArray(rows, row => row.definition_id),
  scheduledFor: numberArray(rows, row => row.scheduled_for),
  runAt: numberArray(rows, row => row.run_at),
  startBy: numberArray(rows, row => row.start_by),
  intervalStart: numberArray(rows, row => row.interval_start),
  counts: numberArray(rows, row => row.occurrence_count),
  keys: rows.map(row => row.key),
  payloads: someOf(
    rows.map(row => (row.payload === undefined ? null : (JSON.stringify(row.payload) ?? 'null'))),
  ),
  slots: someOf(
    rows.map(row =>
      row.slot_keys === null ? null : JSON.stringify({ keys: row.slot_keys, limits: row.slot_limits }),
    ),
  ),
});

const someOf = <Value>(values: readonly (Value | null)[]) =>
  values.every(value => value === null) ? null : values;
