// The scheduler as a job sees it: figures, reports, retention.
import { type Health, healthOf } from '../../model/health.js';
import type { ProblemLimits } from '../../model/problems.js';
import type { SchedulerStatus, SchedulerView } from '../../model/scheduler-view.js';
import { readReport, readStatus } from '../../store/reads/figures.js';
import { findMissed } from '../definitions/missed.js';
import { findZoneDisagreements } from '../definitions/zone-data.js';
import type { Engine } from '../engine.js';
import { prune } from '../retention/prune.js';

/** With a tick a minute, an occurrence is due for so long at most. */
const LATE_MS = 60_000;

export function createSchedulerView(engine: Engine): SchedulerView {
  return {
    status: async () => {
      const status = await readFigures(engine, true);
      const zoneDisagreements = await findZoneDisagreements(engine.database, status.at.getTime());
      return { ...status, zoneDisagreements };
    },
    report: (from, to) => readReport(engine.database, from, to),
    prune: options => prune(engine, options),
  };
}

/**
 * The health, without what takes long to read or seldom changes: it neither counts the runs that ended well,
 * nor compares time zone data.
 */
export async function readHealth(engine: Engine, limits: Partial<ProblemLimits> = {}): Promise<Health> {
  return healthOf(await readFigures(engine, false), limits);
}

async function readFigures({ database }: Engine, countsEnded: boolean): Promise<SchedulerStatus> {
  const status = await readStatus(database, { countsEnded });
  const isLate = status.definitions.overdueMs > LATE_MS;
  const missed = isLate ? await findMissed(database, status.at.getTime()) : [];
  return { ...status, missed, zoneDisagreements: [] };
}
