// Reads what a plan, and every simulation of the schedules, is made of.

import type { PlanFacts, StoredDefinition } from '../../model/plan/with-code.js';
import type { Session } from '../../store/connection/database.js';
import { listCalendars } from '../../store/definitions/calendars/calendar-rows.js';
import { readQueuesElsewhere } from '../../store/definitions/registrations.js';
import {
  readDurationSamples,
  readPlannedDefinitions,
  readPlanWorkers,
} from '../../store/reads/plan/plan-facts.js';
import { listQueues } from '../../store/reads/queues.js';

/** The most definitions of one plan. */
export const MAX_PLANNED = 100_000;
/** How far back durations are looked for. */
const SAMPLED_MS = 28 * 86_400_000;

/**
 * @param service whose code is looked at
 * @param options until: durations are those of runs that ended before; default: now. hasDurations false: they
 * are not read
 */
export async function readPlanFacts(
  session: Session,
  service: string,
  { until, hasDurations = true }: { readonly until?: Date; readonly hasDurations?: boolean } = {},
): Promise<PlanFacts> {
  const definitions = await readPlannedDefinitions(session, MAX_PLANNED);
  const { now, capacity } = await readPlanWorkers(session);
  const [calendars, queues] = [await listCalendars(session), await listQueues(session)];
  const end = until ?? new Date(now + 1);
  return {
    now: new Date(now),
    definitions,
    service,
    queuesElsewhere: await readQueuesElsewhere(session, service),
    calendars: new Map(calendars.map(({ name, dates }) => [name, dates])),
    queues: queues.map(({ name, pausedAt, pausedUntil, inCode, overrides, ...record }) => {
      const { concurrency, rate, window, timezone, relayedTo: relay, fair } = record;
      const holds = { concurrency, rate, window, timezone, relay, fair };
      return { name, pausedAt, pausedUntil, inCode, overrides, holds };
    }),
    workers: capacity,
    samples: hasDurations ? await readSamples(session, definitions, end) : new Map(),
  };
}

async function readSamples(session: Session, definitions: readonly StoredDefinition[], until: Date) {
  const planned = definitions.filter(
    each => each.cron !== null || each.every_ms !== null || each.at !== null || each.after !== null,
  );
  const since = new Date(until.getTime() - SAMPLED_MS);
  const ids = planned.map(({ id }) => id);
  const byId = await readDurationSamples(session, ids, { since, until });
  return new Map(
    planned.flatMap(({ id, name }) => {
      const sample = byId.get(id);
      return sample === undefined ? [] : [[name, sample] as const];
    }),
  );
}
