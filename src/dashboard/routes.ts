// The pages, one line each.
import { addChanges } from './changes/changes-routes.js';
import { addLive } from './live/live-routes.js';
import type { OpenStreams } from './live/text-stream.js';
import type { Watch } from './live/watch.js';
import { addAlertsPage } from './pages/alerts.js';
import { addAuditPage } from './pages/audit.js';
import { addConfirmPage } from './pages/confirm.js';
import { addDeploysPage } from './pages/deploys.js';
import { addDoctorPage } from './pages/doctor.js';
import { addErrorsPage } from './pages/errors.js';
import { addFreezePage } from './pages/freeze.js';
import { addGroupActions } from './pages/group.js';
import { addJobPage } from './pages/job.js';
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

export function addPages(app: App, watch: Watch, streams: OpenStreams): void {
  addNowPage(app);
  addSchedulesPage(app);
  addSchedulePage(app);
  addRunsPage(app);
  addRunPage(app);
  addGroupActions(app);
  addChanges(app, streams);
  addLive(app, watch, streams);
  addJobPage(app);
  addErrorsPage(app);
  addDeploysPage(app);
  addAlertsPage(app);
  addQueuesPage(app);
  addQueuePage(app);
  addFreezePage(app);
  addWorkersPage(app);
  addLoadPage(app);
  addAuditPage(app);
  addDoctorPage(app);
  addConfirmPage(app);
  addMetricsPage(app);
}
