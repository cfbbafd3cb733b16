// The scheduler as a job sees it: figures, reports, retention.
import { type Health, healthOf } from '../../model/health.js';
import type { ProblemLimits } from '../../model/problems.js';
import type { SchedulerStatus, SchedulerView } from '../../model/scheduler-view.js';
import { readReport, readStatus } from '../../store/reads/figures.js';
import { readQueueHandOffs } from '../../store/reads/queue-hand-offs.js';
import { findMissed } from '../definitions/missed.js';
import { findZoneDisagreements } from '../definitions/zones/zone-data.js';
import type { Engine } from '../engine.js';
import { prune } from '../retention/prune.js';

/** With a tick a minute, an occurrence is due for so long at most. */
const LATE_MS = 60_000;

export function createSchedulerView(engine: Engine): SchedulerView {
  return {
    status: () => readSchedulerStatus(engine),
    report: (from, to) => readReport(engine.database, from, to),
    prune: options => prune(engine, options),
  };
}

export interface StatusParts {
  /** False: of the last day only dead runs are counted, by their index. */
  readonly countsEnded?: boolean;
  /** False: Node's time zone data are not compared with the server's. */
  readonly comparesZones?: boolean;
}

export async function readSchedulerStatus(
  { database }: Engine,
  { countsEnded = true, comparesZones = true }: StatusParts = {},
): Promise<SchedulerStatus> {
  const status = await readStatus(database, { countsEnded });
  const now = status.at.getTime();
  const isLate = status.definitions.overdueMs > LATE_MS;
  return {
    ...status,
    handOffs:
      countsEnded && status.queues.some(({ relayedTo }) => relayedTo !== null)
        ? await readQueueHandOffs(database)
        : [],
    missed: isLate ? await findMissed(database, now) : [],
    zoneDisagreements: comparesZones ? await findZoneDisagreements(database, now) : [],
  };
}

/** The health, without what takes long to read or seldom changes. */
export async function readHealth(engine: Engine, limits: Partial<ProblemLimits> = {}): Promise<Health> {
  return healthOf(await readSchedulerStatus(engine, { countsEnded: false, comparesZones: false }), limits);
}
