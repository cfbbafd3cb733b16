// How good the simulation is: it is asked about past days, by what was known before them, and compared with
// what came.
import type { Registry } from '../../model/job/registry.js';
import { simulateRuns } from '../../model/plan/simulate-runs.js';
import type { SimulatedDefinition } from '../../model/plan/walk.js';
import { type PlanFacts, queuesWithCode, storedOf } from '../../model/plan/with-code.js';
import type { Session } from '../../store/connection/database.js';
import { type RealRuns, readRealRuns, readUnchangedDefinitions } from '../../store/reads/plan/plan-facts.js';
import { readPlanFacts } from './read-facts.js';

/** Past days, predicted and real: of the definitions that can be compared. */
export interface PlanCheck {
  readonly from: Date;
  readonly to: Date;
  /** They are as they were at `from`, and had runs before. */
  readonly definitions: number;
  /** Those that were edited, paused or made since, or had no runs before; and what follows these. */
  readonly leftOut: number;
  readonly predicted: RealRuns;
  readonly real: RealRuns;
}

/**
 * Predicts the time before `now` from the durations of the runs that ended before it, and reads what came.
 * @param spanMs how long before `now` it begins
 */
export async function checkPlan(
  session: Session,
  registry: Registry,
  now: Date,
  spanMs: number,
): Promise<PlanCheck> {
  const to = new Date(Math.floor(now.getTime() / 1000) * 1000);
  const from = new Date(to.getTime() - spanMs);
  const facts = await readPlanFacts(session, '', { until: from });
  const unchanged = await readUnchangedDefinitions(session, from);
  const planned = storedOf(facts, registry).flatMap(({ simulated }) => simulated ?? []);
  const compared = comparedOf(facts, planned, unchanged);
  const { before: queues } = queuesWithCode(facts, registry);
  const simulated = simulateRuns(compared, { from, to }, { queues, workers: facts.workers });
  const names = new Set(compared.map(({ name }) => name));
  const ids = facts.definitions.filter(({ name }) => names.has(name)).map(({ id }) => id);
  return {
    from,
    to,
    definitions: compared.length,
    leftOut: planned.length - compared.length,
    predicted: {
      starts: simulated.startedAt.length,
      overlapSkips: simulated.skips.overlap,
      late: simulated.late,
    },
    real: await readRealRuns(session, ids, { from, to }),
  };
}

/** Only those that can be compared, and of chains only those whose parents are. */
function comparedOf(
  { definitions, samples }: PlanFacts,
  planned: readonly SimulatedDefinition[],
  unchanged: ReadonlySet<string>,
): SimulatedDefinition[] {
  const ids = new Map(definitions.map(({ name, id }) => [name, id]));
  let left = planned.filter(
    ({ name, remaining }) =>
      unchanged.has(ids.get(name) ?? '') && samples.has(name) && (remaining ?? null) === null,
  );
  for (;;) {
    const names = new Set(left.map(({ name }) => name));
    const next = left.filter(({ after }) => (after?.definitions ?? []).every(name => names.has(name)));
    if (next.length === left.length) return left;
    left = next;
  }
}
