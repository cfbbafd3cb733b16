// The pages, one line each.
import { addAuditPage } from './pages/audit.js';
import { addConfirmPage } from './pages/confirm.js';
import { addDoctorPage } from './pages/doctor.js';
import { addErrorsPage } from './pages/errors.js';
import { addLoadPage } from './pages/load.js';
import { addMetricsPage } from './pages/metrics.js';
import { addNowPage } from './pages/now.js';
import { addQueuePage } from './pages/queue/queue.js';
import { addQueuesPage } from './pages/queue/queues.js';
import { addRunPage } from './pages/run.js';
import { addRunsPage } from './pages/runs.js';
import { addSchedulePage } from './pages/schedule.js';
import { addSchedulesPage } from './pages/schedules.js';
import { addWorkersPage } from './pages/workers.js';
import type { App } from './view.js';

export function addPages(app: App): void {
  addNowPage(app);
  addSchedulesPage(app);
  addSchedulePage(app);
  addRunsPage(app);
  addRunPage(app);
  addErrorsPage(app);
  addQueuesPage(app);
  addQueuePage(app);
  addWorkersPage(app);
  addLoadPage(app);
  addAuditPage(app);
  addDoctorPage(app);
  addConfirmPage(app);
  addMetricsPage(app);
}
