// Room: engine, third of a tick. Turns due definitions into runs.
// In: definitions whose next occurrence is due. Out: runs under their idempotency keys, and a skipped row with its
// reason for what gives no run. One transaction per batch: the runs and the cursor move together or not at all.
import { scheduleOfColumns } from '../model/definition.js';
import { type Plan, planOccurrences } from '../model/policies.js';
import { compileSchedule } from '../model/schedule/compile.js';
import { windowIn } from '../model/window.js';
import type { Session } from '../store/database.js';
import { STORED_COLUMNS } from '../store/definition-columns.js';
import { displaceRuns } from '../store/displace-runs.js';
import { readTakenKeys } from '../store/keys.js';
import type { Engine } from './engine.js';
import { followUp } from './follow-up.js';
import { type DueDefinition, insertRows, iso, occurrenceKey, rowsOf } from './occurrence-rows.js';
import { workingSchedule } from './stored-definition.js';

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
  let told = false;
  for (;;) {
    const batch = await engine.database.transaction(session => materializeBatch(session, engine, null));
    told ||= batch.told;
    total = {
      definitions: total.definitions + batch.definitions,
      runs: total.runs + batch.runs,
      skips: total.skips + batch.skips,
      broken: [...total.broken, ...batch.broken],
    };
    if (batch.definitions > 0) continue;
    if (told) await followUp(engine);
    return total;
  }
}

/**
 * Materializes what is due of these definitions, in the caller's transaction, which may hold their locks. Before an
 * edit: what came due under the old schedule is not the new one's to forget.
 */
export async function materializeBeforeEdit(
  session: Session,
  engine: Engine,
  ids: readonly string[],
): Promise<void> {
  while (ids.length > 0 && (await materializeBatch(session, engine, ids)).definitions > 0);
}

const LOCK_DUE = `
select id, ${STORED_COLUMNS}, (extract(epoch from cursor) * 1000)::float8 as cursor_ms
from tock.job_definitions
where next_at <= tock.now() and next_at is not null and paused_at is null and broken_at is null and vanished_at is null
  and ($2::bigint[] is null or id = any($2))
order by next_at, id
limit $1
for update skip locked`;

// The clock is read after the locks are held: a moment that no other tick's cursor is past.
const READ_CLOCK = `
select (extract(epoch from tock.now()) * 1000)::float8 as now,
  (select coalesce(jsonb_object_agg(b.definition_id, b.count), '{}') from (
    select r.definition_id, count(*) from tock.job_runs_live r where r.definition_id = any($1::bigint[]) group by 1) b) as live`;

async function materializeBatch(
  session: Session,
  engine: Engine,
  ids: readonly string[] | null,
): Promise<MaterializeResult & { readonly told: boolean }> {
  const due = await session.run<DueDefinition>(LOCK_DUE, [BATCH, ids]);
  if (due.length === 0) return { definitions: 0, runs: 0, skips: 0, broken: [], told: false };
  const [clock] = await session.run<{ now: number; live: Record<string, number> }>(READ_CLOCK, [
    due.map(each => each.id),
  ]);
  const now = clock?.now ?? 0;

  const plans: PlannedDefinition[] = [];
  const broken: { id: string; name: string; reason: string }[] = [];
  let planned = 0;
  for (const definition of due) {
    if (planned >= MOST_ROWS) break;
    try {
      const plan = planDefinition(definition, clock?.live[definition.id] ?? 0, now);
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
  const wanted = await withoutTaken(session, plans);
  const rows = wanted.flatMap(({ definition, plan }) => rowsOf(engine, definition, plan));
  await displace(session, wanted);
  const made = await insertRows(session, rows);
  await moveCursors(session, wanted);
  await markBroken(session, engine, broken);
  return { definitions: due.length, ...made, broken: broken.map(each => each.name) };
}

interface PlannedDefinition {
  readonly definition: DueDefinition;
  readonly plan: Plan;
}

/**
 * Leaves out occurrences that have had a run already, as after a cursor was reset: they make nobody give way, and are not
 * counted. Of others the insert finds out by itself.
 */
async function withoutTaken(
  session: Session,
  plans: readonly PlannedDefinition[],
): Promise<readonly PlannedDefinition[]> {
  const keysOf = ({ definition, plan }: PlannedDefinition) =>
    plan.displaces === null && plan.remaining === null
      ? []
      : plan.runs.map(run => occurrenceKey(definition.id, run.scheduledFor));
  const taken = await readTakenKeys(session, plans.flatMap(keysOf));
  if (taken.size === 0) return plans;
  return plans.map(each => {
    const keys = keysOf(each);
    if (!keys.some(key => taken.has(key))) return each;
    const { definition, plan } = each;
    const runs = plan.runs.filter((_, index) => !taken.has(keys[index] ?? ''));
    const remaining = plan.remaining === null ? null : plan.remaining + plan.runs.length - runs.length;
    const nextAt = remaining === 0 ? null : (workingSchedule(definition)?.next(plan.cursor) ?? null);
    const displaces = runs.length === 0 ? null : plan.displaces;
    return { definition, plan: { ...plan, runs, remaining, nextAt, displaces } };
  });
}

/** Makes way for the new runs of definitions whose overlap policy says so. Sorted, and before they are there. */
async function displace(session: Session, plans: readonly PlannedDefinition[]): Promise<void> {
  for (const how of ['cancel', 'terminate'] as const) {
    const ids = plans.filter(({ plan }) => plan.displaces === how).map(({ definition }) => definition.id);
    if (ids.length > 0) await displaceRuns(session, ids, how === 'terminate');
  }
}

function planDefinition(row: DueDefinition, liveRuns: number, now: number): Plan {
  const spec = scheduleOfColumns(row);
  if (spec === null)
    return {
      runs: [],
      skips: [],
      displaces: null,
      cursor: row.cursor_ms,
      nextAt: null,
      remaining: row.remaining_count,
    };
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
      liveRuns,
      window: row.active_window === null ? null : windowIn(row.active_window, row.timezone),
      outsideWindow: row.outside_window,
    },
    now,
  );
}

const MOVE_CURSORS = `
update tock.job_definitions d
set cursor = greatest(d.cursor, u.cursor), next_at = u.next_at, remaining_count = u.remaining_count
from jsonb_to_recordset($1::jsonb) as u(id bigint, cursor timestamptz, next_at timestamptz, remaining_count integer)
where d.id = u.id`;

async function moveCursors(session: Session, plans: readonly PlannedDefinition[]): Promise<void> {
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
