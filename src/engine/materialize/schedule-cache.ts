// Schedules of due definitions, each compiled once.
import { scheduleOfColumns } from '../../model/planning/definition.js';
import { type CompiledSchedule, compileSchedule } from '../../model/schedule/compile.js';
import type { DueDefinition } from '../../store/definitions/due.js';

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
