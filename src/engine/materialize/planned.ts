// What becomes of the due occurrences of a definition that is locked, before it is written.

import { scheduleOfColumns } from '../../model/planning/definition.js';
import type { Exception } from '../../model/planning/exceptions.js';
import { type LiveRuns, type Plan, planOccurrences } from '../../model/planning/plan-occurrences.js';
import { badSchedule } from '../../model/schedule/bad-schedule.js';
import { type CompiledSchedule, compileSchedule } from '../../model/schedule/compile.js';
import { EARLIEST_MS, LATEST_MS } from '../../model/schedule/instant-text.js';
import type { Session } from '../../store/connection/database.js';
import type { DueDefinition } from '../../store/definitions/due.js';
import type { ExceptionsOf } from '../../store/definitions/occurrences/exceptions.js';
import { readTaken } from '../../store/definitions/occurrences/taken.js';
import type { NewRow } from '../../store/runs/materialize.js';
import type { Engine } from '../engine.js';
import { nextDueOf } from './locked-definition.js';
import { rowsOf } from './occurrence-rows.js';

/** What materializing is about to write of a definition. */
export interface Planned {
  readonly definition: DueDefinition;
  readonly plan: Plan;
  readonly rows: readonly NewRow[];
}

/**
 * Leaves out occurrences that have had a run already, as after a cursor was reset: they displace no run, and
 * are not counted. Other definitions do not need this: the insert skips what is taken.
 */
export async function withoutTaken(
  session: Session,
  engine: Engine,
  plans: readonly Planned[],
  exceptionsOf: ExceptionsOf,
): Promise<readonly Planned[]> {
  const occurrencesOf = ({ definition, plan }: Planned) =>
    plan.displaces === null && plan.remaining === null
      ? []
      : plan.runs.map(run => ({ definitionId: definition.id, at: run.scheduledFor }));
  const isTaken = await readTaken(session, plans.flatMap(occurrencesOf));
  return plans.map(each => {
    const { definition, plan } = each;
    const runs = plan.runs.filter(run => !isTaken({ definitionId: definition.id, at: run.scheduledFor }));
    if (runs.length === plan.runs.length) return each;
    const remaining = plan.remaining === null ? null : plan.remaining + plan.runs.length - runs.length;
    const exceptions = exceptionsOf(definition);
    const nextAt = nextDueOf({ ...definition, remaining_count: remaining }, exceptions, plan.cursor);
    const displaces = runs.length === 0 ? null : plan.displaces;
    const left = { ...plan, runs, remaining, nextAt, displaces };
    return { definition, plan: left, rows: rowsOf(engine, definition, left) };
  });
}

/** Plans what is due of a definition. @throws TockError TOCK_BAD_SCHEDULE for a row that cannot be planned */
export function planDefinition(
  row: DueDefinition,
  scheduleOf: ScheduleOf,
  live: LiveRuns,
  now: number,
  exceptions: readonly Exception[],
): Plan {
  if (!(row.cursor_ms >= EARLIEST_MS && row.cursor_ms <= LATEST_MS))
    throw badSchedule(`its cursor is not within the years in which schedules have occurrences`);
  const schedule = scheduleOf(row);
  if (schedule === null)
    return {
      runs: [],
      skips: [],
      displaces: null,
      cursor: row.cursor_ms,
      nextAt: null,
      remaining: row.remaining_count,
    };
  return planOccurrences(schedule, row, live, now, exceptions);
}

// Schedules of due definitions, each compiled once.

/** Most schedules that are kept. */
const MAX_KEPT = 1000;

/**
 * The schedule of a definition; null where it has none.
 * @throws TockError TOCK_BAD_SCHEDULE for one that is broken
 */
export type ScheduleOf = (definition: DueDefinition) => CompiledSchedule | null;

/** An empty cache. */
export function createScheduleCache(): ScheduleOf {
  const kept = new Map<string, CompiledSchedule>();
  return definition => {
    const key = keyOf(definition);
    const known = key === null ? undefined : kept.get(key);
    if (known !== undefined) return known;
    const spec = scheduleOfColumns(definition);
    if (spec === null) return null;
    const compiled = compileSchedule(spec, definition.name);
    if (kept.size >= MAX_KEPT) kept.clear();
    if (key !== null) kept.set(key, compiled);
    return compiled;
  };
}

/** Equal for equal schedules only. Null where there are bounds, exclusions, or an `H`. */
function keyOf({
  cron,
  every_ms,
  at,
  timezone,
  dst,
  start_at,
  end_at,
  exclude,
}: DueDefinition): string | null {
  const isPlain =
    cron !== null &&
    !cron.includes('H') &&
    every_ms === null &&
    at === null &&
    start_at === null &&
    end_at === null &&
    Array.isArray(exclude) &&
    exclude.length === 0;
  return isPlain ? `${dst}\n${timezone}\n${cron}` : null;
}
