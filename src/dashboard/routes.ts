// The pages, one line each.
import { addAuditPage } from './pages/audit.js';
import { addConfirmPage } from './pages/confirm.js';
import { addLoadPage } from './pages/load.js';
import { addNowPage } from './pages/now.js';
import { addQueuePage } from './pages/queue.js';
import { addQueuesPage } from './pages/queues.js';
import { addSchedulePage } from './pages/schedule.js';
import { addSchedulesPage } from './pages/schedules.js';
import { addWorkersPage } from './pages/workers.js';
import type { App } from './view.js';

export function addPages(app: App): void {
  addNowPage(app);
  addConfirmPage(app);
  addSchedulesPage(app);
  addSchedulePage(app);
  addLoadPage(app);
  addQueuesPage(app);
  addQueuePage(app);
  addWorkersPage(app);
  addAuditPage(app);
}
