// By when a schedule's next success is expected, where its definition says so with `expect`.
import { expectedBy } from '../../model/alerts/expectations.js';
import type { FrozenSpan } from '../../model/freeze/freeze.js';
import { windowOf } from '../../model/planning/window.js';
import type { CompiledSchedule } from '../../model/schedule/compile.js';
import type { WhyDefinition } from '../../store/reads/why/why.js';
import type { Recent } from './read-schedule.js';

type Expecting = Omit<WhyDefinition, 'seen_at'>;

/**
 * Epoch milliseconds; in the past, if it is late. Null: nothing is expected.
 * @param recent the last occurrences, oldest first, and all exceptions
 * @param frozen time that does not count, the earliest first
 */
export function expectedAt(
  definition: Expecting,
  schedule: CompiledSchedule | null,
  { occurrences, exceptions }: Pick<Recent, 'occurrences' | 'exceptions'>,
  frozen: readonly FrozenSpan[],
): number | null {
  const { expect_within_ms: withinMs, jitter_ms: jitterMs, after } = definition;
  if (withinMs === null || schedule === null || after) return null;
  const { created_at: created, updated_at: updated, resumed_at: resumed } = definition;
  const success = occurrences.findLast(({ state }) => state === 'succeeded' || state === 'retried');
  const watched = {
    withinMs,
    jitterMs,
    begunAt: Math.max(created.getTime(), updated.getTime(), resumed?.getTime() ?? 0),
    lastSuccess: success?.at ?? null,
    endedAt: null,
    frozen,
    window: windowOf(definition),
    outsideWindow: definition.outside_window,
  };
  return expectedBy(schedule, watched, exceptions);
}
