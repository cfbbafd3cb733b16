// Room: engine. The scheduler as a job sees it: figures, reports, retention.
import type { SchedulerView } from '../model/scheduler-view.js';
import { readReport, readStatus } from '../store/figures.js';
import type { Engine } from './engine.js';
import { prune } from './retention.js';

export function createSchedulerView(engine: Engine): SchedulerView {
  return {
    status: () => readStatus(engine.database),
    report: (from, to) => readReport(engine.database, from, to),
    prune: options => prune(engine, options),
  };
}
