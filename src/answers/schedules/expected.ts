// By when a schedule's next success is expected, where its definition says so with `expect`.
import { expectedBy } from '../../model/alerts/expectations.js';
import type { Occurrence } from '../../model/occurrences/occurrence.js';
import type { CompiledSchedule } from '../../model/schedule/compile.js';
import type { WhyDefinition } from '../../store/reads/why/why.js';

type Expecting = Omit<WhyDefinition, 'seen_at'>;

/**
 * Epoch milliseconds; in the past, if it is late. Null: nothing is expected.
 * @param occurrences the last ones, oldest first
 */
export function expectedAt(
  definition: Expecting,
  schedule: CompiledSchedule | null,
  occurrences: readonly Occurrence[],
): number | null {
  const { expect_within_ms: withinMs, jitter_ms: jitterMs, after } = definition;
  if (withinMs === null || schedule === null || after) return null;
  const { created_at: created, updated_at: updated, resumed_at: resumed } = definition;
  const success = occurrences.findLast(({ state }) => state === 'succeeded' || state === 'retried');
  return expectedBy(schedule, {
    withinMs,
    jitterMs,
    begunAt: Math.max(created.getTime(), updated.getTime(), resumed?.getTime() ?? 0),
    lastSuccess: success?.at ?? null,
    endedAt: null,
  });
}
