// The scheduler as a job sees it: figures, reports, retention.
import type { SchedulerView } from '../../model/scheduler-view.js';
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
      const status = await readStatus(engine.database);
      const now = status.at.getTime();
      const zoneDisagreements = await findZoneDisagreements(engine.database, now);
      const missed =
        status.definitions.overdueMs > LATE_MS ? await findMissed(engine.database, now) : [];
      return { ...status, missed, zoneDisagreements };
    },
    report: (from, to) => readReport(engine.database, from, to),
    prune: options => prune(engine, options),
  };
}
