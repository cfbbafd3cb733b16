// The pages, one line each.
import { addConfirmPage } from './pages/confirm.js';
import { addErrorsPage } from './pages/errors.js';
import { addNowPage } from './pages/now.js';
import { addRunPage } from './pages/run.js';
import { addRunsPage } from './pages/runs.js';
import type { App } from './view.js';

export function addPages(app: App): void {
  addNowPage(app);
  addRunsPage(app);
  addRunPage(app);
  addErrorsPage(app);
  addConfirmPage(app);
}
