// The pages, one line each.
import { addConfirmPage } from './pages/confirm.js';
import { addLoadPage } from './pages/load.js';
import { addNowPage } from './pages/now.js';
import { addSchedulePage } from './pages/schedule.js';
import { addSchedulesPage } from './pages/schedules.js';
import type { App } from './view.js';

export function addPages(app: App): void {
  addNowPage(app);
  addConfirmPage(app);
  addSchedulesPage(app);
  addSchedulePage(app);
  addLoadPage(app);
}
