// Room: engine. The rows that occurrences become: runs and skips, each under its occurrence.
// In: a due definition and its plan. Out: one insert for a whole batch.

import type { Occurrence } from '../../model/job/job.js';
import type { StoredColumns } from '../../model/planning/definition.js';
import type { Plan, PlannedRun } from '../../model/planning/plan-occurrences.js';
import { definitionKey, jobLimit, type Limit } from '../../model/run/limits.js';
import { utcText } from '../../model/schedule/instant-text.js';
import type { Session } from '../../store/connection/database.js';
import { TOLD } from '../../store/runs/transition.js';
import type { Engine } from '../engine.js';

/** A definition as materialization reads it. Durations and the cursor in milliseconds. */
export interface DueDefinition extends StoredColumns {
  readonly id: string;
  readonly cursor_ms: number;
}

/** One row to insert, a run or a skip. Instants as ISO text. */
export interface NewRow {
  readonly definition_id: string;
  readonly job: string;
  readonly queue: string;
  readonly priority: number;
  readonly max_attempts: number;
  readonly payload: unknown;
  /** What people and handlers know it by; unique is the occurrence. */
  readonly key: string;
  readonly scheduled_for: string;
  readonly run_at: string;
  readonly start_by: string | null;
  readonly interval_start: string | null;
  readonly occurrence_count: number;
  readonly skip_reason: string | null;
  readonly slot_keys: readonly string[] | null;
  readonly slot_limits: readonly number[] | null;
  readonly trigger: 'cron' | 'chain';
}

/** The rows that a plan asks for. */
export function rowsOf(engine: Engine, definition: DueDefinition, plan: Plan): NewRow[] {
  const { id, job, queue, priority, max_attempts } = definition;
  const shared = { definition_id: id, job, queue, priority, max_attempts, trigger: 'cron' as const };
  const runs = plan.runs.map(run => ({
    ...shared,
    payload: payloadFor(engine, definition, run),
    key: occurrenceKey(id, run.scheduledFor),
    scheduled_for: iso(run.scheduledFor),
    run_at: iso(run.runAt),
    start_by: run.startBy === null ? null : iso(run.startBy),
    interval_start: run.intervalStart === null ? null : iso(run.intervalStart),
    occurrence_count: run.occurrenceCount,
    skip_reason: null,
    ...slotsOf(engine, definition, run.isSerial),
  }));
  const skips = plan.skips.map(skip => ({
    ...shared,
    ...NO_SLOTS,
    payload: definition.payload,
    key: occurrenceKey(id, skip.last),
    scheduled_for: iso(skip.last),
    run_at: iso(skip.last),
    start_by: null,
    interval_start: iso(skip.first),
    occurrence_count: skip.occurrenceCount,
    skip_reason: skip.reason,
  }));
  return [...skips, ...runs];
}

const NO_SLOTS = { slot_keys: null, slot_limits: null };

/**
 * The places that a definition's run needs: its turn, where runs of the definition go one after another, and one
 * under its job's limit. A limit by key is found out by the worker, which knows the payload as the job sees it.
 */
export function slotsOf(
  engine: Engine,
  { id, job }: Pick<DueDefinition, 'id' | 'job'>,
  isSerial: boolean,
): Pick<NewRow, 'slot_keys' | 'slot_limits'> {
  const known = engine.registry.jobs.get(job);
  const limits: Limit[] = isSerial ? [{ key: definitionKey(id), limit: 1 }] : [];
  const limit = known && known.concurrency?.key === undefined ? jobLimit(known, null) : null;
  if (limit) limits.push(limit);
  if (limits.length === 0) return NO_SLOTS;
  return { slot_keys: limits.map(each => each.key), slot_limits: limits.map(each => each.limit) };
}

/** The identity of an occurrence as text: the definition's id and the nominal instant, in whole seconds of UTC. */
export function occurrenceKey(definitionId: string, instant: number): string {
  return `cron:${definitionId}:${utcText(instant)}`;
}

export function iso(ms: number): string {
  return new Date(ms).toISOString();
}

