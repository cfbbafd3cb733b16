// The pages, one line each.
import { addConfirmPage } from './pages/confirm.js';
import { addMetricsPage } from './pages/metrics.js';
import { addNowPage } from './pages/now.js';
import type { App } from './view.js';

export function addPages(app: App): void {
  addNowPage(app);
  addConfirmPage(app);
  addMetricsPage(app);
}
