// The pages, one line each.
import { addAuditPage } from './pages/audit.js';
import { addConfirmPage } from './pages/confirm.js';
import { addNowPage } from './pages/now.js';
import { addQueuePage } from './pages/queue.js';
import { addQueuesPage } from './pages/queues.js';
import { addWorkersPage } from './pages/workers.js';
import type { App } from './view.js';

export function addPages(app: App): void {
  addNowPage(app);
  addConfirmPage(app);
  addQueuesPage(app);
  addQueuePage(app);
  addWorkersPage(app);
  addAuditPage(app);
}
