// The rows that occurrences become: runs and skips, each under its occurrence.

import type { Occurrence } from '../../model/job/job-schedule.js';
import { checkPayload } from '../../model/job/payload/payload.js';
import { knownJob } from '../../model/job/registry.js';
import type { DefinitionColumns } from '../../model/planning/definition-columns.js';
import type { Plan, PlannedRun } from '../../model/planning/plan-occurrences.js';
import { definitionKey, jobLimit, type Limit } from '../../model/run/limits.js';
import { NEVER_MS } from '../../model/run/run-wait.js';
import type { SkipReason } from '../../model/run/states.js';
import type { DueDefinition } from '../../store/definitions/due.js';
import type { NewRow } from '../../store/runs/materialize.js';
import type { Engine } from '../engine.js';

/** The rows that a plan asks for. */
export function rowsOf(engine: Engine, definition: DueDefinition, plan: Plan): NewRow[] {
  const { id } = definition;
  const rows: NewRow[] = plan.skips.map(skip => ({
    ...skippedRow(id, skip.last, skip.reason),
    interval_start: skip.first,
    occurrence_count: skip.occurrenceCount,
  }));
  for (const run of plan.runs) {
    const { slot_keys, slot_limits } = slotsOf(engine, definition, run.isSerial);
    rows.push({
      definition_id: id,
      payload: computedPayload(engine, definition, run),
      key: occurrenceKey(id, run.scheduledFor),
      scheduled_for: run.scheduledFor,
      // What waits for others is due once they have ended.
      run_at: definition.waits_for === null ? run.runAt : NEVER_MS,
      start_by: run.startBy,
      interval_start: run.intervalStart,
      occurrence_count: run.occurrenceCount,
      skip_reason: null,
      slot_keys,
      slot_limits,
      trigger: 'cron',
    });
  }
  return rows;
}

/** The row of an occurrence without a run. */
export function skippedRow(id: string, at: number, reason: SkipReason): NewRow {
  return {
    definition_id: id,
    key: occurrenceKey(id, at),
    scheduled_for: at,
    run_at: at,
    start_by: null,
    interval_start: at,
    occurrence_count: 1,
    skip_reason: reason,
    ...NO_SLOTS,
    trigger: 'cron',
  };
}

const NO_SLOTS = { slot_keys: null, slot_limits: null };

/**
 * The slots that a definition's run needs: its turn, where runs of the definition go one after another, and
 * one under its job's limit. A limit by key is left to the worker, which knows the payload as the job sees
 * it.
 */
export function slotsOf(
  engine: Engine,
  { id, job }: Pick<DueDefinition, 'id' | 'job'>,
  isSerial: boolean,
): Pick<NewRow, 'slot_keys' | 'slot_limits'> {
  const known = knownJob(engine.registry, job);
  const limits: Limit[] = isSerial ? [{ key: definitionKey(id), limit: 1 }] : [];
  const limit = known && known.concurrency?.key === undefined ? jobLimit(known, null) : null;
  if (limit) limits.push(limit);
  if (limits.length === 0) return NO_SLOTS;
  return { slot_keys: limits.map(each => each.key), slot_limits: limits.map(each => each.limit) };
}

/**
 * The identity of an occurrence as text: the definition's id and the nominal instant, in whole seconds of
 * UTC.
 */
export function occurrenceKey(definitionId: string, instant: number): string {
  // Definitions that are due together mostly share the instant.
  if (instant !== latest.instant) latest = { instant, text: iso(instant).replace('.000Z', 'Z') };
  return `cron:${definitionId}:${latest.text}`;
}

let latest = { instant: Number.NaN, text: '' };

export function iso(ms: number): string {
  return new Date(ms).toISOString();
}

/**
 * The payload, computed by code where code says so. A function that throws or gives what cannot be stored,
 * or a job that this process does not have, leaves null: then it is computed when the run is executed, and a
 * failure is kept with the run.
 */
export function payloadFor(
  engine: Engine,
  definition: Pick<DefinitionColumns, 'name' | 'job' | 'payload'>,
  run: OccurrenceRun,
): unknown {
  const computed = computedPayload(engine, definition, run);
  return computed === undefined ? definition.payload : computed;
}

type OccurrenceRun = Pick<PlannedRun, 'scheduledFor' | 'intervalStart' | 'occurrenceCount'>;

/** As {@link payloadFor}; undefined where it is that of the definition. */
function computedPayload(
  engine: Engine,
  definition: Pick<DefinitionColumns, 'name' | 'job'>,
  run: OccurrenceRun,
): unknown {
  const payload: unknown = engine.registry.jobs.get(definition.job)?.schedule?.payload;
  if (typeof payload !== 'function' || definition.name !== definition.job) return undefined;
  try {
    const computed = (payload as (occurrence: Occurrence) => unknown)({
      scheduledFor: new Date(run.scheduledFor),
      dataInterval: {
        start: new Date(run.intervalStart ?? run.scheduledFor),
        end: new Date(run.scheduledFor),
      },
      occurrenceCount: run.occurrenceCount,
    });
    return checkPayload(computed ?? null, engine.settings.maxPayloadBytes);
  } catch {
    return null;
  }
}