/**
 * The payload, computed by code where code says so. A function that throws, or a job that this process does not
 * have, leaves null: then it is computed when the run is executed, and a failure is kept with the run.
 */
export function payloadFor(
  engine: Engine,
  definition: Pick<DueDefinition, 'name' | 'job' | 'payload'>,
  run: Pick<PlannedRun, 'scheduledFor' | 'intervalStart' | 'occurrenceCount'>,
): unknown {
  const payload: unknown = engine.registry.jobs.get(definition.job)?.schedule?.payload;
  if (typeof payload !== 'function' || definition.name !== definition.job) return definition.payload;
  try {
    return (payload as (occurrence: Occurrence) => unknown)({
      scheduledFor: new Date(run.scheduledFor),
      dataInterval: {
        start: new Date(run.intervalStart ?? run.scheduledFor),
        end: new Date(run.scheduledFor),
      },
      occurrenceCount: run.occurrenceCount,
    });
  } catch {
    return null;
  }
}

// One statement for the batch. The occurrences go in sorted, so that two batches never wait for each other in a circle.
const INSERT = `
with planned as materialized (
  select nextval('tock.job_runs_id_seq') as id, p.* from jsonb_to_recordset($1::jsonb) as p(
    definition_id bigint, job text, queue text, priority integer, max_attempts integer, payload jsonb, key text,
    scheduled_for timestamptz, run_at timestamptz, start_by timestamptz, interval_start timestamptz,
    occurrence_count integer, skip_reason text, slot_keys text[], slot_limits integer[], trigger text)
), taken as (
  -- A chained occurrence that was skipped may run after all, once what it waits for was retried.
  update tock.job_occurrences o set run_id = p.id from planned p
  where o.definition_id = p.definition_id and o.scheduled_for = p.scheduled_for and p.trigger = 'chain' and p.skip_reason is null
    and exists (select from tock.job_runs_finished f where f.id = o.run_id and f.status = 'skipped')
  returning o.run_id
), fresh as (
  insert into tock.job_occurrences (definition_id, scheduled_for, run_id)
  select definition_id, scheduled_for, id from planned order by definition_id, scheduled_for
  on conflict do nothing
  returning run_id
), chosen as (
  select run_id from fresh union all select run_id from taken
), queued as (
  insert into tock.job_runs_live (id, definition_id, job, queue, priority, max_attempts, payload, idempotency_key,
    scheduled_for, run_at, start_by, interval_start, occurrence_count, slot_keys, slot_limits, trigger, status)
  select id, definition_id, job, queue, priority, max_attempts, payload, key,
    scheduled_for, run_at, start_by, interval_start, occurrence_count, slot_keys, slot_limits, trigger, 'queued'
  from planned join chosen on chosen.run_id = planned.id where skip_reason is null
  order by id
  returning id
), skipped as (
  insert into tock.job_runs_finished (id, definition_id, job, queue, priority, max_attempts, payload, idempotency_key,
    scheduled_for, run_at, interval_start, occurrence_count, trigger, status, finished_at, skip_reason)
  select id, definition_id, job, queue, priority, max_attempts, payload, key,
    scheduled_for, run_at, interval_start, occurrence_count, trigger, 'skipped', tock.now(), skip_reason
  from planned join fresh on fresh.run_id = planned.id where skip_reason is not null
  returning id, generation, definition_id, scheduled_for, job
), ${TOLD('skipped', `'skipped'`)}
select (select count(*) from queued)::int as runs, (select count(*) from skipped)::int as skips, exists (select from told) as told`;

/** Inserts rows; what has a row of its occurrence already is left out. Returns how many went in. */
export async function insertRows(session: Session, rows: readonly NewRow[]): Promise<InsertedRows> {
  if (rows.length === 0) return { runs: 0, skips: 0, told: false };
  const [made] = await session.run<InsertedRows>(INSERT, [JSON.stringify(rows)]);
  return made ?? { runs: 0, skips: 0, told: false };
}

/** How many went in, and whether the outbox has rows for what was skipped. */
export interface InsertedRows {
  readonly runs: number;
  readonly skips: number;
  readonly told: boolean;
}
