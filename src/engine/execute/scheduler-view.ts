// The scheduler as a job sees it: figures, reports, retention.
import type { SchedulerView } from '../../model/scheduler-view.js';
import { readReport, readStatus } from '../../store/reads/figures.js';
import { findZoneDisagreements } from '../definitions/zone-data.js';
import type { Engine } from '../engine.js';
import { prune } from '../retention/prune.js';

export function createSchedulerView(engine: Engine): SchedulerView {
  return {
    status: async () => {
      const status = await readStatus(engine.database);
      const zoneDisagreements = await findZoneDisagreements(engine.database, status.at.getTime());
      return { ...status, zoneDisagreements };
    },
    report: (from, to) => readReport(engine.database, from, to),
    prune: options => prune(engine, options),
  };
}
