// Room: engine, third of a tick. Turns due definitions into runs.
// In: definitions whose next occurrence is due. Out: runs under their idempotency keys, and a skipped row with its
// reason for what gives no run. One transaction per batch: the runs and the cursor move together or not at all.
import { scheduleOfColumns } from '../model/definition.js';
import type { Occurrence } from '../model/job.js';
import {
  type CatchupPolicy,
  type OverlapPolicy,
  type Plan,
  type PlannedRun,
  planOccurrences,
} from '../model/policies.js';
import { compileSchedule } from '../model/schedule/compile.js';
import type { Session } from '../store/database.js';
import type { Engine } from './engine.js';

const BATCH = 500;
/** Once a batch has this many runs to insert, the definitions that are left wait for the next batch. */
const MOST_ROWS = 5000;

export interface MaterializeResult {
  readonly definitions: number;
  readonly runs: number;
  readonly skips: number;
  readonly broken: readonly string[];
}

/**
 * Materializes until no definition is due. Several ticks share the work: each locks definitions that the others
 * have not. The key is the guarantee, the lock is only the peace between them.
 */
export async function materialize(engine: Engine): Promise<MaterializeResult> {
  let total: MaterializeResult = { definitions: 0, runs: 0, skips: 0, broken: [] };
  for (;;) {
    const batch = await engine.database.transaction(session => materializeBatch(session, engine));
    total = {
      definitions: total.definitions + batch.definitions,
      runs: total.runs + batch.runs,
      skips: total.skips + batch.skips,
      broken: [...total.broken, ...batch.broken],
    };
    if (batch.definitions === 0) return total;
  }
}

interface DueDefinition {
  readonly id: string;
  readonly name: string;
  readonly job: string;
  readonly payload: unknown;
  readonly cron: string | null;
  readonly every_ms: number | null;
  readonly phase_ms: number;
  readonly at: Date | null;
  readonly timezone: string;
  readonly dst: string;
  readonly start_at: Date | null;
  readonly end_at: Date | null;
  readonly exclude: unknown;
  readonly overlap: OverlapPolicy;
  readonly catchup: CatchupPolicy;
  readonly catchup_window_ms: number | null;
  readonly start_deadline_ms: number | null;
  readonly jitter_ms: number;
  readonly remaining_count: number | null;
  readonly queue: string;
  readonly priority: number;
  readonly max_attempts: number;
  readonly cursor_ms: number;
}

const LOCK_DUE = `
select id, name, job, payload, cron, every_ms::float8, phase_ms::float8, at, timezone, dst, start_at, end_at, exclude, overlap, catchup,
  catchup_window_ms::float8, start_deadline_ms::float8, jitter_ms::float8, remaining_count, queue, priority, max_attempts,
  (extract(epoch from cursor) * 1000)::float8 as cursor_ms
from tock.job_definitions
where next_at <= tock.now() and next_at is not null and paused_at is null and broken_at is null and vanished_at is null
order by next_at, id
limit $1
for update skip locked`;

// The clock is read after the locks are held: a moment that no other tick's cursor is past.
const READ_CLOCK = `
select (extract(epoch from tock.now()) * 1000)::float8 as now,
  array(select distinct r.definition_id::text from tock.job_runs_live r where r.definition_id = any($1::bigint[])) as busy`;

async function materializeBatch(session: Session, engine: Engine): Promise<MaterializeResult> {
  const due = await session.run<DueDefinition>(LOCK_DUE, [BATCH]);
  if (due.length === 0) return { definitions: 0, runs: 0, skips: 0, broken: [] };
  const [clock] = await session.run<{ now: number; busy: string[] }>(READ_CLOCK, [due.map(each => each.id)]);
  const now = clock?.now ?? 0;
  const busy = new Set(clock?.busy);

  const plans: { definition: DueDefinition; plan: Plan }[] = [];
  const broken: { id: string; name: string; reason: string }[] = [];
  let planned = 0;
  for (const definition of due) {
    if (planned >= MOST_ROWS) break;
    try {
      const plan = planDefinition(definition, busy.has(definition.id), now);
      plans.push({ definition, plan });
      planned += plan.runs.length;
    } catch (error) {
      broken.push({
        id: definition.id,
        name: definition.name,
        reason: error instanceof Error ? error.message : String(error),
      });
    }
  }
  const rows = plans.flatMap(({ definition, plan }) => rowsOf(engine, definition, plan));
  const made = rows.length === 0 ? { runs: 0, skips: 0 } : await insertRows(session, rows);
  await moveCursors(session, plans);
  await markBroken(session, engine, broken);
  return { definitions: due.length, ...made, broken: broken.map(each => each.name) };
}

function planDefinition(row: DueDefinition, hasLiveRun: boolean, now: number): Plan {
  const spec = scheduleOfColumns(row);
  if (spec === null)
    return { runs: [], skips: [], cursor: row.cursor_ms, nextAt: null, remaining: row.remaining_count };
  return planOccurrences(
    compileSchedule(spec, row.name),
    {
      name: row.name,
      cursor: row.cursor_ms,
      overlap: row.overlap,
      catchup: row.catchup,
      catchupWindowMs: row.catchup_window_ms,
      startDeadlineMs: row.start_deadline_ms,
      jitterMs: row.jitter_ms,
      remaining: row.remaining_count,
      hasLiveRun,
    },
    now,
  );
}

/** One row to insert, a run or a skip. Instants as ISO text. */
interface NewRow {
  readonly definition_id: string;
  readonly job: string;
  readonly queue: string;
  readonly priority: number;
  readonly max_attempts: number;
  readonly payload: unknown;
  readonly key: string;
  readonly scheduled_for: string;
  readonly run_at: string;
  readonly start_by: string | null;
  readonly interval_start: string | null;
  readonly occurrence_count: number;
  readonly skip_reason: string | null;
}

function rowsOf(engine: Engine, definition: DueDefinition, plan: Plan): NewRow[] {
  const { id, job, queue, priority, max_attempts } = definition;
  const shared = { definition_id: id, job, queue, priority, max_attempts };
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
  }));
  const skips = plan.skips.map(skip => ({
    ...shared,
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

/** The identity of an occurrence: the definition's id and the nominal instant, in whole seconds of UTC. */
export function occurrenceKey(definitionId: string, instant: number): string {
  return `cron:${definitionId}:${iso(instant).replace('.000Z', 'Z')}`;
}

function iso(ms: number): string {
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

// One statement for the batch. The keys go in sorted, so that two batches never wait for each other in a circle.
const INSERT = `
with planned as materialized (
  select nextval('tock.job_runs_id_seq') as id, p.* from jsonb_to_recordset($1::jsonb) as p(
    definition_id bigint, job text, queue text, priority integer, max_attempts integer, payload jsonb, key text,
    scheduled_for timestamptz, run_at timestamptz, start_by timestamptz, interval_start timestamptz,
    occurrence_count integer, skip_reason text)
), keyed as (
  insert into tock.job_keys (idempotency_key, run_id) select key, id from planned order by key
  on conflict do nothing
  returning run_id
), queued as (
  insert into tock.job_runs_live (id, definition_id, job, queue, priority, max_attempts, payload, idempotency_key,
    scheduled_for, run_at, start_by, interval_start, occurrence_count, trigger, status)
  select id, definition_id, job, queue, priority, max_attempts, payload, key,
    scheduled_for, run_at, start_by, interval_start, occurrence_count, 'cron', 'queued'
  from planned join keyed on keyed.run_id = planned.id where skip_reason is null
  returning id
), skipped as (
  insert into tock.job_runs_finished (id, definition_id, job, queue, priority, max_attempts, payload, idempotency_key,
    scheduled_for, run_at, interval_start, occurrence_count, trigger, status, finished_at, skip_reason)
  select id, definition_id, job, queue, priority, max_attempts, payload, key,
    scheduled_for, run_at, interval_start, occurrence_count, 'cron', 'skipped', tock.now(), skip_reason
  from planned join keyed on keyed.run_id = planned.id where skip_reason is not null
  returning id
)
select (select count(*) from queued)::int as runs, (select count(*) from skipped)::int as skips`;

async function insertRows(
  session: Session,
  rows: readonly NewRow[],
): Promise<{ runs: number; skips: number }> {
  const [made] = await session.run<{ runs: number; skips: number }>(INSERT, [JSON.stringify(rows)]);
  return made ?? { runs: 0, skips: 0 };
}

const MOVE_CURSORS = `
update tock.job_definitions d
set cursor = greatest(d.cursor, u.cursor), next_at = u.next_at, remaining_count = u.remaining_count
from jsonb_to_recordset($1::jsonb) as u(id bigint, cursor timestamptz, next_at timestamptz, remaining_count integer)
where d.id = u.id`;

async function moveCursors(
  session: Session,
  plans: readonly { definition: DueDefinition; plan: Plan }[],
): Promise<void> {
  if (plans.length === 0) return;
  const rows = plans.map(({ definition, plan }) => ({
    id: definition.id,
    cursor: iso(plan.cursor),
    next_at: plan.nextAt === null ? null : iso(plan.nextAt),
    remaining_count: plan.remaining,
  }));
  await session.run(MOVE_CURSORS, [JSON.stringify(rows)]);
}

async function markBroken(
  session: Session,
  engine: Engine,
  broken: readonly { id: string; name: string; reason: string }[],
): Promise<void> {
  for (const { id, name, reason } of broken) {
    await session.run(
      `update tock.job_definitions set broken_at = tock.now(), broken_reason = left($2, 1000) where id = $1`,
      [id, reason],
    );
    engine.logger.error(
      { event: 'definition.broken', definition: name, reason },
      `definition ${name} is broken and left out: ${reason}`,
    );
  }
}
